package fault

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// layer is a text whose escapes are resolved. source has, for each of its bytes, the span
// of the finder's source that the byte comes from; it is nil for that source itself.
type layer struct {
	text   string
	source []span
}

// span returns the span in the source of a part that is not empty.
func (l layer) span(from, to int) span {
	if l.source == nil {
		return span{from, to}
	}
	return span{l.source[from].from, l.source[to-1].to}
}

// unescaped resolves one layer of the escapes of JSON strings, URLs and HTML. It
// reports false when there are none.
func (l layer) unescaped() (layer, bool) {
	if !strings.ContainsAny(l.text, `\%&`) {
		return l, false
	}
	text, source := make([]byte, 0, len(l.text)), make([]span, 0, len(l.text))
	found := false
	for i := 0; i < len(l.text); {
		n := 0
		if strings.IndexByte(`\%&`, l.text[i]) >= 0 {
			text, n = appendEscaped(text, l.text[i:])
		}
		if n == 0 {
			text, n = append(text, l.text[i]), 1
		} else {
			found = true
		}
		for len(source) < len(text) {
			source = append(source, l.span(i, i+n))
		}
		i += n
	}
	return layer{string(text), source}, found
}

// appendEscaped appends the character that the escape at the beginning of s stands
// for. n is the length of the escape, 0 when it is none.
func appendEscaped(text []byte, s string) (_ []byte, n int) {
	switch {
	case len(s) < 2:
		return text, 0
	case s[0] == '&':
		return appendEntity(text, s)
	case s[1] == 'u': // %u0041 is what JavaScript's escape writes
		return appendCode(text, s, 2, 4)
	case s[0] == '%':
		return appendCode(text, s, 1, 2)
	case s[1] == 'x':
		return appendCode(text, s, 2, 2)
	}
	if i := strings.IndexByte(`nrt"'/\`+"`", s[1]); i >= 0 {
		return append(text, "\n\r\t\"'/\\`"[i]), 2
	}
	return text, 0
}

// appendCode appends the character whose code is the hexadecimal number at start, with
// so many digits.
func appendCode(text []byte, s string, start, digits int) (_ []byte, n int) {
	if len(s) < start+digits {
		return text, 0
	}
	code, err := strconv.ParseUint(s[start:start+digits], 16, 32)
	if err != nil {
		return text, 0
	}
	if digits == 2 {
		return append(text, byte(code)), start + digits
	}
	return utf8.AppendRune(text, rune(code)), start + digits
}

// entities are the named entities of HTML for the characters that occur in secrets and in
// the text around them.
var entities = map[string]byte{
	"amp": '&', "quot": '"', "apos": '\'', "lt": '<', "gt": '>', "colon": ':', "sol": '/', "bsol": '\\', "commat": '@',
	"equals": '=', "period": '.', "lowbar": '_', "hyphen": '-', "dash": '-', "plus": '+', "vert": '|', "percnt": '%', "num": '#',
	"lbrace": '{', "lcub": '{', "rbrace": '}', "rcub": '}', "nbsp": ' ', "Tab": '\t', "NewLine": '\n',
}

func appendEntity(text []byte, s string) (_ []byte, n int) {
	const longest = len("&#x0000041") // with some leading zeros; the semicolon may be missing
	end := 1
	for end < min(len(s), longest) && (isNameChar(s[end]) || end == 1 && s[end] == '#') {
		end++
	}
	semicolon := end < len(s) && s[end] == ';'
	name := s[1:end]
	if !strings.HasPrefix(name, "#") {
		if c, ok := entities[name]; ok && semicolon {
			return append(text, c), end + 1
		}
		return text, 0
	}
	base := 10
	digits := name[1:]
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		base, digits = 16, digits[1:]
	}
	code, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return text, 0
	}
	if semicolon {
		end++
	}
	return utf8.AppendRune(text, rune(code)), end
}

// minBase64 is the minimum length of a run of characters that is decoded as base64: twelve
// bytes, fewer than any token has.
const minBase64 = 16

// base64 yields the decoded text of each run of base64 in l, which may be broken into
// lines. The beginning of a run may be a path or a word before the base64, so that each
// run is decoded from four offsets.
func (l layer) base64() iter.Seq[layer] {
	return func(yield func(layer) bool) {
		for i := 0; i < len(l.text); i++ {
			end := run(l.text, i, func(c byte) bool { return sextet(c) >= 0 || c == '\r' || c == '\n' })
			if end-i >= minBase64 {
				for from := i; from < i+4; from++ {
					if !yield(l.decoded(from, end)) {
						return
					}
				}
			}
			i = max(i, end)
		}
	}
}

// decoded decodes the base64 between two offsets.
func (l layer) decoded(from, to int) layer {
	size := (to - from) * 3 / 4
	text, source := make([]byte, 0, size), make([]span, 0, size)
	bits, n, last := 0, 0, from
	for i := from; i < to; i++ {
		six := sextet(l.text[i])
		if six < 0 {
			continue // the end of a line
		}
		bits, n = (bits<<6|six)&0xFFFF, n+6
		if n >= 8 {
			n -= 8
			text, source = append(text, byte(bits>>n)), append(source, l.span(last, i+1))
		}
		last = i
	}
	if padded := skip(l.text, to, "="); padded > to && len(source) > 0 {
		source[len(source)-1].to = l.span(to, padded).to
	}
	return layer{string(text), source}
}

// sextet returns the six bits that a character of base64 stands for, in either of
// its two alphabets, or -1.
func sextet(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+' || c == '-':
		return 62
	case c == '/' || c == '_':
		return 63
	}
	return -1
}
