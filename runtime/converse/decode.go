package converse

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText bounds a text that is heard on the control socket, and the names and ids
// of a segment, in characters; the rest is cut (wire-protocol §4.4).
const MaxText = 8000

// maxInteger is the largest integer that JavaScript holds without loss.
const maxInteger = 1<<53 - 1

// Decode reads a segment from its JSON text: a line of a streamed reply, or the
// delta of an event. A field of another type than expected stays empty and
// costs the others nothing; keys without a field are kept in Extra; names and ids
// are cleaned by [Clean], and content loses its control characters; that of a
// spoken segment is always text. ok is false when text is no JSON object, and the
// caller decides what that is.
func Decode(text []byte) (s Segment, ok bool) {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if !json.Valid(text) || !isObject(text) {
		return Segment{}, false
	}
	for key, value := range members(text) {
		switch string(key) {
		case "role":
			s.Role = cleanString(value)
		case "type":
			s.Type = Type(cleanString(value))
		case "content":
			s.Content = cleanContent(value)
		case "segmentNumber":
			s.SegmentNumber = integer(value)
		case "et":
			s.Elapsed = number(value)
		case "speechId":
			s.SpeechID = cleanString(value)
		case "threadId":
			s.ThreadID = cleanString(value)
		case "messageId":
			s.MessageID = cleanString(value)
		case "segmentStart":
			s.SegmentStart = string(value) == "true"
		case "segmentEnd":
			s.SegmentEnd = string(value) == "true"
		case "isFinal":
			s.IsFinal = string(value) == "true"
		case "openingPhrase":
			s.OpeningPhrase = cleanString(value)
		case "metadata":
			s.Metadata = decodeMetadata(value)
		case "tool_metadata":
			s.ToolMetadata = decodeToolMetadata(value)
		default:
			keep(&s.Extra, key, value)
		}
	}
	if s.Type.Spoken() && !bytes.HasPrefix(s.Content, []byte{'"'}) {
		s.Content = String(s.ContentString())
	}
	return s, true
}

func decodeMetadata(raw json.RawMessage) *Metadata {
	if !isObject(raw) {
		return nil
	}
	var m Metadata
	for key, value := range members(raw) {
		switch string(key) {
		case "widgetName":
			m.WidgetName = cleanString(value)
		case "runtimeName":
			m.RuntimeName = cleanString(value)
		case "subtype":
			m.Subtype = cleanString(value)
		case "tool_name":
			m.ToolName = cleanString(value)
		case "tool_display_name":
			m.ToolDisplayName = cleanString(value)
		default:
			keep(&m.Extra, key, value)
		}
	}
	return &m
}

func decodeToolMetadata(raw json.RawMessage) *ToolMetadata {
	if !isObject(raw) {
		return nil
	}
	var m ToolMetadata
	for key, value := range members(raw) {
		switch string(key) {
		case "id":
			m.ID = cleanString(value)
		case "name":
			m.Name = cleanString(value)
		case "args":
			m.Args = bytes.Clone(value)
		case "type":
			m.Type = cleanString(value)
		case "wait_for_response":
			m.WaitForResponse = string(value) == "true"
		default:
			keep(&m.Extra, key, value)
		}
	}
	return &m
}

// isObject reports whether the value in raw, which is valid, is an object.
func isObject(raw []byte) bool {
	raw = skipSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

func keep(extra *map[string]json.RawMessage, key []byte, value json.RawMessage) {
	if *extra == nil {
		*extra = map[string]json.RawMessage{}
	}
	(*extra)[string(key)] = bytes.Clone(value)
}

// cleanString returns the text in raw, cleaned; "" if raw is no string.
func cleanString(raw json.RawMessage) string {
	text, _ := unquote(raw)
	return Clean(text)
}

// unquote returns the text of a JSON string. Most have nothing to decode, and
// encoding/json would take most of the time that a segment costs.
func unquote(raw json.RawMessage) (text string, ok bool) {
	switch {
	case len(raw) == 0 || raw[0] != '"':
		return "", false
	case bytes.IndexByte(raw, '\\') < 0:
		return string(raw[1 : len(raw)-1]), true
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// number returns the number in raw; 0 if it is none, or beyond a float64.
func number(raw json.RawMessage) float64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0
	}
	return n
}

// integer returns the integer in raw, or 0 for what JavaScript could not hold
// as one.
func integer(raw json.RawMessage) int {
	n := number(raw)
	if n != math.Trunc(n) || math.Abs(n) > maxInteger {
		return 0
	}
	return int(n)
}

// cleanContent drops the control characters of a content that is text. Its length
// is bounded by what it came in: an answer over HTTP is as long as it is
// (wire-protocol §9.3), see [Segment.Cut].
func cleanContent(raw json.RawMessage) json.RawMessage {
	text, ok := unquote(raw)
	if clean := printable(text); ok && clean != text {
		return String(clean)
	}
	return bytes.Clone(raw)
}

// Cut cuts a content that is text to [MaxText] characters, as what is heard on the
// control socket is (wire-protocol §4.4). Tool calls and pieces of widgets stay
// whole: JSON that is cut can't be read.
func (s *Segment) Cut() {
	if _, widget := s.Runtime(); widget || s.Type == Tool {
		return
	}
	text, ok := unquote(s.Content)
	if cut := firstChars(text, MaxText); ok && len(cut) < len(text) {
		s.Content = String(cut)
	}
}

// Clean cuts s to [MaxText] characters and drops control characters except tab,
// line feed and carriage return (wire-protocol §4.4). What is no UTF-8 becomes
// U+FFFD.
func Clean(s string) string { return firstChars(printable(s), MaxText) }

// printable is [Clean] for a text of any length.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, s)
}

func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
}

// firstChars returns the first n characters of s.
func firstChars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
