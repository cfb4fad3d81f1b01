package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// shownOptions are the interfaces of the options that the playground offers, by the kind of
// session.
var shownOptions = map[string][]string{
	"avatar": {"SessionSettings", "AvatarSettings", "Timeouts", "CompletionSettings"},
	"chat":   {"SessionSettings", "ChatSettings", "CompletionSettings"},
	"agent":  {"SessionSettings", "AgentSettings", "CompletionSettings"},
}

// playground returns the text of the module with which example/playground lists every
// option of each kind of session.
func (t *types) playground() (string, error) {
	type shownOption struct {
		Name    string   `json:"name"`
		Type    string   `json:"type"`
		Check   string   `json:"check,omitempty"`
		Values  []string `json:"values,omitempty"`
		Default string   `json:"preset,omitempty"`
		About   string   `json:"about,omitempty"`
	}
	options := map[string][]shownOption{}
	shown := slices.Concat(slices.Collect(maps.Values(shownOptions))...)
	for _, o := range optionTypes {
		if !slices.Contains(shown, o.name) {
			continue
		}
		list, _, err := t.optionList(t.module.packages[o.dir].types[o.typ], o.required)
		if err != nil {
			return "", err
		}
		for _, p := range list {
			option := shownOption{Name: p.name, Type: p.typ, Default: p.preset, About: p.doc}
			if check, err := strconv.Unquote(p.check); err == nil {
				option.Check = check
			} else if p.check == "regions" {
				option.Values = appinit.Regions()
			} else if json.Unmarshal([]byte(p.check), &option.Values) != nil {
				option.Check = p.check
			}
			options[o.name] = append(options[o.name], option)
		}
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	b.WriteString("\n/** The options, by the interface that has them. */\nexport const options = ")
	if err := encoder.Encode(options); err != nil {
		return "", err
	}
	b.WriteString("\n/** The interfaces of the options of each kind of session. */\nexport const groups = ")
	err := encoder.Encode(shownOptions)
	return b.String(), err
}
