package visitor

import (
	"context"
	"iter"
	"maps"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// MessageQuery selects messages.
//
// The keys of its filter are
// createdAtGreaterThanOrEqual, createdAtLessThanOrEqual, genieIdEquals,
// idEquals, idsIn, isPositiveEquals, isPositiveIn, orderBy, threadIdEquals,
// updatedAtGreaterThanOrEqual, updatedAtLessThanOrEqual and userIdEquals.
type MessageQuery struct {
	// ThreadID selects the messages of one thread. It overrides the filter's
	// threadIdEquals.
	ThreadID string `json:"threadId"`
	Filter   Filter `json:"filter" ts:"MessageFilter"`
	Pager    Pager  `json:"pager" ts:"Pager"`
}

// filter returns q's filter with the thread in it.
func (q *MessageQuery) filter() Filter {
	if q.ThreadID == "" {
		return q.Filter
	}
	filter := Filter{}
	maps.Copy(filter, q.Filter)
	filter["threadIdEquals"] = q.ThreadID
	return filter
}

var messages = listing{"/message/list", "GenieListMessageFilter", messageKeys, MessagePageSize}

// Messages returns one page of the messages in the visitor's threads.
func (c *Client) Messages(ctx context.Context, q MessageQuery) (Page[Message], error) {
	body, err := messages.body(q.filter(), q.Pager)
	if err != nil {
		return Page[Message]{}, err
	}
	return page[Message](ctx, c, &messages, body)
}

// AllMessages yields the messages of q's page and of all pages after it, like
// [Client.AllThreads].
func (c *Client) AllMessages(ctx context.Context, q MessageQuery) iter.Seq2[Message, error] {
	return all[Message](ctx, c, &messages, q.filter(), q.Pager)
}

// Message returns a message of one of the visitor's threads, or a shared one. The
// error is not_found or forbidden when it can't be read.
func (c *Client) Message(ctx context.Context, id string) (m Message, err error) {
	if err = required("the message's id", id); err == nil {
		err = c.personal(ctx, &fetch.Request{URL: "/message/get"}, idBody{id}, &m)
	}
	return m, err
}

// Shared names a copy of a message.
type Shared struct {
	// NewMessageID is the copy's id, for [Client.Message].
	NewMessageID string `json:"newMessageId"`
}

// ShareMessage makes a copy of a message under a title of its own, which other
// users can read. A copy can't be deleted. The error is server_error when the
// service returns no id of the copy.
func (c *Client) ShareMessage(ctx context.Context, id, newTitle string) (Shared, error) {
	const path = "/message/share"
	if err := required("the message's id", id); err != nil {
		return Shared{}, err
	}
	var reply struct {
		Data Shared `json:"data"`
	}
	err := c.personal(ctx, &fetch.Request{URL: path, Once: true}, struct { // a repetition makes another copy
		ID       string `json:"id"`
		NewTitle string `json:"newTitle"`
	}{id, newTitle}, &reply)
	if err == nil && reply.Data.NewMessageID == "" {
		err = fault.New(fault.ServerError, "the service returned no id of the copy").At(path)
	}
	return reply.Data, err
}

// feedbackSchema is the version of feedback's body (service.md "Versioning").
const feedbackSchema = 1

// AddFeedback rates an answer, whose id came with its segments; comment may be
// empty. A repeated rating changes nothing, the opposite one replaces it. It
// may be called with a widget token too.
func (c *Client) AddFeedback(ctx context.Context, messageID string, positive bool, comment string) error {
	if err := required("the message's id", messageID); err != nil {
		return err
	}
	type data struct {
		MessageID  string `json:"message_id"`
		IsPositive bool   `json:"is_positive"`
		Comment    string `json:"comment,omitempty"`
	}
	return c.post(ctx, &fetch.Request{URL: "/feedback/add", Repeatable: true}, struct { // a repeated rating has no effect
		SchemaVersion int  `json:"schemaVersion"`
		Data          data `json:"data"`
	}{feedbackSchema, data{messageID, positive, comment}}, nil)
}
