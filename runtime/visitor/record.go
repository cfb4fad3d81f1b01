package visitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Thread is a stored dialogue of the visitor (service.md "Thread").
type Thread struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Status    string `json:"status"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
	// AgentID is "default" when the token that opened the thread names no agent.
	AgentID  string         `json:"agent_id"`
	Metadata ThreadMetadata `json:"thread_metadata"`
	// Raw is the whole record.
	Raw json.RawMessage `json:"-"`
}

// ThreadMetadata is the service's analysis of a thread.
type ThreadMetadata struct {
	Analysis map[string]any `json:"analysis"`
}

// Message is a message of a thread, or a shared copy of one.
type Message struct {
	ID       string `json:"id"`
	ThreadID string `json:"thread_id"` // "" for a shared copy
	UserID   string `json:"user_id"`
	// GenieID is the number of the brain configuration.
	GenieID ID `json:"genie_id"`
	// Type is the author: human, ai or opening (protocol §9.5).
	Type string `json:"type"`
	// Title is the title of a shared copy.
	Title string `json:"title"`
	// IsPositive is the visitor's rating, nil if there is none.
	IsPositive *bool  `json:"is_positive"`
	Comment    string `json:"comment"` // of the rating
	CreatedAt  Time   `json:"created_at"`
	UpdatedAt  Time   `json:"updated_at"`
	// Unfinished marks an answer that is still being given, or that the service broke off.
	// Only the local service sets it.
	Unfinished bool `json:"unfinished"`
	// Segments are the content, in the form in which it was streamed.
	Segments Segments `json:"content"`
	// Raw is the whole record.
	Raw json.RawMessage `json:"-"`
}

// Text returns the text of the message, without its widgets.
func (m *Message) Text() string {
	var text strings.Builder
	for i := range m.Segments {
		if s := &m.Segments[i]; s.Type.Spoken() {
			text.WriteString(s.ContentString())
		}
	}
	return text.String()
}

// Segments are the content of a stored message.
type Segments []converse.Segment

// UnmarshalJSON reads a list of segments, or plain text; anything else becomes empty.
func (s *Segments) UnmarshalJSON(data []byte) error {
	var text string
	var parts []json.RawMessage
	var list []converse.Segment
	switch {
	case json.Unmarshal(data, &parts) == nil:
		for _, part := range parts {
			if segment, ok := converse.Decode(part); ok {
				list = append(list, segment)
			}
		}
	case json.Unmarshal(data, &text) == nil && text != "":
		list = []converse.Segment{{Type: converse.Text, Content: text}}
	}
	*s = list
	return nil
}

// Errors of records; a reply that contains such a record becomes an invalid_response.
var (
	errNoObject  = errors.New("a record that is not an object")
	errNoThread  = errors.New("a thread without an id")
	errNoMessage = errors.New("a message without an id")
)

func (t Thread) key() string { return t.ID }

func (m Message) key() string { return m.ID }

// UnmarshalJSON reads the known fields and keeps the record.
func (t *Thread) UnmarshalJSON(data []byte) error {
	type fields Thread
	if err := read(data, (*fields)(t), &t.Raw); err != nil {
		return err
	}
	if t.ID == "" {
		return errNoThread
	}
	return nil
}

// MarshalJSON returns the service's record.
func (t Thread) MarshalJSON() ([]byte, error) {
	type fields Thread
	return write(fields(t), t.Raw)
}

// UnmarshalJSON reads the known fields and keeps the record.
func (m *Message) UnmarshalJSON(data []byte) error {
	type fields Message
	if err := read(data, (*fields)(m), &m.Raw); err != nil {
		return err
	}
	// A rating of another type leaves a pointer to false, which must not be taken for
	// a negative rating.
	var record struct {
		IsPositive json.RawMessage `json:"is_positive"`
	}
	_ = json.Unmarshal(data, &record) // data is valid, it was read above
	m.IsPositive = nil
	switch string(record.IsPositive) {
	case "true":
		m.IsPositive = new(true)
	case "false":
		m.IsPositive = new(false)
	}
	if m.ID == "" {
		return errNoMessage
	}
	return nil
}

// MarshalJSON returns the service's record.
func (m Message) MarshalJSON() ([]byte, error) {
	type fields Message
	return write(fields(m), m.Raw)
}

// read decodes a record into fields, and keeps it in raw. A field of
// another type stays empty, because service.md documents few types; encoding/json
// continues after such an error. A record that is not an object is an error, because
// pages could not read its fields.
func read(data []byte, fields any, raw *json.RawMessage) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return errNoObject
	}
	*raw = bytes.Clone(data)
	err := json.Unmarshal(data, fields)
	if mismatch := new(json.UnmarshalTypeError); errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// write encodes a record: raw, or its fields when it did not come from the service.
func write(fields any, raw json.RawMessage) ([]byte, error) {
	if raw != nil {
		return raw, nil
	}
	return json.Marshal(fields)
}

// ID is an id that is a number or a text on the wire.
type ID string

// UnmarshalJSON reads either form.
func (id *ID) UnmarshalJSON(data []byte) error {
	var text string
	var number json.Number
	switch {
	case json.Unmarshal(data, &text) == nil:
		*id = ID(text)
	case json.Unmarshal(data, &number) == nil:
		*id = ID(number)
	}
	return nil
}

// Time is a time of a record as the service wrote it: RFC 3339 or a number.
type Time string

// UnmarshalJSON reads either form.
func (t *Time) UnmarshalJSON(data []byte) error { return (*ID)(t).UnmarshalJSON(data) }

// naive is RFC 3339 without the offset, as Python writes a time in UTC.
const naive = "2006-01-02T15:04:05.999999999"

// milliseconds is the least number that is taken for milliseconds instead of
// seconds since 1970: as seconds it would be in the year 5138.
const milliseconds = 1e11

// Time returns t as a time.Time. It reads RFC 3339, with or without an offset, and seconds
// or milliseconds since 1970, because service.md doesn't specify the form. It returns the
// zero time for any other text.
func (t Time) Time() time.Time {
	for _, layout := range [...]string{time.RFC3339, naive} {
		if parsed, err := time.Parse(layout, string(t)); err == nil {
			return parsed
		}
	}
	switch number, err := strconv.ParseFloat(string(t), 64); {
	case err != nil:
		return time.Time{}
	case number >= milliseconds:
		return time.UnixMilli(int64(number))
	default:
		return time.UnixMilli(int64(number * 1000))
	}
}
