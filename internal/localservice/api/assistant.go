package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
)

// empty is the reply {}.
type empty struct{}

func (s *server) assistantRoutes(mux routes) {
	mux.Handle("POST /assistant/converse", s.route(talkers, withBody(s.converse)))
	mux.Handle("POST /assistant/tool_response", s.route(talkers, withBody(s.toolResponse)))
	mux.Handle("POST /assistant/abort", s.route(talkers, withBody(s.abort)))
	mux.Handle("GET /assistant/status", s.route(talkers, s.status))
}

// toolResponse takes a page's answer to a blocking tool (protocol §9.8).
func (s *server) toolResponse(c *call, body struct {
	Name         *string         `json:"tool_name"`
	ID           *string         `json:"tool_id"`
	InvocationID *string         `json:"tool_invocation_id"`
	Response     json.RawMessage `json:"response"`
},
) (any, error) {
	switch {
	case body.Name == nil:
		return nil, missing("tool_name")
	case body.ID == nil:
		return nil, missing("tool_id")
	case body.InvocationID == nil:
		return nil, missing("tool_invocation_id")
	case body.Response == nil:
		return nil, missing("response")
	case body.Response[0] != '{':
		return nil, invalid("dict_type", "Input should be a valid dictionary", "response")
	}
	err := s.Dialogue.ToolResponse(c.scope(), dialogue.ToolAnswer{
		Name: *body.Name, ID: *body.ID, InvocationID: *body.InvocationID, Response: body.Response,
	})
	if errors.Is(err, dialogue.ErrUnknownCall) {
		return nil, problem(http.StatusNotFound, err.Error())
	}
	return empty{}, err
}

// abort stops the turn that runs on a thread. It replies {} even when no turn runs,
// because the turn may have just ended by itself (local-service choice E4).
func (s *server) abort(c *call, body struct {
	ThreadID string `json:"threadId"`
},
) (any, error) {
	if body.ThreadID == "" {
		return nil, missing("threadId")
	}
	s.Dialogue.Abort(c.scope(), body.ThreadID)
	return empty{}, nil
}

// statusReply is the reply of status; Avatar is nil when the agent has none.
type statusReply struct {
	AIConsent      bool          `json:"aiConsent"`
	Avatar         *statusAvatar `json:"avatar"`
	IdentifiedUser bool          `json:"identifiedUser"`
}

type statusAvatar struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// status reports the agent's avatar and whether the token names a user. This service
// does not ask for consent to AI, so AIConsent is always true.
func (s *server) status(c *call) (any, error) {
	who, err := s.Dialogue.Caller(c.ctx(), c.claims)
	if err != nil {
		return nil, err
	}
	reply := statusReply{AIConsent: true, IdentifiedUser: c.claims.UserID != ""}
	if a := who.Agent.Profile.Avatar; a != nil {
		reply.Avatar = &statusAvatar{ID: a.ID, Name: cmp.Or(a.Name, who.Agent.Profile.DisplayName)}
	}
	return reply, nil
}
