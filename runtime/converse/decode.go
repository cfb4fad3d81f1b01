package converse

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
)

// MaxText bounds any text of a segment, in characters; the rest is cut
// (wire-protocol §4.4).
const MaxText = 8000

// maxInteger is the largest integer that JavaScript holds without loss.
const maxInteger = 1<<53 - 1

// Decode reads a segment from its JSON text: a line of a streamed reply, or the
// delta of an event. A field of another type than expected stays empty and
// costs the others nothing; keys without a field are kept in Extra; texts are
// cleaned by [Clean]. ok is false when text is no JSON object, and the caller
// decides what that is.
func Decode(text []byte) (s Segment, ok bool) {
	fields, ok := object(bytes.ToValidUTF8(text, []byte("\uFFFD")))
	if !ok {
		return Segment{}, false
	}
	for key, value := range fields {
		switch key {
		case "role":
			s.Role = cleanString(value)
		case "type":
			s.Type = Type(cleanString(value))
		case "content":
			s.Content = cleanContent(value)
		case "segmentNumber":
			s.SegmentNumber = integer(value)
		case "et":
			s.Elapsed = decoded[float64](value)
		case "speechId":
			s.SpeechID = cleanString(value)
		case "threadId":
			s.ThreadID = cleanString(value)
		case "messageId":
			s.MessageID = cleanString(value)
		case "segmentStart":
			s.SegmentStart = decoded[bool](value)
		case "segmentEnd":
			s.SegmentEnd = decoded[bool](value)
		case "isFinal":
			s.IsFinal = decoded[bool](value)
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
	return s, true
}

func decodeMetadata(raw json.RawMessage) *Metadata {
	fields, ok := object(raw)
	if !ok {
		return nil
	}
	var m Metadata
	for key, value := range fields {
		switch key {
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
	fields, ok := object(raw)
	if !ok {
		return nil
	}
	var m ToolMetadata
	for key, value := range fields {
		switch key {
		case "id":
			m.ID = cleanString(value)
		case "name":
			m.Name = cleanString(value)
		case "args":
			m.Args = value
		case "type":
			m.Type = cleanString(value)
		case "wait_for_response":
			m.WaitForResponse = decoded[bool](value)
		default:
			keep(&m.Extra, key, value)
		}
	}
	return &m
}

// object returns the members of a JSON object; ok is false for anything else.
func object(raw []byte) (fields map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &fields)
	return fields, err == nil && fields != nil
}

func keep(extra *map[string]json.RawMessage, key string, value json.RawMessage) {
	if *extra == nil {
		*extra = map[string]json.RawMessage{}
	}
	(*extra)[key] = value
}

// decoded returns the value of raw, or zero when it is of another type.
func decoded[T any](raw json.RawMessage) T {
	var v, zero T
	if json.Unmarshal(raw, &v) != nil {
		return zero
	}
	return v
}

// cleanString returns the text in raw, cleaned.
func cleanString(raw json.RawMessage) string { return Clean(decoded[string](raw)) }

// integer returns the integer in raw, or 0 for what JavaScript could not hold
// as one.
func integer(raw json.RawMessage) int {
	n := decoded[float64](raw)
	if n != math.Trunc(n) || math.Abs(n) > maxInteger {
		return 0
	}
	return int(n)
}

// cleanContent cleans the content of a segment if it is text.
func cleanContent(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	return String(Clean(text))
}

// Clean cuts s to [MaxText] characters and drops control characters except tab,
// line feed and carriage return (wire-protocol §4.4). What is no UTF-8 becomes
// U+FFFD.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= MaxText && strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, s)
	return firstChars(s, MaxText)
}

func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
}

// firstChars returns the first n characters of s.
func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
