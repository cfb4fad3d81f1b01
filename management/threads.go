package management

import (
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
	threadList       = listing{endpoint: endpoint{at: appinit.Genie, path: "/v1/thread/list", scope: forUsers, again: harmless}}
	threadGet        = endpoint{at: appinit.Genie, path: "/v1/thread/get", scope: forUsers, again: harmless}
	threadUpdate     = endpoint{at: appinit.Genie, path: "/v1/thread/update", scope: forUsers, again: harmless}
	threadDelete     = endpoint{at: appinit.Genie, path: "/v1/thread/delete", scope: forUsers}
	threadTranscript = endpoint{at: appinit.Genie, path: "/v1/thread/get_transcripts", scope: forUsers, again: harmless}
	threadPush       = endpoint{at: appinit.Genie, path: "/thread/push"}
	threadCompleted  = endpoint{at: appinit.Genie, path: "/thread/session_completed", scope: forUsers, again: harmless}
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
	return t.one(ctx, threadGet, id, withID(id))
}

// Rename gives a thread a title and returns the thread. Errors: those of Get, and
// bad_request for an empty title.
func (t Threads) Rename(ctx context.Context, id, title string) (*Thread, error) {
	if err := required("the title", title); err != nil {
		return nil, err
	}
	return t.one(ctx, threadUpdate, id, map[string]string{"id": id, "title": title})
}

// SetAnalysis merges values into the analysis of a thread, key by key, and returns the
// thread. A key whose value changes fires analysis_updated; values that change nothing
// fire nothing. Errors: those of Get, and bad_request without values.
func (t Threads) SetAnalysis(ctx context.Context, id string, values map[string]any) (*Thread, error) {
	if len(values) == 0 {
		return nil, badRequest("the analysis needs at least one key; ClearAnalysis removes all")
	}
	return t.metadata(ctx, id, map[string]any{"analysis": values})
}

// ClearAnalysis empties the analysis of a thread and returns the thread.
func (t Threads) ClearAnalysis(ctx context.Context, id string) (*Thread, error) {
	return t.metadata(ctx, id, map[string]any{})
}

func (t Threads) metadata(ctx context.Context, id string, metadata map[string]any) (*Thread, error) {
	return t.one(ctx, threadUpdate, id, map[string]any{"id": id, "thread_metadata": metadata})
}

func (t Threads) one(ctx context.Context, e endpoint, id string, body any) (*Thread, error) {
	if err := required("the id of a thread", id); err != nil {
		return nil, err
	}
	thread := new(Thread) // a reply without an id does not decode
	if err := t.c.post(ctx, e, body, thread); err != nil {
		return nil, err
	}
	return thread, nil
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
	if err := firstError(required("the id of a thread", id), required("the content", in.Content)); err != nil {
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
	if len(ids) == 0 {
		return nil, badRequest("name at least one thread")
	}
	if err := firstError(uniqueIDs("thread_ids", ids), settingsOf(opts).confirm("a thread")); err != nil {
		return nil, err
	}
	return objects[Thread](ctx, t.c, threadDelete, map[string]any{"thread_ids": ids}, opts...)
}

// Transcript returns what was said in a thread, one turn per line. Errors are those of
// Get.
func (t Threads) Transcript(ctx context.Context, id string) (Transcript, error) {
	if err := required("the id of a thread", id); err != nil {
		return Transcript{}, err
	}
	var reply struct {
		Data *string `json:"data"`
	}
	if err := t.c.post(ctx, threadTranscript, withID(id), &reply); err != nil {
		return Transcript{}, err
	}
	if reply.Data == nil {
		return Transcript{}, fault.New(fault.InvalidResponse, "the reply has no transcript").At(threadTranscript.path)
	}
	return visitor.ParseTranscript(*reply.Data), nil
}

// Complete reports the end of a conversation to the service, so that the rules for it
// run at once. The session classes do that automatically; repeating it is harmless.
func (t Threads) Complete(ctx context.Context, id string) error {
	if err := required("the id of a thread", id); err != nil {
		return err
	}
	return t.c.post(ctx, threadCompleted, withID(id), nil)
}
