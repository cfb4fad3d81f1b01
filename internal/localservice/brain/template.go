package brain

import (
	"encoding/json"
	"regexp"
	"strings"
)

// expression is what stands between double braces.
var expression = regexp.MustCompile(`(?s)\{\{(.*?)\}\}`)

// Render replaces {{ name }} in a template by the variable of that name, and
// {{ name | default('text') }} by the text when the variable is empty or missing.
// It is the part of Jinja that opening phrases and prompts use. A value is never
// rendered again, so that users can't write templates.
func Render(template string, vars map[string]any) string {
	return expression.ReplaceAllStringFunc(template, func(match string) string {
		name, filter, _ := strings.Cut(match[2:len(match)-2], "|")
		if value := format(vars[strings.TrimSpace(name)]); value != "" {
			return value
		}
		argument, ok := strings.CutPrefix(strings.TrimSpace(filter), "default(")
		if !ok {
			return ""
		}
		return strings.Trim(strings.TrimSpace(strings.TrimSuffix(argument, ")")), `'"`)
	})
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
