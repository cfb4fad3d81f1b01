package brain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// useTool calls a client tool and puts its answer into words.
func (t *turn) useTool(tool store.ToolDef, args json.RawMessage) error {
	if err := t.say("One moment. "); err != nil {
		return err
	}
	results, err := t.out.Call(t.ctx, Call{Tool: tool, Args: args})
	if err != nil {
		return err
	}
	switch {
	case !tool.WaitForResponse:
		return t.say(fmt.Sprintf("I asked the page to run %s.", tool.Name))
	case !results[0].Answered:
		return t.say(fmt.Sprintf("The page did not answer %s in time, so I'll go on without it.", tool.Name))
	}
	return t.say(fmt.Sprintf("The page answered %s: %s.", tool.Name, inWords(results[0].Response)))
}

// inWords reads a flat object out: "status ok, temperature 21".
func inWords(object json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(object, &fields) != nil || len(fields) == 0 {
		return "nothing"
	}
	var words []string
	for name, value := range fields {
		words = append(words, name+" "+format(value))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// matchTool finds the tool that a sentence asks for: by its name, as in "use the
// tool save_note", or by the words of its name in their order, as in "please save
// a note: call back".
func matchTool(tools []store.ToolDef, text string) (store.ToolDef, json.RawMessage, bool) {
	for _, tool := range tools {
		if tool.Type != store.ClientTool {
			continue
		}
		if rest, ok := afterName(text, tool.Name); ok {
			return tool, argsFor(tool, rest), true
		}
	}
	return store.ToolDef{}, nil, false
}

// afterName returns what follows the tool's name in text.
func afterName(text, name string) (string, bool) {
	if i := strings.Index(text, name); i >= 0 {
		return text[i+len(name):], true
	}
	parts := strings.Split(strings.ToLower(name), "_")
	words := locate(text)
	for first := range words {
		if last := matchWords(words[first:], parts); last >= 0 {
			return text[words[first+last].end:], true
		}
	}
	return "", false
}

// word is a word of a text and where it ends.
type word struct {
	text string // in lower case
	end  int
}

func locate(text string) []word {
	var words []word
	start := -1
	for i, r := range text + " " {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if letter && start < 0 {
			start = i
		}
		if !letter && start >= 0 {
			words = append(words, word{strings.ToLower(text[start:i]), i})
			start = -1
		}
	}
	return words
}

// fillers may stand between the words of a tool's name; others may not, so that
// "go home to the last page" is not go_to_page.
var fillers = map[string]bool{"a": true, "an": true, "the": true, "this": true, "my": true, "me": true, "new": true}

// matchWords returns the index of the word that completes parts, or -1 when words
// don't begin with them.
func matchWords(words []word, parts []string) int {
	for i, w := range words {
		switch {
		case w.text == parts[0]:
			if parts = parts[1:]; len(parts) == 0 {
				return i
			}
		case i == 0 || !fillers[w.text]:
			return -1
		}
	}
	return -1
}

// argsFor makes arguments of the rest of a sentence: an object when it contains
// one, otherwise the rest as the first required parameter.
func argsFor(tool store.ToolDef, rest string) json.RawMessage {
	if i := strings.IndexByte(rest, '{'); i >= 0 {
		var object map[string]any
		if json.NewDecoder(strings.NewReader(rest[i:])).Decode(&object) == nil {
			if args, err := json.Marshal(object); err == nil {
				return args
			}
		}
	}
	var schema struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if json.Unmarshal(tool.Parameters, &schema) != nil || len(schema.Required) == 0 {
		return json.RawMessage(`{}`)
	}
	name := schema.Required[0]
	var value any = strings.Trim(trimConnective(rest), " .!?\"'")
	if kind := schema.Properties[name].Type; kind == "integer" || kind == "number" {
		value = firstNumber(rest)
	}
	args, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return args
}

// trimConnective drops what leads from the tool's name to its argument: a colon
// or comma, and the first little word.
func trimConnective(text string) string {
	text = strings.TrimLeft(text, " :,-")
	for _, word := range []string{"that says ", "saying ", "with ", "that ", "in ", "for ", "about ", "of "} {
		if rest, ok := strings.CutPrefix(text, word); ok {
			return rest
		}
	}
	return text
}

func firstNumber(text string) float64 {
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' }) {
		if n, err := strconv.ParseFloat(strings.Trim(field, "."), 64); err == nil {
			return n
		}
	}
	return 0
}

// consentRequest asks for a tool that needs the user's consent.
const consentRequest = "Connect my calendar"

// connect shows how consent works, with a calendar that agents with tools pretend
// to have (wire-protocol §10.8).
func (t *turn) connect() (done bool, err error) {
	if len(t.q.Profile.Tools) == 0 || !t.asks("connect", "calendar") {
		return false, nil
	}
	const tool = "calendar"
	if t.out.Consented(tool) {
		return true, t.say("Your calendar is connected. It is only a pretended one: this shows how consent works.")
	}
	if err := t.say("I may not look into your calendar before you allow it. Allow it on the page that I show you, and ask me again."); err != nil {
		return false, err
	}
	t.waits = true
	return true, t.out.AskConsent(tool, "Your calendar")
}
