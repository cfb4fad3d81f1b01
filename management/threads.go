package management

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// Threads reads and changes stored dialogues (service.md, "Threads"). A conversation or
// agent token ([WithToken]) gives access to those of its user only; a widget token fails
// with wrong_token_scope.
type Threads struct{ c *Client }

// Thread is a stored dialogue.
type Thread = visitor.Thread

// Transcript is a thread as plain text.
type Transcript = visitor.Transcript

// ThreadFilter selects threads that meet all conditions; a zero field is no condition.
// There is no condition for several agents: list the threads of each.
type ThreadFilter struct {
	AgentID   string   `json:"agentIdEquals,omitempty"`
	ContextID string   `json:"contextIdEqual,omitempty"`
	ID        string   `json:"idEquals,omitempty"`
	IDs       []string `json:"idsIn,omitempty"`
	PartnerID int64    `json:"partnerIdEquals,omitempty"`
	Status    string   `json:"statusEquals,omitempty"`
	Statuses  []string `json:"statusIn,omitempty"`
	// UserID selects the threads of one user; a pointer to "" selects those of anonymous
	// visitors.
	UserID      *string   `json:"userIdEquals,omitempty"`
	Everywhere  bool      `json:"isEverywhere,omitempty"`
	CreatedFrom time.Time `json:"createdAtGreaterThanOrEqual,omitzero"`
	CreatedTo   time.Time `json:"createdAtLessThanOrEqual,omitzero"`
	UpdatedFrom time.Time `json:"updatedAtGreaterThanOrEqual,omitzero"`
	UpdatedTo   time.Time `json:"updatedAtLessThanOrEqual,omitzero"`
	// OrderBy is +createdAt, -createdAt, +updatedAt or -updatedAt; default the
	// service's.
	OrderBy string `json:"orderBy,omitempty"`
}

var (
	threadList      = listing{endpoint: endpoint{at: appinit.Genie, path: "/v1/thread/list", scope: forUsers, again: harmless}}
	threadPush      = endpoint{at: appinit.Genie, path: "/thread/push"}
	threadCompleted = endpoint{at: appinit.Genie, path: "/thread/session_completed", scope: forUsers, again: harmless}
)

// List iterates over the threads that f selects. Error: bad_request for an unknown order.
func (t Threads) List(ctx context.Context, f ThreadFilter, opts ...Option) iter.Seq2[*Thread, error] {
	filter := struct {
		typed
		ThreadFilter
	}{typed{"ListThreadFilter"}, f}
	return list[Thread](ctx, t.c, threadList, query{Filter: filter}, checkOrder(f.OrderBy), opts)
}

// Get reads a thread. Errors: bad_request for an empty id; not_found, for another user's
// thread too.
func (t Threads) Get(ctx context.Context, id string) (*Thread, error) {
	return pointer(t.c.visitor().Thread(ctx, id))
}

// Rename gives a thread a title and returns the thread. Errors: those of Get, and
// bad_request for an empty title.
func (t Threads) Rename(ctx context.Context, id, title string) (*Thread, error) {
	if err := required("the title", title); err != nil {
		return nil, err
	}
	return pointer(t.c.visitor().RenameThread(ctx, id, title))
}

// SetAnalysis merges values into the analysis of a thread, key by key, and returns the
// thread. A key whose value changes fires analysis_updated; values that change nothing
// fire nothing. Errors: those of Get, and bad_request without values.
func (t Threads) SetAnalysis(ctx context.Context, id string, values map[string]any) (*Thread, error) {
	return pointer(t.c.visitor().SetAnalysis(ctx, id, values))
}

// ClearAnalysis empties the analysis of a thread and returns the thread.
func (t Threads) ClearAnalysis(ctx context.Context, id string) (*Thread, error) {
	return pointer(t.c.visitor().ClearAnalysis(ctx, id))
}

// PushInput is a message to put into a thread.
type PushInput struct {
	// Content is what the agent says; required.
	Content string `json:"content"`
	// RequestVars are variables of the prompt: strings, numbers, booleans and nil.
	RequestVars map[string]any `json:"request_vars,omitempty"`
	// SystemMessage means that the message is for the model only and is not spoken.
	SystemMessage bool `json:"system_message,omitempty"`
}

// Pushed is the result of [Threads.Push].
type Pushed struct {
	// Delivered is false when the thread has no live session. The message is saved
	// anyway, and listed among the thread's messages.
	Delivered bool `json:"delivered"`
	// MessageID is the id of the saved message, "" if the service does not return it.
	MessageID string `json:"message_id,omitempty"`
}

// Push puts a message into a thread; a live session says it at once. It needs an admin
// token. Errors: bad_request for an empty id or content, validation_error for a variable
// that is reserved or not a scalar, not_found.
func (t Threads) Push(ctx context.Context, id string, in PushInput, opts ...Option) (Pushed, error) {
	if err := cmp.Or(required("the id of a thread", id), required("the content", in.Content)); err != nil {
		return Pushed{}, err
	}
	if _, err := converse.CheckVars(in.RequestVars); err != nil {
		return Pushed{}, err
	}
	var reply struct {
		Pushed
		Delivered *bool `json:"delivered"`
	}
	err := t.c.post(ctx, threadPush, struct {
		ID string `json:"id"`
		PushInput
	}{id, in}, &reply, opts...)
	if err != nil {
		return Pushed{}, err
	}
	if reply.Delivered == nil {
		return Pushed{}, fault.New(fault.InvalidResponse, "the reply does not say whether the message was delivered").At(threadPush.path)
	}
	return Pushed{*reply.Delivered, reply.MessageID}, nil
}

// Delete deletes threads with their messages, and returns those that it deleted: ids that
// do not exist, and those of other users, are left out without an error. Errors:
// bad_request without ids, confirmation_required without [ConfirmPermanent].
func (t Threads) Delete(ctx context.Context, ids []string, opts ...Option) ([]Thread, error) {
	if err := cmp.Or(uniqueIDs("thread_ids", ids), settingsOf(opts).confirm("a thread")); err != nil {
		return nil, err
	}
	deleted, err := t.c.visitor(opts...).DeleteThreads(ctx, ids...)
	return deleted.Objects, err
}

// Transcript returns what was said in a thread, one turn per line. Errors are those of
// Get.
func (t Threads) Transcript(ctx context.Context, id string) (Transcript, error) {
	return t.c.visitor().Transcript(ctx, id)
}

// Complete reports the end of a conversation to the service, so that the rules for it
// run at once. The session classes do that automatically; repeating it is harmless.
func (t Threads) Complete(ctx context.Context, id string) error {
	if err := required("the id of a thread", id); err != nil {
		return err
	}
	return t.c.post(ctx, threadCompleted, withID(id), nil)
}
