package main

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

const intro = `# Events

<!-- Generated from runtime/event and the sessions by "go generate ./runtime/event"; don't edit. -->

In a page: ` + "`session.on(name, listener)`" + `, with the payload named below. Natively: ` + "`Options.OnEvent`" + ` of the session's package,
with the Go type that is named last. Events are emitted in the order of their causes. A listener that is added later gets no
earlier events.
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
		fmt.Fprintf(&b, "\n## Of %s: `%sEvents`\n\n", k.title, k.name)
		for _, e := range events {
			payload, err := t.fields(e)
			if err != nil {
				return "", err
			}
			// A list and not a table, whose rows would be wider than a screen.
			fmt.Fprintf(&b, "- %s\n  Payload: %s. In Go: `%s.%s`\n", t.prose(e.decl.doc, e.decl), payload, path.Base(e.decl.pkg.dir), e.decl.name)
		}
	}
	return b.String(), nil
}

// fields describes a payload.
func (t *types) fields(e event) (string, error) {
	if _, ok := e.decl.expr.(*ast.StructType); !ok || e.name == "error" {
		typ, err := t.payload(e)
		return "`" + typ + "`", err
	}
	list, err := t.properties(e.decl)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "none", nil
	}
	parts := make([]string, len(list))
	for i, p := range list {
		mark := ""
		if p.optional {
			mark = "?"
		}
		parts[i] = "`" + p.name + mark + ": " + p.typ + "`"
	}
	return strings.Join(parts, ", "), nil
}
