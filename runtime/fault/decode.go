package fault

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// finder marks the bytes of a text that are secret. Unlike a list of spans, marks need no
// code for sorting and joining.
type finder struct {
	source string
	secret []bool // of each byte of source; nil while none is

	text string // what is searched: source, then source decoded
	at   []span // of each byte of a decoded text, where it is in source
}

// span is the part of a text from one offset to another.
type span struct{ from, to int }

// decode resolves the escapes of JSON strings, Go strings and URLs, also nested ones: the
// result of an escape may be the end of another.
func (f *finder) decode() {
	text, at := make([]byte, 0, len(f.source)), make([]span, 0, len(f.source))
	for i := range len(f.source) {
		text, at = append(text, f.source[i]), append(at, span{i, i + 1})
		for {
			char, n := lastEscape(text)
			if n == 0 {
				break
			}
			whole := span{at[len(text)-n].from, i + 1}
			text = append(text[:len(text)-n], char...)
			at = at[:len(text)-len(char)]
			for range len(char) {
				at = append(at, whole)
			}
		}
	}
	f.text, f.at = string(text), at
}

// lastEscape returns the character that the escape at the end of text stands for, and the
// length of the escape, 0 if there is none.
func lastEscape(text []byte) (char string, n int) {
	last := len(text) - 1
	if i := strings.IndexByte(`nrt"'/\`+"`", text[last]); i >= 0 && last > 0 && text[last-1] == '\\' {
		return "\n\r\t\"'/\\`"[i : i+1], 2
	}
	if !isHex(text[last]) {
		return "", 0
	}
	for _, form := range [...]struct {
		prefix string
		digits int
	}{{"%", 2}, {`\x`, 2}, {`\u`, 4}, {"%u", 4}} { // %u0041 is what JavaScript's escape writes
		start := len(text) - form.digits
		if start < len(form.prefix) || string(text[start-len(form.prefix):start]) != form.prefix {
			continue
		}
		if code, err := strconv.ParseUint(string(text[start:]), 16, 32); err == nil {
			n = len(form.prefix) + form.digits
			if form.digits == 2 {
				return string([]byte{byte(code)}), n
			}
			return string(utf8.AppendRune(nil, rune(code))), n
		}
	}
	return "", 0
}

// mark marks a part of the text as secret.
func (f *finder) mark(from, to int) {
	if from >= to {
		return
	}
	s := span{from, to}
	if f.at != nil {
		s = span{f.at[from].from, f.at[to-1].to}
	}
	if f.source[s.from:s.to] == Redacted {
		return
	}
	if f.secret == nil {
		f.secret = make([]bool, len(f.source))
	}
	for i := s.from; i < s.to; i++ {
		f.secret[i] = true
	}
}

// redacted returns the source with [Redacted] in place of each run of marked bytes.
func (f *finder) redacted() string {
	var out strings.Builder
	done := 0 // the source up to this offset is written
	for i, secret := range f.secret {
		switch {
		case !secret:
		case i > 0 && f.secret[i-1]:
			done = i + 1
		default:
			out.WriteString(f.source[done:i])
			out.WriteString(Redacted)
			done = i + 1
		}
	}
	out.WriteString(f.source[done:])
	return out.String()
}
