package brain

import (
	"cmp"

	"github.com/agentruntime/agentruntime/internal/template"
)

// maxRendered bounds the values in a template, in bytes: a short template may name a long
// value often. Those that don't fit are left out.
const maxRendered = 1 << 20

// Render replaces {{ name }} in a template by the variable of that name, and
// {{ name | default('text') }} by the text when the variable is empty or missing.
// A value is never rendered again, so that users can't write templates.
func Render(text string, vars map[string]any) string {
	return RenderAs(text, vars, func(value string, _ int) string { return value })
}

// RenderAs is like Render, but each value or default is replaced by the result of escape,
// which also receives the position in the template.
func RenderAs(text string, vars map[string]any, escape func(value string, at int) string) string {
	left := maxRendered
	return template.Render(text, func(p template.Piece, at int) string {
		if left <= 0 {
			return ""
		}
		value := cmp.Or(template.Text(vars[p.Ref.Name]), p.Ref.Default)
		value = escape(value, at)
		if left -= len(value); left < 0 {
			return ""
		}
		return value
	})
}
