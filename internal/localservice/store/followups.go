package store

import (
	"context"
	"strconv"
	"time"
)

// Followup is a question that an answer has offered. Its JSON is that of the API.
type Followup struct {
	ID        string    `json:"id"`
	Question  string    `json:"question"`
	ThreadID  string    `json:"thread_id"`
	MessageID string    `json:"message_id"`
	ConfigID  int64     `json:"genie_id,string"`
	CreatedAt time.Time `json:"created_at"`
}

// FollowupFilter selects follow-up questions; a field that is nil selects any.
type FollowupFilter struct {
	ThreadID, MessageID    *string
	ConfigID               *int64
	CreatedFrom, CreatedTo *time.Time
}

// Followups returns one page of the questions that were offered in threads that the scope
// may list, oldest first, and how many there are in all.
func (s *Store) Followups(ctx context.Context, scope Scope, f FollowupFilter, page Page) ([]Followup, int, error) {
	w := scope.listed()
	w.add("threads.deleted_at IS NULL")
	equal(w, "messages.thread_id", f.ThreadID)
	equal(w, "messages.id", f.MessageID)
	equal(w, "messages.config_id", f.ConfigID)
	w.between("messages.created_at", f.CreatedFrom, f.CreatedTo)
	scan := func(row scanner) (q Followup, err error) {
		var seq, created int64
		err = row.Scan(&seq, &q.Question, &q.ThreadID, &q.MessageID, &q.ConfigID, &created)
		q.ID, q.CreatedAt = strconv.FormatInt(seq, 10), fromMillis(created)
		return q, err
	}
	return paged(ctx, s.read, scan, `followups.seq, followups.question, messages.thread_id, messages.id, messages.config_id, messages.created_at`,
		`followups JOIN messages ON messages.id = followups.message_id JOIN threads ON threads.id = messages.thread_id`,
		w, "followups.seq", page)
}
