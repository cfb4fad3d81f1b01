package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Bounds of what a thread keeps.
const (
	maxTitle      = 500       // characters
	maxAnalysis   = 256 << 10 // bytes of JSON
	maxTranscript = 10_000    // messages
)

// listReply is the reply of every list.
type listReply[T any] struct {
	TotalCount int `json:"totalCount"`
	Objects    []T `json:"objects"`
}

func viewAll[S, T any](list []S, total int, view func(S) T) listReply[T] {
	objects := make([]T, len(list))
	for i, v := range list {
		objects[i] = view(v)
	}
	return listReply[T]{total, objects}
}

func (s *server) threadRoutes(mux routes) {
	mux.Handle("POST /v1/thread/list", s.route(owners, withBody(s.threadList)))
	mux.Handle("POST /v1/thread/get", s.route(owners, withID(s.threadGet)))
	mux.Handle("POST /v1/thread/update", s.route(owners, withBody(s.threadUpdate)))
	mux.Handle("POST /v1/thread/delete", s.route(owners, withBody(s.threadDelete)))
	mux.Handle("POST /v1/thread/get_transcripts", s.route(owners, withID(s.threadTranscript)))
	mux.Handle("POST /thread/push", s.route(admins, withBody(s.threadPush)))
	mux.Handle("POST /thread/session_completed", s.route(talkers, withID(s.sessionCompleted)))
}

func (s *server) threadList(c *call, body listQuery) (any, error) {
	page, err := body.Pager.page(threadPageSize)
	if err != nil {
		return nil, err
	}
	var want store.ThreadFilter
	var id, status *string
	err = readFilter(body.Filter, "ListThreadFilter", conditions{
		"idsIn": &want.IDs, "idEquals": &id, "agentIdEquals": &want.AgentID, "contextIdEqual": &want.ContextID,
		"userIdEquals": &want.UserID, "statusIn": &want.Statuses, "statusEquals": &status, "partnerIdEquals": &want.PartnerID,
		"createdAtGreaterThanOrEqual": &want.CreatedFrom, "createdAtLessThanOrEqual": &want.CreatedTo,
		"updatedAtGreaterThanOrEqual": &want.UpdatedFrom, "updatedAtLessThanOrEqual": &want.UpdatedTo, "orderBy": &want.OrderBy,
		"isEverywhere": new(bool), // without effect on what a caller may see
	})
	if err != nil {
		return nil, err
	}
	want.IDs, want.Statuses = narrow(want.IDs, id), narrow(want.Statuses, status)
	list, total, err := s.Store.Threads(c.ctx(), c.scope(), want, page)
	return listReply[store.Thread]{total, list}, err
}

// narrow reduces a list of allowed values, nil for any, to those equal to one. With nil
// for one the list stays as it is.
func narrow[T comparable](list []T, one *T) []T {
	switch {
	case one == nil:
		return list
	case list != nil && !slices.Contains(list, *one):
		return []T{}
	}
	return []T{*one}
}

func (s *server) threadGet(c *call, id string) (any, error) {
	t, err := s.Store.Thread(c.ctx(), c.scope(), id)
	return t, err
}

// threadUpdate renames a thread, merges keys into its analysis, or clears the analysis
// (service.md, Threads).
func (s *server) threadUpdate(c *call, body struct {
	ID       string  `json:"id"`
	Title    *string `json:"title"`
	Metadata *struct {
		Analysis map[string]any `json:"analysis"`
	} `json:"thread_metadata"`
},
) (any, error) {
	if body.ID == "" {
		return nil, missing("id")
	}
	if body.Title != nil && utf8.RuneCountInString(*body.Title) > maxTitle {
		return nil, tooLong(maxTitle, "title")
	}
	t, err := s.Store.UpdateThread(c.ctx(), c.scope(), body.ID, func(t *store.Thread) error {
		if body.Title != nil {
			t.Title = *body.Title
		}
		if body.Metadata == nil {
			return nil
		}
		if body.Metadata.Analysis == nil {
			t.Analysis = map[string]any{}
			return nil
		}
		maps.Copy(t.Analysis, body.Metadata.Analysis)
		if size, err := json.Marshal(t.Analysis); err != nil || len(size) > maxAnalysis {
			return invalid("too_long", fmt.Sprintf("analysis: at most %d bytes", maxAnalysis), "thread_metadata", "analysis")
		}
		return nil
	})
	if err == nil && len(t.Changed) > 0 {
		s.Logger.Info(string(store.AnalysisUpdated), "thread", store.ThreadLabel(t.ID), "keys", t.Changed)
	}
	return t, err
}

func (s *server) threadDelete(c *call, body struct {
	IDs []string `json:"thread_ids"`
},
) (any, error) {
	if body.IDs == nil {
		return nil, missing("thread_ids")
	}
	if len(body.IDs) > maxPageSize {
		return nil, tooMany(maxPageSize, "thread_ids")
	}
	deleted, err := s.Store.DeleteThreads(c.ctx(), c.scope(), body.IDs)
	return listReply[store.Thread]{len(deleted), deleted}, err
}

// threadTranscript returns a thread as text, a line for each message.
func (s *server) threadTranscript(c *call, id string) (any, error) {
	if _, err := s.Store.Thread(c.ctx(), c.scope(), id); err != nil {
		return nil, err
	}
	history, err := s.Store.History(c.ctx(), id, maxTranscript)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, m := range history {
		// A line break in a message would look like the next message.
		if text := strings.Join(strings.Fields(m.Text()), " "); text != "" {
			lines = append(lines, string(m.Role)+": "+text)
		}
	}
	return success(strings.Join(lines, "\n")), nil
}

// success is the envelope of replies that have a status.
func success(data any) map[string]any { return map[string]any{"status": "success", "data": data} }

// sessionCompleted records that a conversation is over. Repeating the call is harmless
// (protocol §8.9).
func (s *server) sessionCompleted(c *call, id string) (any, error) {
	first, err := s.Store.CompleteThread(c.ctx(), c.scope(), id)
	if err != nil {
		return nil, err
	}
	s.Logger.Info("session completed", "thread", store.ThreadLabel(id), "reason", "client", "again", !first)
	return empty{}, nil
}
