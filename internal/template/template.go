// Package template reads the templates of the service: text with {{ name }} and
// {{ name | default('text') }} in it, the part of Jinja that prompts, opening phrases, tools
// and e-mails use (service.md, "Reserved template variables"). The local service renders
// them, and the management client checks and previews them.
package template

import (
	"encoding/json"
	"strings"
)

// A Reference is one {{ … }} of a template.
type Reference struct {
	Name       string // as it stands in the template, without spaces around it
	Default    string // the text of the filter default
	HasDefault bool
}

// A Piece of a template is literal text, or a reference, whose text is as it is written.
type Piece struct {
	Text string
	Ref  *Reference
}

// Parse splits a template. open is the position of a "{{" without its "}}" or of a "}}"
// without its "{{", -1 if there is none. Unmatched braces are literal text, as the service
// treats them. The texts of all pieces are together the template.
func Parse(template string) (pieces []Piece, open int) {
	open = -1
	literal := func(text string, at int) {
		if i := strings.Index(text, "}}"); i >= 0 && open < 0 {
			open = at + i
		}
		if text != "" {
			pieces = append(pieces, Piece{Text: text})
		}
	}
	at := 0
	for {
		begin := strings.Index(template[at:], "{{")
		if begin < 0 {
			literal(template[at:], at)
			return pieces, open
		}
		length := strings.Index(template[at+begin:], "}}")
		if length < 0 {
			literal(template[at:], at)
			if open < 0 {
				open = at + begin
			}
			return pieces, open
		}
		literal(template[at:at+begin], at)
		inside := template[at+begin+len("{{") : at+begin+length]
		end := at + begin + length + len("}}")
		pieces = append(pieces, Piece{template[at+begin : end], parseReference(inside)})
		at = end
	}
}

func parseReference(inside string) *Reference {
	name, filter, _ := strings.Cut(inside, "|")
	ref := &Reference{Name: strings.TrimSpace(name)}
	var argument string
	if argument, ref.HasDefault = strings.CutPrefix(strings.TrimSpace(filter), "default("); ref.HasDefault {
		ref.Default = strings.Trim(strings.TrimSpace(strings.TrimSuffix(argument, ")")), `'"`)
	}
	return ref
}

// Names returns the names of a template's references, in their order.
func Names(template string) []string {
	var names []string
	pieces, _ := Parse(template)
	for _, p := range pieces {
		if p.Ref != nil {
			names = append(names, p.Ref.Name)
		}
	}
	return names
}

// Render replaces each reference of a template by what value returns for it; at is the
// reference's position in the template, in bytes.
func Render(template string, value func(p Piece, at int) string) string {
	var out strings.Builder
	at := 0
	pieces, _ := Parse(template)
	for _, p := range pieces {
		if p.Ref == nil {
			out.WriteString(p.Text)
		} else {
			out.WriteString(value(p, at))
		}
		at += len(p.Text)
	}
	return out.String()
}

// Text returns a value as it stands in a rendered template: a string without quotes, null as
// "", anything else as JSON.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}
