package converse

import (
	"bytes"
	"encoding/json"
)

// scanner reads the members of a JSON object in one pass, as strictly as
// encoding/json. That package would take most of the time that a segment costs in
// a page: it reads a text twice, and calls a function for each byte.
type scanner struct {
	text  []byte
	at    int
	begun bool
	// whole says that the object was read to its end, and nothing follows.
	whole bool

	key, value lexeme
}

// lexeme is the JSON text of a value. It refers to the scanner's text.
type lexeme struct {
	raw []byte
	// plain says that it is a string whose bytes are its text, without escapes and
	// control characters.
	plain bool
}

// next reads one more member into key and value. It returns false at the end, and
// when the text is not the JSON of one object.
func (s *scanner) next() bool {
	s.space()
	switch {
	case !s.begun:
		if !s.take('{') {
			return false
		}
		s.begun = true
		s.space()
		if s.take('}') {
			return s.end()
		}
	case s.take('}'):
		return s.end()
	case !s.take(','):
		return false
	default:
		s.space()
	}
	if s.key = s.lexeme(); len(s.key.raw) == 0 || s.key.raw[0] != '"' {
		return false
	}
	s.space()
	if !s.take(':') {
		return false
	}
	s.space()
	s.value = s.lexeme()
	return len(s.value.raw) > 0
}

func (s *scanner) end() bool {
	s.space()
	s.whole = s.at == len(s.text)
	return false
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// lexeme reads a value; the text of it is empty if there is none.
func (s *scanner) lexeme() (t lexeme) {
	rest := s.text[s.at:]
	if len(rest) == 0 {
		return t
	}
	n := 0
	switch rest[0] {
	case '"':
		n, t.plain = stringLen(rest)
	case '{', '[':
		if n = nestedLen(rest); !json.Valid(rest[:n]) {
			n = 0
		}
	case 't':
		n = literalLen(rest, "true")
	case 'f':
		n = literalLen(rest, "false")
	case 'n':
		n = literalLen(rest, "null")
	default:
		n = numberLen(rest)
	}
	t.raw = rest[:n:n]
	s.at += n
	return t
}

func literalLen(text []byte, literal string) int {
	if len(text) >= len(literal) && string(text[:len(literal)]) == literal {
		return len(literal)
	}
	return 0
}

// stringLen returns the length of the JSON string that text begins with, 0 if it is
// none.
func stringLen(text []byte) (n int, plain bool) {
	plain = true
	escaped := false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			if n = i + 1; escaped && !json.Valid(text[:n]) {
				n = 0
			}
			return n, plain
		case c == '\\':
			plain, escaped = false, true
			i++
		case c < ' ':
			return 0, false
		case c == 0x7f:
			plain = false
		}
	}
	return 0, false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// nestedLen returns the length of the object or list that text begins with, which
// need not be valid; 0 if it has no end.
func nestedLen(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			n, _ := stringLen(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// numberLen returns the length of the JSON number that text begins with, 0 if it is
// none.
func numberLen(text []byte) int {
	n := digitsLen(text)
	if n > 0 && text[0] != '0' && (n == len(text) || text[n] == ',' || text[n] == '}') {
		return n // most are
	}
	for n < len(text) && (isDigit(text[n]) || bytes.IndexByte(inNumbers, text[n]) >= 0) {
		n++
	}
	if !json.Valid(text[:n]) {
		return 0
	}
	return n
}

var inNumbers = []byte("+-.eE")

func digitsLen(text []byte) int {
	for i, c := range text {
		if !isDigit(c) {
			return i
		}
	}
	return len(text)
}

// name returns the text of a key.
func (t lexeme) name() []byte {
	if !t.plain && bytes.IndexByte(t.raw, '\\') >= 0 {
		name, _ := t.text()
		return []byte(name)
	}
	return t.raw[1 : len(t.raw)-1]
}

// text returns the text of a JSON string.
func (t lexeme) text() (text string, ok bool) {
	switch {
	case len(t.raw) == 0 || t.raw[0] != '"':
		return "", false
	case t.plain || bytes.IndexByte(t.raw, '\\') < 0:
		return string(t.raw[1 : len(t.raw)-1]), true
	}
	return text, json.Unmarshal(t.raw, &text) == nil
}
