package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// pushReply reports whether a pushed message was delivered.
type pushReply struct {
	// Delivered is false when the thread has no live session; the message is saved
	// anyway.
	Delivered bool   `json:"delivered"`
	MessageID string `json:"message_id"`
}

// threadPush puts a message into a thread, and lets its live sessions say it
// (service.md, Threads).
func (s *server) threadPush(c *call, body struct {
	ID            string         `json:"id"`
	Content       *string        `json:"content"`
	RequestVars   map[string]any `json:"request_vars"`
	SystemMessage bool           `json:"system_message"`
},
) (any, error) {
	switch {
	case body.ID == "":
		return nil, missing("id")
	case body.Content == nil:
		return nil, missing("content")
	case strings.TrimSpace(*body.Content) == "":
		return nil, invalid("string_too_short", "String should have at least 1 character", "content")
	}
	if err := dialogue.CheckVars(body.RequestVars); err != nil {
		return nil, invalid("value_error", err.Error(), "request_vars")
	}
	m, err := s.Dialogue.Push(c.ctx(), c.scope(), dialogue.Push{
		ThreadID: body.ID, Content: *body.Content, Vars: body.RequestVars, System: body.SystemMessage,
	})
	switch {
	case errors.Is(err, dialogue.ErrNoVariables):
		return nil, problem(http.StatusForbidden, "client variables are disabled: "+err.Error())
	case errors.Is(err, dialogue.ErrTooLong):
		return nil, invalid("string_too_long", err.Error(), "content")
	case err != nil && !errors.Is(err, store.ErrRepeated):
		return nil, err
	}
	reply := pushReply{MessageID: m.ID}
	if body.SystemMessage || err != nil { // not said, or said already
		reply.Delivered = s.Live.Attached(c.ctx(), m.ThreadID)
	} else {
		reply.Delivered = s.Live.Push(c.ctx(), m.ThreadID, m.ID, m.Text())
	}
	s.Logger.Info("message pushed", "thread", store.ThreadLabel(m.ThreadID), "message", m.ID, "delivered", reply.Delivered)
	return reply, nil
}
