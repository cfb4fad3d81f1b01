package management

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Languages maps the first part of a BCP 47 tag to the language's name in the
// instruction of [Intellects.SetForcedLanguage] (management-api.md, "One-call helpers":
// 28 names).
var Languages = map[string]string{
	"ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
	"en": "English", "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
	"hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch",
	"no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish",
	"tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}

// forcedLanguagePrompt is the key of the prompt that [Intellects.SetForcedLanguage]
// owns.
const forcedLanguagePrompt = "forced_language"

// languageName returns name, or if that is "" the name of the language with this tag.
// Errors: bad_request for an invalid tag, and for an unknown language without a name.
func languageName(tag, name string) (string, error) {
	primary, _, _ := strings.Cut(tag, "-")
	if !languageTag.MatchString(tag) {
		return "", badRequest(`language must be a BCP 47 tag such as "de" or "en-US"`)
	}
	if name != "" {
		return name, nil
	}
	if known, ok := Languages[strings.ToLower(primary)]; ok {
		return known, nil
	}
	return "", badRequest("the language " + tag + " needs a LanguageName; known are " +
		strings.Join(slices.Sorted(maps.Keys(Languages)), ", "))
}

// languageTag matches parts of 1 to 8 letters and digits, joined by "-", the first of them 2 or
// 3 letters.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*$`)

// withForcedLanguage returns prompts with the instruction to answer in the language of
// that name, in place of a former instruction. With name "" there is no instruction.
// Braces are removed from the name, because it becomes part of a template.
func withForcedLanguage(prompts []Prompt, name string) []Prompt {
	rest := slices.DeleteFunc(slices.Clone(prompts), func(p Prompt) bool { return p.Key == forcedLanguagePrompt })
	if name == "" {
		return rest
	}
	name = strings.NewReplacer("{", "", "}", "").Replace(name)
	return append(rest, Prompt{
		Key: forcedLanguagePrompt, Label: "Forced language",
		Value: "Always answer in " + name + ", whatever language the user writes or speaks, unless the user asks for a translation.",
	})
}
