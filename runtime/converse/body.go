package converse

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// body is the parsed content of a widget. It notes whether any of the keys that
// were asked for was there.
type body struct {
	values map[string]any
	items  map[string][]string // see content
	hit    bool
}

// content is what the pieces of a widget make together.
type content struct {
	text   string // empty if the content was an object or an array
	values map[string]any
	items  map[string][]string // of lists that come from lines, what the items say
	parsed bool
	lined  bool // the values come from lines, not from JSON
}

// blank reports whether there is nothing to show.
func (c content) blank() bool { return !c.parsed && strings.TrimSpace(c.text) == "" }

// broken reports whether c began like JSON and is none.
func (c content) broken() bool { return !c.parsed && looksLikeJSON(c.text) }

// parseContent reads object or, if that is nil, text: an object as it is, an array
// as the items of one, text as JSON or as lines (wire-protocol §4.4.3).
func parseContent(object json.RawMessage, text string) content {
	if object != nil {
		values, ok := parseJSON(string(object))
		return content{values: values, parsed: ok}
	}
	plain := stripFence(strings.TrimSpace(text))
	if values, ok := parseJSON(plain); ok {
		return content{text: text, values: values, parsed: true}
	}
	c, _ := parseLines(plain)
	c.text = text
	return c
}

func parseJSON(text string) (map[string]any, bool) {
	if !looksLikeJSON(text) {
		return nil, false
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil, false
	}
	switch v := Scrub(v).(type) {
	case map[string]any:
		return v, true
	case []any:
		return map[string]any{"items": v}, true
	}
	return nil, false
}

func looksLikeJSON(text string) bool {
	text = stripFence(strings.TrimSpace(text))
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// stripFence takes the fence off a block of code.
func stripFence(text string) string {
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	_, inner, _ = strings.Cut(inner, "\n") // behind the name of the language
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
}

// get returns the value of the first of keys that is there and not null.
func (b *body) get(keys ...string) any {
	for _, key := range keys {
		if v, ok := b.values[key]; ok {
			b.hit = true
			if v != nil {
				return v
			}
		}
	}
	return nil
}

// text returns the first of keys that has a text.
func (b *body) text(keys ...string) string {
	for _, key := range keys {
		if s := scalarText(b.get(key)); s != "" {
			return s
		}
	}
	return ""
}

// list returns the list under the first of keys that has one; a single value is
// a list of one.
func (b *body) list(keys ...string) []any {
	switch v := b.get(keys...).(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// texts returns the texts of a list; those that are objects have theirs under
// one of fields. A line that has another word before its colon is a text, not an
// object.
func (b *body) texts(fields []string, keys ...string) []string {
	var texts []string
	for i, item := range b.list(keys...) {
		s := scalarText(item)
		if values, ok := item.(map[string]any); ok {
			object := &body{values: values}
			if s = object.text(fields...); !object.hit {
				s = b.line(i, keys...)
			}
		}
		if s != "" {
			texts = append(texts, s)
		}
	}
	return texts
}

// line returns what item i of the list under the first of keys says, "" if that
// doesn't come from lines.
func (b *body) line(i int, keys ...string) string {
	for _, key := range keys {
		if b.values[key] != nil {
			if lines := b.items[key]; i < len(lines) {
				return lines[i]
			}
			return ""
		}
	}
	return ""
}

// items reads the objects of a list. One that has none of the keys which read
// asks for is left out.
func items[T any](b *body, read func(*body) T, keys ...string) []T {
	var list []T
	for _, v := range b.list(keys...) {
		if values, ok := v.(map[string]any); ok {
			item := &body{values: values}
			if made := read(item); item.hit {
				list = append(list, made)
			}
		}
	}
	return list
}

// link returns the first of keys that has an address which is safe to follow:
// a page may put it into a link. Absolute ones are http or https, mailto or tel.
func (b *body) link(keys ...string) string {
	for _, key := range keys {
		if s, u := address(b.get(key)); u != nil && slices.Contains([]string{"", "http", "https", "mailto", "tel"}, u.Scheme) {
			return s
		}
	}
	return ""
}

// webLink is link for addresses that must be absolute, http or https.
func (b *body) webLink(keys ...string) string {
	for _, key := range keys {
		if s, u := address(b.get(key)); u != nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
			return s
		}
	}
	return ""
}

// address parses v as an address; u is nil if it is none.
func address(v any) (s string, u *url.URL) {
	if s, _ = v.(string); strings.TrimSpace(s) == "" {
		return "", nil
	}
	s = strings.TrimSpace(s)
	u, err := url.Parse(s) // fails for control characters, which browsers skip
	if err != nil {
		return "", nil
	}
	return s, u
}

// number returns the first of keys that has a number.
func (b *body) number(keys ...string) (n float64, ok bool) {
	for _, key := range keys {
		switch v := b.get(key).(type) {
		case float64:
			return v, true
		case string:
			if n, isNumber := scalar(v).(float64); isNumber {
				return n, true
			}
		}
	}
	return 0, false
}

// seconds is number for lengths of time, which may also be spelled 1:02:03.
func (b *body) seconds(keys ...string) float64 {
	if n, ok := b.number(keys...); ok {
		return max(n, 0)
	}
	total := 0.0
	for part := range strings.SplitSeq(b.text(keys...), ":") {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return 0
		}
		total = total*60 + float64(n)
	}
	return total
}

// scalarText is the text of a string, number or boolean, "" for anything else.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return printable(strings.TrimSpace(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
