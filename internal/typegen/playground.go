package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// shownOptions are the options that the playground offers, by the kind of session.
var shownOptions = map[string][]string{
	"avatar": {"SessionSettings", "AvatarSettings", "Timeouts", "CompletionSettings"},
	"chat":   {"SessionSettings", "ChatSettings", "CompletionSettings"},
	"agent":  {"SessionSettings", "AgentSettings", "CompletionSettings"},
}

// playground is the module with which example/playground lists every option of each kind
// of session.
func (t *types) playground() (string, error) {
	type shownOption struct {
		Name    string   `json:"name"`
		Group   string   `json:"group"`
		Type    string   `json:"type"`
		Check   string   `json:"check,omitempty"`
		Values  []string `json:"values,omitempty"`
		Default string   `json:"preset,omitempty"`
		About   string   `json:"about,omitempty"`
	}
	options := map[string][]shownOption{}
	for _, k := range kinds {
		name := strings.ToLower(k.name)
		for _, group := range shownOptions[name] {
			for _, o := range optionTypes {
				if o.name != group {
					continue
				}
				list, _, err := t.optionList(t.module.packages[o.dir].types[o.typ], o.required)
				if err != nil {
					return "", err
				}
				for _, p := range list {
					shown := shownOption{Name: p.name, Group: group, Type: p.typ, Default: p.preset, About: p.doc}
					if check, err := strconv.Unquote(p.check); err == nil {
						shown.Check = check
					} else if p.check == "regions" {
						shown.Values = appinit.Regions()
					} else if json.Unmarshal([]byte(p.check), &shown.Values) != nil {
						shown.Check = p.check
					}
					options[name] = append(options[name], shown)
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("// Generated from the Go declarations by \"go generate ./runtime/event\"; don't edit.\n\n" +
		"/** The options of each kind of session. */\nexport const options = ")
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(options)
	return b.String(), err
}
