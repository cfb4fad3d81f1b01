package visitor

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/internal/fetch"
)

// Followup is a suggested question.
type Followup struct {
	Text string
	// Raw is the whole record: the text alone, as a rule.
	Raw json.RawMessage
}

// UnmarshalJSON reads a text, or a record with a question in it.
func (f *Followup) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) && json.Unmarshal(data, &f.Text) == nil {
		f.Raw = bytes.Clone(data)
		return nil
	}
	// service.md does not show this record; its filter names the field question.
	var record struct {
		Question string `json:"question"`
	}
	err := read(data, &record, &f.Raw)
	f.Text = record.Question
	return err
}

// MarshalJSON returns the service's record.
func (f Followup) MarshalJSON() ([]byte, error) { return write(f.Text, f.Raw) }

// Followups returns the agent's suggested first questions, which may differ from call to
// call. It may be called with a widget token too.
func (c *Client) Followups(ctx context.Context) ([]Followup, error) {
	followups := []Followup{}
	err := c.post(ctx, &fetch.Request{URL: "/followup/get-suggested-questions?new_response=true"}, struct{}{}, &followups)
	return followups, err
}

// Status has the abilities of a conversation with this token.
type Status struct {
	// AIConsent means that the visitor may talk to an AI.
	AIConsent bool `json:"aiConsent"`
	// Avatar describes the agent's avatar; see HasAvatar.
	Avatar json.RawMessage `json:"avatar"`
	// IdentifiedUser means that the token has a user id.
	IdentifiedUser bool `json:"identifiedUser"`
	// Raw is the whole reply.
	Raw json.RawMessage `json:"-"`
}

// HasAvatar reports whether the agent has an avatar.
func (s *Status) HasAvatar() bool { return len(s.Avatar) > 0 && string(s.Avatar) != "null" }

// UnmarshalJSON reads the known fields and keeps the reply.
func (s *Status) UnmarshalJSON(data []byte) error {
	type fields Status
	return read(data, (*fields)(s), &s.Raw)
}

// MarshalJSON returns the service's reply.
func (s Status) MarshalJSON() ([]byte, error) {
	type fields Status
	return write(fields(s), s.Raw)
}

// Status returns the assistant's status. It may be called with a widget token
// too.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	err = c.call(ctx, &fetch.Request{Method: "GET", URL: "/assistant/status"}, &s)
	return s, err
}
