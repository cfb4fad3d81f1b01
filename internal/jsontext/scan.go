package jsontext

import (
	"bytes"
	"encoding/json"
)

// Scanner reads the members of a JSON object in one pass, as strictly as
// encoding/json, which reads a text twice and calls a function for each byte: it
// would take most of the time that a page needs for a segment.
type Scanner struct {
	// Key and Value are the member that Next has read last.
	Key, Value Lexeme
	// Whole is true when the object was read to its end and only white space follows.
	Whole bool

	text  []byte
	at    int
	begun bool
}

// Lexeme is the JSON text of a value. It refers to the scanner's text.
type Lexeme struct {
	Raw []byte
	// Plain is true for a string without escapes and control characters, whose bytes
	// are its text.
	Plain bool
}

// Scan returns a scanner of text, which must be UTF-8.
func Scan(text []byte) Scanner { return Scanner{text: text} }

// Next reads one more member into Key and Value. It returns false at the end, and
// when the text is not the JSON of one object.
func (s *Scanner) Next() bool {
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
	if s.Key = s.lexeme(); len(s.Key.Raw) == 0 || s.Key.Raw[0] != '"' {
		return false
	}
	s.space()
	if !s.take(':') {
		return false
	}
	s.space()
	s.Value = s.lexeme()
	return len(s.Value.Raw) > 0
}

func (s *Scanner) end() bool {
	s.space()
	s.Whole = s.at == len(s.text)
	return false
}

func (s *Scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *Scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// lexeme reads a value. Its Raw is empty if there is no valid value.
func (s *Scanner) lexeme() (t Lexeme) {
	rest := s.text[s.at:]
	if len(rest) == 0 {
		return t
	}
	n := 0
	switch rest[0] {
	case '"':
		n, t.Plain = stringLen(rest)
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
	t.Raw = rest[:n:n]
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
// invalid.
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

// numberLen returns the length of the JSON number that text begins with, 0 if there is
// none.
func numberLen(text []byte) int {
	n := digitsLen(text)
	if n > 0 && text[0] != '0' && (n == len(text) || text[n] == ',' || text[n] == '}') {
		return n // the usual case: a non-negative integer
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

// Name returns the text of a key, with its escapes decoded.
func (t Lexeme) Name() []byte {
	if !t.Plain && bytes.IndexByte(t.Raw, '\\') >= 0 {
		name, _ := t.Text()
		return []byte(name)
	}
	return t.Raw[1 : len(t.Raw)-1]
}

// Text returns the text of a JSON string; ok is false when t is not a string.
func (t Lexeme) Text() (text string, ok bool) {
	switch {
	case len(t.Raw) == 0 || t.Raw[0] != '"':
		return "", false
	case t.Plain || bytes.IndexByte(t.Raw, '\\') < 0:
		return string(t.Raw[1 : len(t.Raw)-1]), true
	}
	return text, json.Unmarshal(t.Raw, &text) == nil
}
