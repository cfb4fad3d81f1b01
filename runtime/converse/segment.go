// Package converse is the brain's side of a conversation: what it is told
// (requests, variables, capabilities), what it says (segments, and what they
// carry: text, tool calls, widgets, errors), and a turn over HTTP.
//
// Segments arrive as lines of a streamed reply or as deltas on the control
// socket, and are the same JSON objects (wire-protocol §4.4 and §9.5): [Decode]
// reads both, and everything made of segments, [ParseCall], [Dispatcher],
// [Assembler], [Collector], works wherever they come from. [Brain] does a turn
// over HTTP in three forms: Open for who reads it himself, Stream to range over,
// Once to wait for.
//
// It keeps no state between turns and must not know sessions, events or the
// socket. It is linked into the page that has text only, so it must not import
// what is heavy there: regexp, net/http, text/template.
package converse

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Type names what a segment is. The set is open: an unknown type is passed on,
// never an error (wire-protocol §4.4.2).
type Type string

// The known segment types (wire-protocol §4.4.2).
const (
	InitResponse     Type = "init_response"
	Think            Type = "think"
	Text             Type = "text"
	Avatar           Type = "avatar"
	AvatarFiller     Type = "avatar-filler"
	Tool             Type = "tool"
	ToolResponse     Type = "tool_response"
	WidgetPiece      Type = "unisphere-tool"
	Share            Type = "share"
	Thread           Type = "thread"
	Error            Type = "error"
	Interruption     Type = "interruption"
	UserInterruption Type = "user-interruption"
	Keepalive        Type = "keepalive"
)

// Spoken reports whether t is text that a person hears or reads as the answer:
// exactly text, avatar and avatar-filler (wire-protocol §4.4.2).
func (t Type) Spoken() bool { return t == Text || t == Avatar || t == AvatarFiller }

// Segment is one piece of brain output (wire-protocol §4.4.1).
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

	// Extra holds the keys of the object that have no field above, as they came:
	// the service may add keys that an application knows before this runtime does.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Metadata describes widgets and interruptions (wire-protocol §4.4.1).
type Metadata struct {
	WidgetName      string `json:"widgetName,omitempty"`
	RuntimeName     string `json:"runtimeName,omitempty"`
	Subtype         string `json:"subtype,omitempty"`
	ToolName        string `json:"tool_name,omitempty"`
	ToolDisplayName string `json:"tool_display_name,omitempty"`

	// Extra holds the other keys, as they came.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ToolMetadata describes a tool call (wire-protocol §9.8).
type ToolMetadata struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Args            json.RawMessage `json:"args,omitempty"`
	Type            string          `json:"type"` // api, client, csv, code
	WaitForResponse bool            `json:"wait_for_response"`

	// Extra holds the other keys, as they came.
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
// control socket are (wire-protocol §4.4). Tool calls and pieces of widgets stay
// whole: JSON that is cut can't be read.
func (s *Segment) Cut() {
	if _, widget := s.Runtime(); widget || s.Type == Tool {
		return
	}
	if text, ok := s.Content.(string); ok {
		s.Content = firstChars(text, MaxText)
	}
}

// keySize is about what a key that has no field takes beside its text, in bytes.
const keySize = 64

// Size is about how many bytes s takes of what its service decides on.
func (s *Segment) Size() int {
	n := len(s.Role) + len(s.Type) + len(s.ContentString()) + len(s.SpeechID) + len(s.ThreadID) + len(s.MessageID) +
		len(s.OpeningPhrase) + members(s.Extra).size()
	if m := s.Metadata; m != nil {
		n += len(m.WidgetName) + len(m.RuntimeName) + len(m.Subtype) + len(m.ToolName) + len(m.ToolDisplayName) + members(m.Extra).size()
	}
	if m := s.ToolMetadata; m != nil {
		n += len(m.ID) + len(m.Name) + len(m.Args) + len(m.Type) + members(m.Extra).size()
	}
	return n
}

// Decode reads a segment from its JSON text: a line of a streamed reply, or the
// delta of an event. A field of another type than expected stays empty and
// costs the others nothing; keys without a field are kept in Extra; names and ids
// are cleaned by [Clean], and content loses its control characters, but keeps its
// length: an answer over HTTP is as long as it is (wire-protocol §9.3), see
// [Segment.Cut]. The content of a spoken segment is always text. ok is false when
// text is no JSON object, and the caller decides what that is.
func Decode(text []byte) (s Segment, ok bool) {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	m, ok := decodeMembers(text)
	if !ok {
		return Segment{}, false
	}
	s = Segment{
		Role: m.text("role"), Type: Type(m.text("type")), Content: m.content("content"),
		SegmentNumber: m.integer("segmentNumber"), Elapsed: m.number("et"),
		SpeechID: m.text("speechId"), ThreadID: m.text("threadId"), MessageID: m.text("messageId"),
		SegmentStart: m.isTrue("segmentStart"), SegmentEnd: m.isTrue("segmentEnd"), IsFinal: m.isTrue("isFinal"),
		OpeningPhrase: m.text("openingPhrase"),
	}
	if data, ok := decodeMembers(m.take("metadata")); ok {
		s.Metadata = &Metadata{
			WidgetName: data.text("widgetName"), RuntimeName: data.text("runtimeName"), Subtype: data.text("subtype"),
			ToolName: data.text("tool_name"), ToolDisplayName: data.text("tool_display_name"), Extra: data.rest(),
		}
	}
	if data, ok := decodeMembers(m.take("tool_metadata")); ok {
		s.ToolMetadata = &ToolMetadata{
			ID: data.text("id"), Name: data.text("name"), Args: data.take("args"), Type: data.text("type"),
			WaitForResponse: data.isTrue("wait_for_response"), Extra: data.rest(),
		}
	}
	s.Extra = m.rest()
	if s.Type.Spoken() {
		s.Content = s.ContentString()
	}
	return s, true
}

// members are members of a JSON object by name, as they were written.
type members map[string]json.RawMessage

// decodeMembers reads a JSON object; ok is false for anything else. It doesn't
// descend into values, so their depth costs no stack.
func decodeMembers(text []byte) (m members, ok bool) {
	return m, len(text) > 0 && json.Unmarshal(text, &m) == nil && m != nil
}

func (m members) size() (n int) {
	for key, value := range m {
		n += keySize + len(key) + len(value)
	}
	return n
}

// take removes a member and returns its value, nil for none.
func (m members) take(key string) json.RawMessage {
	value := m[key]
	delete(m, key)
	return value
}

// rest returns the members that were not taken, nil for none.
func (m members) rest() members {
	if len(m) == 0 {
		return nil
	}
	return m
}

// text takes a text and cleans it; "" for a value of another type.
func (m members) text(key string) string {
	text, _ := unquote(m.take(key))
	return Clean(text)
}

func (m members) isTrue(key string) bool { return string(m.take(key)) == "true" }

// number takes a number; 0 for another type, and for one beyond a float64.
func (m members) number(key string) float64 {
	n, err := strconv.ParseFloat(string(m.take(key)), 64)
	if err != nil {
		return 0
	}
	return n
}

// integer takes an integer, 0 for one that JavaScript has no exact number for.
func (m members) integer(key string) int {
	n := m.number(key)
	if n != math.Trunc(n) || math.Abs(n) > maxInteger {
		return 0
	}
	return int(n)
}

func (m members) content(key string) any {
	value := m.take(key)
	if text, ok := unquote(value); ok {
		return printable(text)
	}
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	return value
}

// unquote returns the text of a JSON string. Most have nothing to decode, and
// encoding/json would take a good part of the time that a segment costs.
func unquote(value json.RawMessage) (text string, ok bool) {
	switch {
	case len(value) == 0 || value[0] != '"':
		return "", false
	case bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1]), true
	}
	return text, json.Unmarshal(value, &text) == nil
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

// MaxText bounds a text of the control socket, and the names and ids of a segment,
// in characters; the rest is cut (wire-protocol §4.4).
const MaxText = 8000

// maxInteger is the largest integer that JavaScript holds without loss.
const maxInteger = 1<<53 - 1
