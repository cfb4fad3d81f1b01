package store

import (
	"context"
	"strconv"
	"time"
)

// Followup is a question that an answer has offered.
type Followup struct {
	ID        string
	Question  string
	ThreadID  string
	MessageID string
	ConfigID  int64
	CreatedAt time.Time
}

// FollowupFilter selects follow-up questions; zero fields select everything.
type FollowupFilter struct {
	ThreadID, MessageID    string
	ConfigID               int64
	CreatedFrom, CreatedTo time.Time
}

// Followups returns one page of the questions that were offered in threads that the scope
// may list, oldest first, and how many there are in all.
func (s *Store) Followups(ctx context.Context, scope Scope, f FollowupFilter, page Page) ([]Followup, int, error) {
	w := scope.listed()
	w.add("threads.deleted_at IS NULL")
	if f.ThreadID != "" {
		w.add("messages.thread_id = ?", f.ThreadID)
	}
	if f.MessageID != "" {
		w.add("messages.id = ?", f.MessageID)
	}
	if f.ConfigID != 0 {
		w.add("messages.config_id = ?", f.ConfigID)
	}
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
