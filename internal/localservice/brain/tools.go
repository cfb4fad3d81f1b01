package brain

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/template"
)

// useTool calls a tool and puts its answer into words.
func (t *turn) useTool(tool store.ToolDef, args json.RawMessage) error {
	if err := t.say("One moment. "); err != nil {
		return err
	}
	results, err := t.out.Call(t.ctx, Call{Tool: tool, Args: args})
	if err != nil {
		return err
	}
	by := "page"
	if tool.Type != store.ClientTool {
		by = "service"
	}
	switch {
	case !tool.WaitForResponse:
		return t.say(fmt.Sprintf("I asked the %s to run %s.", by, tool.Name))
	case !results[0].Answered:
		return t.say(fmt.Sprintf("The %s did not answer %s in time, so I'll go on without it.", by, tool.Name))
	}
	return t.say(fmt.Sprintf("The %s answered %s: %s.", by, tool.Name, inWords(results[0].Response)))
}

// inWords turns a flat object into "status ok, temperature 21".
func inWords(object json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(object, &fields) != nil || len(fields) == 0 {
		return "nothing"
	}
	var words []string
	for name, value := range fields {
		words = append(words, name+" "+template.Text(value))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// matchTool finds the tool that a sentence requests: by its name, as in "use the
// tool save_note", or by the words of its name in their order, as in "please save
// a note: call back". Only small words may stand between them, so that "go home to
// the last page" is not go_to_page.
func matchTool(tools []store.ToolDef, text string) (store.ToolDef, json.RawMessage, bool) {
	for _, tool := range tools {
		if at := wordsIn(tool.Name, text); at != nil {
			return tool, argsFor(tool, text[at[1]:]), true
		}
	}
	return store.ToolDef{}, nil, false
}

// wordsIn finds a name, or its words in their order, in a sentence; it returns nil if
// the name is not there.
func wordsIn(name, text string) []int {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ' ' || r == '-' })
	if len(words) == 0 {
		return nil
	}
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	return regexp.MustCompile(`(?i)\b` + strings.Join(words, `(?:[_-]|\W+(?:(?:an?|the|this|my|me|new)\W+)*)`) + `\b`).FindStringIndex(text)
}

// useSkill answers a question that names a skill with its instructions, because there is
// no model here that could follow them; "" for other questions.
func (t *turn) useSkill() string {
	for _, skill := range t.skills() {
		if wordsIn(skill.Name, t.Text) == nil {
			continue
		}
		if text, ok := t.load(skill.Name); ok {
			return fmt.Sprintf("My skill %s says: %s", skill.Name, text)
		}
	}
	return ""
}

// number and connective are found in what follows a tool's name.
var (
	number     = regexp.MustCompile(`\d+(?:\.\d+)?`)
	connective = regexp.MustCompile(`^[ :,-]*(?:(?:that says|saying|with|that|in|for|about|of) )?`)
)

// argsFor makes arguments of the rest of a sentence: an object when it contains
// one, otherwise the rest as the first required parameter.
func argsFor(tool store.ToolDef, rest string) json.RawMessage {
	args := map[string]any{}
	var schema struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	_, object, isObject := strings.Cut(rest, "{")
	switch {
	case isObject && json.NewDecoder(strings.NewReader("{"+object)).Decode(&args) == nil:
	case json.Unmarshal(tool.Parameters, &schema) == nil && len(schema.Required) > 0:
		name := schema.Required[0]
		args[name] = strings.Trim(connective.ReplaceAllString(rest, ""), " .!?\"'")
		if kind := schema.Properties[name].Type; kind == "integer" || kind == "number" {
			args[name], _ = strconv.ParseFloat(number.FindString(rest), 64) // 0 when there is none
		}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return text
}
