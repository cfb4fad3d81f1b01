// Package converse implements the exchange with the brain: what is sent to it
// (requests, variables, capabilities), what it sends (segments, which contain
// text, tool calls, widgets and errors), and a turn over HTTP.
//
// Segments arrive as lines of a streamed reply or as deltas on the control
// socket, and are the same JSON objects (protocol §4.4 and §9.5): [Decode]
// reads both, and everything made of segments, [ParseCall], [Dispatcher],
// [Assembler], [Collector], works wherever they come from. [Client] does a turn
// over HTTP in three forms: Open for a caller that reads the reply itself, Stream to
// range over, Turn to wait for.
//
// It keeps no state between turns and must not depend on sessions, events or the
// socket. It is linked into the WebAssembly file for text only, so it must not import
// packages that would enlarge that file: regexp, net/http, text/template.
package converse

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/jsontext"
)

// Type is the type of a segment. The set is open: an unknown type is passed on,
// and is never an error (protocol §4.4.2).
type Type string

// The known segment types (protocol §4.4.2).
const (
	InitResponse     Type = "init_response"
	Think            Type = "think"
	Text             Type = "text"
	Avatar           Type = "avatar"
	AvatarFiller     Type = "avatar-filler"
	Tool             Type = "tool"
	ToolResponse     Type = "tool_response"
	WidgetPiece      Type = "unisphere-tool"
	Navigate         Type = "navigate" // sent by no service so far; pages have vetoes for it
	Share            Type = "share"
	Thread           Type = "thread"
	Error            Type = "error"
	Interruption     Type = "interruption"
	UserInterruption Type = "user-interruption"
	Keepalive        Type = "keepalive"
)

// Spoken reports whether t is text of the answer that is spoken or shown:
// exactly text, avatar and avatar-filler (protocol §4.4.2).
func (t Type) Spoken() bool { return t == Text || t == Avatar || t == AvatarFiller }

// Segment is one piece of brain output (protocol §4.4.1).
type Segment struct {
	Role string `json:"role"`
	Type Type   `json:"type"`

	// Content is a string for most types, and for spoken ones always; an object
	// for interruption, and sometimes for widgets and share.
	Content any `json:"content"` // what is not a string is a json.RawMessage

	SegmentNumber int     `json:"segmentNumber"` // position in the message
	Elapsed       float64 `json:"et"`            // seconds since the turn began

	SpeechID  string `json:"speechId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
	MessageID string `json:"messageId,omitempty"`

	SegmentStart bool `json:"segmentStart,omitempty"`
	SegmentEnd   bool `json:"segmentEnd,omitempty"`
	IsFinal      bool `json:"isFinal,omitempty"`

	// OpeningPhrase is set on the init_response of a live session only.
	OpeningPhrase string `json:"openingPhrase,omitempty"`

	Metadata     *Metadata     `json:"metadata,omitempty"`
	ToolMetadata *ToolMetadata `json:"tool_metadata,omitempty"`

	// Extra has the keys of the object without a field above, unchanged: the service may
	// add keys that an application can use before this runtime supports them.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Metadata describes widgets and interruptions (protocol §4.4.1).
type Metadata struct {
	WidgetName      string `json:"widgetName,omitempty"`
	RuntimeName     string `json:"runtimeName,omitempty"`
	Subtype         string `json:"subtype,omitempty"`
	ToolName        string `json:"tool_name,omitempty"`
	ToolDisplayName string `json:"tool_display_name,omitempty"`

	// Extra has the other keys, unchanged.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ToolMetadata describes a tool call (protocol §9.8).
type ToolMetadata struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Args            json.RawMessage `json:"args,omitempty"`
	Type            string          `json:"type"` // api, client, csv, code
	WaitForResponse bool            `json:"wait_for_response"`

	// Extra has the other keys, unchanged.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ContentString returns the content as text: a string as it is, any other value as
// its JSON, "" for none.
func (s *Segment) ContentString() string {
	switch content := s.Content.(type) {
	case string:
		return content
	case json.RawMessage:
		return string(content)
	case nil:
		return ""
	default: // of a segment that was made by hand
		text, _ := json.Marshal(content)
		return string(text)
	}
}

// Cut cuts a content that is text to [MaxText] characters, as the deltas of the
// control socket are (protocol §4.4). Tool calls and pieces of widgets stay
// whole: JSON that is cut can't be read.
func (s *Segment) Cut() {
	if _, widget := s.Runtime(); widget || s.Type == Tool {
		return
	}
	if text, ok := s.Content.(string); ok {
		s.Content = firstChars(text, MaxText)
	}
}

// keySize is about how much memory a key in Extra takes besides its text, in bytes.
const keySize = 64

// Size returns about how many bytes the values of s take whose length the service
// determines.
func (s *Segment) Size() int {
	n := len(s.Role) + len(s.Type) + len(s.ContentString()) + len(s.SpeechID) + len(s.ThreadID) + len(s.MessageID) +
		len(s.OpeningPhrase) + sizeOf(s.Extra)
	if m := s.Metadata; m != nil {
		n += len(m.WidgetName) + len(m.RuntimeName) + len(m.Subtype) + len(m.ToolName) + len(m.ToolDisplayName) + sizeOf(m.Extra)
	}
	if m := s.ToolMetadata; m != nil {
		n += len(m.ID) + len(m.Name) + len(m.Args) + len(m.Type) + sizeOf(m.Extra)
	}
	return n
}

func sizeOf(extra map[string]json.RawMessage) (n int) {
	for key, value := range extra {
		n += keySize + len(key) + len(value)
	}
	return n
}

// Decode reads a segment from its JSON text: a line of a streamed reply, or the
// delta of an event. A field of another type than expected stays empty and does not
// affect the others; keys without a field are kept in Extra; names and ids are cleaned
// by [Clean]. Control characters are removed from the content, which is not cut, because
// an answer over HTTP is kept whole (protocol §9.3); see [Segment.Cut]. The content of
// a spoken segment is always text. ok is false when text is no JSON object.
func Decode(text []byte) (s Segment, ok bool) { return decode(text, &Segment{}) }

// decode is Decode for the segment after last in the same reply. s shares the names and ids
// of last that have not changed, which saves a good part of the garbage.
func decode(text []byte, last *Segment) (s Segment, ok bool) {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	o := jsontext.Scan(text)
	for o.Next() {
		value := o.Value
		switch key := o.Key.Name(); string(key) {
		case "role":
			s.Role = cleanAgain(value, last.Role)
		case "type":
			s.Type = Type(cleanAgain(value, string(last.Type)))
		case "content":
			s.Content = contentOf(value)
		case "segmentNumber":
			s.SegmentNumber = integer(value.Raw)
		case "et":
			s.Elapsed = number(value.Raw)
		case "speechId":
			s.SpeechID = cleanAgain(value, last.SpeechID)
		case "threadId":
			s.ThreadID = cleanAgain(value, last.ThreadID)
		case "messageId":
			s.MessageID = cleanAgain(value, last.MessageID)
		case "segmentStart":
			s.SegmentStart = string(value.Raw) == "true"
		case "segmentEnd":
			s.SegmentEnd = string(value.Raw) == "true"
		case "isFinal":
			s.IsFinal = string(value.Raw) == "true"
		case "openingPhrase":
			s.OpeningPhrase = cleanString(value)
		case "metadata":
			s.Metadata = decodeMetadata(value.Raw)
		case "tool_metadata":
			s.ToolMetadata = decodeToolMetadata(value.Raw)
		default:
			keep(&s.Extra, key, value.Raw)
		}
	}
	if !o.Whole {
		return Segment{}, false
	}
	if s.Type.Spoken() {
		s.Content = s.ContentString()
	}
	return s, true
}

func decodeMetadata(raw json.RawMessage) *Metadata {
	if !isObject(raw) {
		return nil
	}
	var m Metadata
	for o := jsontext.Scan(raw); o.Next(); {
		value := o.Value
		switch key := o.Key.Name(); string(key) {
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
			keep(&m.Extra, key, value.Raw)
		}
	}
	return &m
}

func decodeToolMetadata(raw json.RawMessage) *ToolMetadata {
	if !isObject(raw) {
		return nil
	}
	var m ToolMetadata
	for o := jsontext.Scan(raw); o.Next(); {
		value := o.Value
		switch key := o.Key.Name(); string(key) {
		case "id":
			m.ID = cleanString(value)
		case "name":
			m.Name = cleanString(value)
		case "args":
			m.Args = bytes.Clone(value.Raw)
		case "type":
			m.Type = cleanString(value)
		case "wait_for_response":
			m.WaitForResponse = string(value.Raw) == "true"
		default:
			keep(&m.Extra, key, value.Raw)
		}
	}
	return &m
}

// isObject reports whether raw, which is valid JSON, is an object.
func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

func keep(extra *map[string]json.RawMessage, key []byte, value json.RawMessage) {
	if *extra == nil {
		*extra = map[string]json.RawMessage{}
	}
	(*extra)[string(key)] = bytes.Clone(value)
}

// cleanString returns the text of t, cleaned; "" if t is not a string.
func cleanString(t jsontext.Lexeme) string {
	text, _ := t.Text()
	if t.Plain {
		return firstChars(text, MaxText)
	}
	return Clean(text)
}

// cleanAgain is cleanString for a text that is likely to equal last.
func cleanAgain(t jsontext.Lexeme, last string) string {
	if t.Plain && string(t.Raw[1:len(t.Raw)-1]) == last {
		return last
	}
	return cleanString(t)
}

// number returns the number in raw; 0 if it is none, or beyond a float64.
func number(raw json.RawMessage) float64 {
	if n, ok := digits(raw); ok { // most are
		return float64(n)
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0
	}
	return n
}

// digits returns the number in raw if that has only digits, at most maxDigits.
func digits(raw json.RawMessage) (n int, ok bool) {
	if len(raw) == 0 || len(raw) > maxDigits {
		return 0, false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// integer returns the integer in raw, or 0 if it is none that JavaScript can represent
// exactly.
func integer(raw json.RawMessage) int {
	n := number(raw)
	if n != math.Trunc(n) || math.Abs(n) > maxInteger {
		return 0
	}
	return int(n)
}

// contentOf returns a content: a text without control characters, nil for null, or
// the JSON of any other value.
func contentOf(t jsontext.Lexeme) any {
	if text, ok := t.Text(); ok {
		if t.Plain {
			return text
		}
		return printable(text)
	}
	if string(t.Raw) == "null" {
		return nil
	}
	return json.RawMessage(bytes.Clone(t.Raw))
}

// Clean cuts s to [MaxText] characters and drops control characters except tab,
// line feed and carriage return (protocol §4.4). Invalid UTF-8 becomes U+FFFD.
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

// MaxText bounds a text of the control socket, and the names and ids of a segment,
// in characters; the rest is cut (protocol §4.4).
const MaxText = 8000

// maxInteger is the largest integer that JavaScript represents exactly.
const maxInteger = 1<<53 - 1
