package management

import "strings"

// A reference is one {{ … }} of a template.
type reference struct {
	name       string // as it stands in the template, without spaces around it
	fallback   string // of the filter default
	hasDefault bool
}

// A piece of a template is literal text, or a reference, whose text is as it is written.
type piece struct {
	text string
	ref  *reference
}

// parseTemplate splits a template of the service: text with {{ name }} and
// {{ name | default('text') }} in it. open is the position of a "{{" without its "}}"
// or of a "}}" without its "{{", -1 if there is none. Unmatched braces are literal text,
// as the service treats them.
func parseTemplate(template string) (pieces []piece, open int) {
	open = -1
	literal := func(text string, at int) {
		if i := strings.Index(text, "}}"); i >= 0 && open < 0 {
			open = at + i
		}
		if text != "" {
			pieces = append(pieces, piece{text: text})
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
		pieces = append(pieces, piece{template[at+begin : end], parseReference(inside)})
		at = end
	}
}

func parseReference(inside string) *reference {
	name, filter, _ := strings.Cut(inside, "|")
	ref := &reference{name: strings.TrimSpace(name)}
	var argument string
	if argument, ref.hasDefault = strings.CutPrefix(strings.TrimSpace(filter), "default("); ref.hasDefault {
		ref.fallback = strings.Trim(strings.TrimSpace(strings.TrimSuffix(argument, ")")), `'"`)
	}
	return ref
}

// references returns the references of a template in their order.
func references(template string) []reference {
	var refs []reference
	pieces, _ := parseTemplate(template)
	for _, p := range pieces {
		if p.ref != nil {
			refs = append(refs, *p.ref)
		}
	}
	return refs
}
