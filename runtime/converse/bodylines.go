package converse

import (
	"strconv"
	"strings"
)

// maxDigits is how many digits of a number survive in a float64: what is longer
// is an id.
const maxDigits = 15

// parseLines reads "key: value" lines with one level of lists, whose items are
// values or such lines again (wire-protocol §4.4.3). ok is false for other text.
func parseLines(text string) (c content, ok bool) {
	p := lineParser{values: map[string]any{}, items: map[string][]string{}}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !p.line(line) {
			return content{}, false
		}
	}
	if len(p.values) == 0 {
		return content{}, false
	}
	clean, ok := Scrub(p.values).(map[string]any)
	return content{values: clean, items: p.items, parsed: ok, lined: ok}, ok
}

type lineParser struct {
	values map[string]any
	items  map[string][]string // the first lines of the items of each list
	key    string              // the key whose list may follow
	dash   int                 // indentation of that list, once it has begun
	item   map[string]any      // its last item, if that has lines of its own
}

// line reads one line that is not blank.
func (p *lineParser) line(line string) bool {
	text := strings.TrimSpace(line)
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if rest, isItem := strings.CutPrefix(text, "-"); isItem && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
		return p.listItem(indent, strings.TrimSpace(rest))
	}
	key, value, ok := pair(text)
	switch {
	case !ok:
		return false
	case p.item != nil && indent > p.dash:
		p.item[key] = scalar(value)
	default:
		p.values[key] = scalar(value)
		p.key, p.item = "", nil
		if value == "" {
			p.key = key
		}
	}
	return true
}

func (p *lineParser) listItem(indent int, text string) bool {
	if p.key == "" {
		if len(p.values) > 0 {
			return false // the list of a key that has a value
		}
		p.key = "items"
	}
	list, begun := p.values[p.key].([]any)
	if !begun {
		p.dash, p.items[p.key] = indent, nil
	}
	if indent != p.dash {
		return false // a list in a list
	}
	p.item = nil
	item := scalar(text)
	if key, value, ok := pair(text); ok {
		p.item = map[string]any{key: scalar(value)}
		item = p.item
	}
	p.values[p.key] = append(list, item)
	p.items[p.key] = append(p.items[p.key], text)
	return true
}

// pair splits "key: value". A key is a word, so that a sentence with a colon in
// it and an address are none.
func pair(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, ":")
	if !ok || key == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	for i := range len(key) {
		if !isWord(key[i]) && (i == 0 || key[i] != '-') {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

// scalar is the value that a text spells.
func scalar(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	if isDecimal(text) {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	}
	return text
}

// isDecimal reports whether text is a number as JSON writes it, without an
// exponent, and short enough to be one.
func isDecimal(text string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	switch {
	case len(whole)+len(fraction) > maxDigits, !allDigits(whole), point && !allDigits(fraction):
		return false
	}
	return whole == "0" || whole[0] != '0'
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
