package main

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

const intro = `# Events

<!-- Generated from runtime/event and the sessions by "go generate ./runtime/event"; don't edit. -->

In a page: ` + "`session.on(name, listener)`" + `, with the types named below. Natively: ` + "`Options.OnEvent`" + ` of the session's package,
with the Go type of the last column. Events are emitted in the order of their causes. A listener that is added later gets no
earlier events.
`

const table = `
## Of %s: ` + "`%sEvents`" + `

| Event | Payload | When | Go |
| --- | --- | --- | --- |
`

// document returns the text of events.md.
func (t *types) document() (string, error) {
	var b strings.Builder
	b.WriteString(intro)
	for _, k := range kinds {
		events, err := t.module.events(k)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, table, k.title, k.name)
		for _, e := range events {
			payload, err := t.fields(e)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | `%s.%s` |\n", e.name, payload, cell(t.prose(e.decl.doc, e.decl)), path.Base(e.decl.pkg.dir), e.decl.name)
		}
	}
	return b.String(), nil
}

// fields describes a payload in one table cell.
func (t *types) fields(e event) (string, error) {
	if _, ok := e.decl.expr.(*ast.StructType); !ok || e.name == "error" {
		typ, err := t.payload(e)
		return cell("`" + typ + "`"), err
	}
	list, err := t.properties(e.decl)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "–", nil
	}
	parts := make([]string, len(list))
	for i, p := range list {
		mark := ""
		if p.optional {
			mark = "?"
		}
		parts[i] = cell("`" + p.name + mark + ": " + p.typ + "`")
	}
	return strings.Join(parts, ", "), nil
}

// cell escapes text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
