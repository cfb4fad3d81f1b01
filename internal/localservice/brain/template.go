package brain

import (
	"encoding/json"
	"regexp"
	"strings"
)

// expression matches double braces and what is between them.
var expression = regexp.MustCompile(`(?s)\{\{(.*?)\}\}`)

// maxRendered bounds the values in a template, in bytes: a short template may name a long
// value often. Those that don't fit are left out.
const maxRendered = 1 << 20

// Render replaces {{ name }} in a template by the variable of that name, and
// {{ name | default('text') }} by the text when the variable is empty or missing.
// It is the part of Jinja that opening phrases and prompts use. A value is never
// rendered again, so that users can't write templates.
func Render(template string, vars map[string]any) string {
	return RenderAs(template, vars, func(value string, _ int) string { return value })
}

// RenderAs is like Render, but each value or default is replaced by the result of escape,
// which also receives the position in the template.
func RenderAs(template string, vars map[string]any, escape func(value string, at int) string) string {
	var out strings.Builder
	last, left := 0, maxRendered
	for _, m := range expression.FindAllStringSubmatchIndex(template, -1) {
		out.WriteString(template[last:m[0]])
		last = m[1]
		if left <= 0 {
			continue
		}
		value := escape(valueOf(template[m[2]:m[3]], vars), m[0])
		if left -= len(value); left >= 0 {
			out.WriteString(value)
		}
	}
	return out.String() + template[last:]
}

// valueOf evaluates what is between double braces.
func valueOf(inside string, vars map[string]any) string {
	name, filter, _ := strings.Cut(inside, "|")
	if value := format(vars[strings.TrimSpace(name)]); value != "" {
		return value
	}
	argument, ok := strings.CutPrefix(strings.TrimSpace(filter), "default(")
	if !ok {
		return ""
	}
	return strings.Trim(strings.TrimSpace(strings.TrimSuffix(argument, ")")), `'"`)
}

// format writes strings without quotes, null as nothing, and other values as JSON.
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
