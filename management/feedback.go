package management

import (
	"context"
	"encoding/json"
)

// Feedback reads and gives ratings of answers (service.md, "Messages, feedback,
// followups").
type Feedback struct{ c *Client }

// FeedbackRow is a rating. Comments are texts of end users.
type FeedbackRow struct {
	MessageID  string `json:"message_id"`
	ThreadID   string `json:"thread_id"`
	GenieID    string `json:"genie_id"`
	UserID     string `json:"user_id"`
	IsPositive bool   `json:"is_positive"`
	Comment    string `json:"comment"`
	// CreatedAt and UpdatedAt are the times of the message if the service does not return
	// those of the rating.
	CreatedAt Time `json:"created_at"`
	UpdatedAt Time `json:"updated_at"`
}

// FeedbackFilter selects ratings that meet all conditions; a zero field is no condition.
type FeedbackFilter struct {
	MessageID  string
	MessageIDs []string
	ThreadID   string
	// AgentID selects the ratings in threads that were opened with a token of that agent,
	// which takes at least one request for each thread.
	AgentID string
	// Positive selects one of the two ratings.
	Positive *bool
}

// FeedbackInput is a rating to give.
type FeedbackInput struct {
	MessageID  string `json:"message_id"`
	IsPositive bool   `json:"is_positive"`
	Comment    string `json:"comment,omitempty"`
}

// Add rates an answer. The same rating again changes nothing, the opposite one replaces
// it. Errors: bad_request for an empty id; not_found or forbidden when the message can't
// be read.
func (f Feedback) Add(ctx context.Context, in FeedbackInput) error {
	return f.c.visitor().AddFeedback(ctx, in.MessageID, in.IsPositive, in.Comment)
}

// List returns the ratings that the filter selects. There is no endpoint for it: it reads
// all pages of the messages, and for an agent its threads first. Without a message,
// thread or agent it reads every message of the account. It needs an admin token.
func (f Feedback) List(ctx context.Context, filter FeedbackFilter) ([]FeedbackRow, error) {
	if t, ok := ctx.Value(tokenKey{}).(Token); ok {
		if err := forAdmin.check(t, messageList.path); err != nil {
			return nil, err
		}
	}
	messages := MessageFilter{
		ID: filter.MessageID, IDs: filter.MessageIDs, ThreadID: filter.ThreadID, Positive: filter.Positive,
	}
	rows := []FeedbackRow{}
	if filter.AgentID == "" {
		return f.rated(ctx, messages, rows)
	}
	threads := ThreadFilter{AgentID: filter.AgentID, ID: filter.ThreadID}
	for thread, err := range f.c.Threads.List(ctx, threads, PageSize(MaxPageSize)) {
		if err != nil {
			return nil, err
		}
		messages.ThreadID = thread.ID
		if rows, err = f.rated(ctx, messages, rows); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// rated appends the ratings among the messages to rows.
func (f Feedback) rated(ctx context.Context, messages MessageFilter, rows []FeedbackRow) ([]FeedbackRow, error) {
	for m, err := range f.c.Messages.List(ctx, messages, PageSize(MaxPageSize)) {
		if err != nil {
			return nil, err
		}
		if m.IsPositive == nil {
			continue
		}
		row := FeedbackRow{m.ID, m.ThreadID, string(m.GenieID), m.UserID, *m.IsPositive, m.Comment, m.CreatedAt, m.UpdatedAt}
		var record struct {
			Feedback *FeedbackRow `json:"feedback"`
		}
		if json.Unmarshal(m.Raw, &record) == nil && record.Feedback != nil {
			row = *record.Feedback
		}
		rows = append(rows, row)
	}
	return rows, nil
}
