package management

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// Followups reads suggested questions (service.md, "Messages, feedback, followups").
type Followups struct{ c *Client }

// Followup is a suggested question.
type Followup = visitor.Followup

// FollowupRecord is a stored question. service.md does not show it; docs/management.md
// describes the local service's.
type FollowupRecord struct {
	ID        string `json:"id"`
	Question  string `json:"question"`
	ThreadID  string `json:"thread_id,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	CreatedAt Time   `json:"created_at,omitempty"`
}

var followupList = listing{endpoint: endpoint{at: appinit.Genie, path: "/followup/list", again: harmless}}

// Suggested returns the questions that the account or the token's agent suggests for a
// start. They may differ from call to call, and there may be none.
func (f Followups) Suggested(ctx context.Context) ([]Followup, error) {
	return f.c.visitor().Followups(ctx)
}

// List iterates over the stored questions. It needs an admin token.
func (f Followups) List(ctx context.Context, opts ...Option) iter.Seq2[*FollowupRecord, error] {
	return list[FollowupRecord](ctx, f.c, followupList, query{Filter: typed{"GenieListQuestionFilter"}}, nil, opts)
}
