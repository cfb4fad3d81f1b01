package brain

import (
	"encoding/json"
	"strings"
)

// Render replaces {{ name }} in a template by the variable of that name, and
// {{ name | default('text') }} by the text when the variable is empty. A name
// that is not there is empty. It is the part of Jinja that opening phrases and
// prompts use; a value is never rendered again, so a user can't write a template.
func Render(template string, vars map[string]any) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		expression, after, closed := strings.Cut(rest, "}}")
		if !closed { // not a template: leave it as it was written
			out.WriteString("{{" + rest)
			return out.String()
		}
		out.WriteString(evaluate(expression, vars))
		template = after
	}
}

func evaluate(expression string, vars map[string]any) string {
	name, filter, _ := strings.Cut(expression, "|")
	if value := format(vars[strings.TrimSpace(name)]); value != "" {
		return value
	}
	argument, ok := strings.CutPrefix(strings.TrimSpace(filter), "default(")
	if !ok {
		return ""
	}
	argument = strings.TrimSpace(strings.TrimSuffix(argument, ")"))
	return strings.Trim(argument, `'"`)
}

// format writes a variable as a person would: no quotes around strings, nothing
// for null.
func format(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(b)
}
