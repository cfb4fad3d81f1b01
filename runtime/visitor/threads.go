package visitor

import (
	"context"
	"iter"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// ThreadQuery selects threads.
//
// The keys of its filter are agentIdEquals,
// contextIdEqual, createdAtGreaterThanOrEqual, createdAtLessThanOrEqual,
// idEquals, idsIn, isEverywhere, orderBy, partnerIdEquals, statusEquals,
// statusIn, updatedAtGreaterThanOrEqual, updatedAtLessThanOrEqual and
// userIdEquals; orderBy is +createdAt, -createdAt, +updatedAt or -updatedAt.
type ThreadQuery struct {
	Filter Filter `json:"filter" ts:"ThreadFilter"`
	Pager  Pager  `json:"pager" ts:"Pager"`
}

var threads = listing{"/v1/thread/list", "ListThreadFilter", threadKeys, ThreadPageSize}

// Threads returns one page of the visitor's threads.
func (c *Client) Threads(ctx context.Context, q ThreadQuery) (Page[Thread], error) {
	body, err := threads.body(q.Filter, q.Pager)
	if err != nil {
		return Page[Thread]{}, err
	}
	return page[Thread](ctx, c, &threads, body)
}

// AllThreads yields the threads of q's page and of all pages after it, and requests each
// page when it is needed. An error is yielded last, with a zero Thread; it is
// invalid_response when the service returns one page again and again.
//
// The service computes each page anew: a thread that changes during the iteration may be
// yielded twice, and a deletion may cause others to be skipped. Collect the ids before
// deleting.
func (c *Client) AllThreads(ctx context.Context, q ThreadQuery) iter.Seq2[Thread, error] {
	return all[Thread](ctx, c, &threads, q.Filter, q.Pager)
}

// Thread returns a thread. The error is not_found for an unknown id and for another
// user's thread.
func (c *Client) Thread(ctx context.Context, id string) (Thread, error) {
	return c.oneThread(ctx, "/v1/thread/get", id, idBody{id})
}

// RenameThread gives a thread a title and returns the thread.
func (c *Client) RenameThread(ctx context.Context, id, title string) (Thread, error) {
	return c.oneThread(ctx, "/v1/thread/update", id, struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}{id, title})
}

// SetAnalysis merges values into the analysis of a thread, key by key, and
// returns the thread; keys that values doesn't have keep their value. Lifecycle
// rules of the service may react to a key that changes. Values must have a JSON
// form; without any the error is bad_request; use ClearAnalysis to remove them.
func (c *Client) SetAnalysis(ctx context.Context, id string, values map[string]any) (Thread, error) {
	if len(values) == 0 {
		return Thread{}, fault.New(fault.BadRequest, "values must have a key; clear the analysis to remove all")
	}
	return c.updateMetadata(ctx, id, map[string]any{"analysis": values})
}

// ClearAnalysis empties the analysis of a thread and returns the thread.
func (c *Client) ClearAnalysis(ctx context.Context, id string) (Thread, error) {
	return c.updateMetadata(ctx, id, map[string]any{})
}

func (c *Client) updateMetadata(ctx context.Context, id string, metadata map[string]any) (Thread, error) {
	return c.oneThread(ctx, "/v1/thread/update", id, struct {
		ID       string         `json:"id"`
		Metadata map[string]any `json:"thread_metadata"`
	}{id, metadata})
}

func (c *Client) oneThread(ctx context.Context, path, id string, body any) (t Thread, err error) {
	if err = required("the thread's id", id); err == nil {
		err = c.personal(ctx, &fetch.Request{URL: path}, body, &t)
	}
	return t, err
}

// DeleteThreads deletes threads and returns those that it deleted. Unknown
// ids and those of other users are ignored: a TotalCount of 0 means that nothing was
// deleted.
func (c *Client) DeleteThreads(ctx context.Context, ids ...string) (deleted Page[Thread], err error) {
	const path = "/v1/thread/delete"
	if len(ids) == 0 {
		return deleted, fault.New(fault.BadRequest, "an id of a thread is required")
	}
	for _, id := range ids {
		if err := required("a thread's id", id); err != nil {
			return deleted, err
		}
	}
	err = c.personal(ctx, &fetch.Request{URL: path, Once: true}, struct { // a repetition deletes nothing, and its reply says so
		IDs []string `json:"thread_ids"`
	}{ids}, &deleted)
	if err == nil {
		err = deleted.check(path)
	}
	return deleted, err
}
