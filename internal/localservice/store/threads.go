package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// where collects the conditions of a query.
type where struct {
	terms []string
	args  []any
}

func (w *where) add(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// in adds "column is one of values"; no values match nothing.
func in[T any](w *where, column string, values []T) {
	w.add(column+" IN (SELECT value FROM json_each(?))", jsonList(values))
}

// among is in for a list of which nil means any value.
func among[T any](w *where, column string, values []T) {
	if values != nil {
		in(w, column, values)
	}
}

// equal adds "column is value", unless the value is nil, which means any.
func equal[T any](w *where, column string, value *T) {
	if value != nil {
		w.add(column+" = ?", *value)
	}
}

// between adds the bounds that are not nil, both inclusive.
func (w *where) between(column string, from, to *time.Time) {
	if from != nil {
		w.add(column+" >= ?", millis(*from))
	}
	if to != nil {
		w.add(column+" <= ?", millis(*to))
	}
}

func (w *where) String() string { return strings.Join(w.terms, " AND ") }

// owned limits a query on threads to what the scope may access by id. Anonymous
// callers share the user id "". A visitor with a widget token may access what was
// created with that token, or with one that appInit made from it, and no other visitor may.
// For a token that a site's server minted without a user, the unguessable id of a thread
// of such a token is enough, so that a page can resume its thread with a new token.
func (s Scope) owned() *where {
	w := &where{}
	w.add("threads.partner_id = ?", s.PartnerID)
	if !s.Admin {
		w.add("threads.user_id = ?", s.UserID)
		switch {
		case s.Widget:
			w.add("threads.token_id = ?", s.TokenID)
		case s.UserID == "":
			w.add("threads.widget = 0")
		}
	}
	return w
}

// listed limits a query on threads to what the scope may enumerate: an anonymous
// caller sees the threads of its own token only, never those of other visitors.
func (s Scope) listed() *where {
	w := s.owned()
	if !s.Admin && s.UserID == "" {
		w.add("threads.token_id = ?", s.TokenID)
	}
	return w
}

const threadColumns = `threads.id, threads.partner_id, threads.user_id, threads.token_id, threads.agent_id,
	threads.config_id, threads.title, threads.status, threads.context_id, threads.vars, threads.analysis, threads.outcome,
	threads.created_at, threads.updated_at`

// CreateThread adds t. It fills CreatedAt, UpdatedAt and Status.
func (s *Store) CreateThread(ctx context.Context, t *Thread) error {
	t.CreatedAt = now()
	t.UpdatedAt, t.Status = t.CreatedAt, ThreadActive
	vars, analysis, _, err := t.objects()
	if err != nil {
		return err
	}
	_, err = s.write.ExecContext(ctx,
		`INSERT INTO threads (id, partner_id, user_id, token_id, agent_id, config_id, title, status, context_id,
		   widget, vars, analysis, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, t.PartnerID, t.UserID, t.TokenID, t.AgentID, t.ConfigID, t.Title, t.Status, t.ContextID,
		t.Widget, vars, analysis, millis(t.CreatedAt), millis(t.UpdatedAt))
	return err
}

// Thread returns the thread with that id, if the scope owns it.
func (s *Store) Thread(ctx context.Context, scope Scope, id string) (Thread, error) {
	return thread(ctx, s.read, scope, id)
}

func thread(ctx context.Context, q querier, scope Scope, id string) (Thread, error) {
	w := scope.owned()
	w.add("id = ? AND deleted_at IS NULL", id)
	return one(q.QueryRowContext(ctx, `SELECT `+threadColumns+` FROM threads WHERE `+w.String(), w.args...), scanThread)
}

// UpdateThread calls change with the thread and stores its title, status, variables,
// analysis and outcome, in one transaction. New values in the analysis add an event.
func (s *Store) UpdateThread(ctx context.Context, scope Scope, id string, change func(*Thread) error) (Thread, error) {
	var t Thread
	err := s.tx(ctx, func(tx *sql.Tx) (err error) {
		if t, err = thread(ctx, tx, scope, id); err != nil {
			return err
		}
		analysis := maps.Clone(t.Analysis)
		if err := change(&t); err != nil {
			return err
		}
		if t.Changed = ChangedKeys(analysis, t.Analysis); len(t.Changed) > 0 {
			event := Event{PartnerID: t.PartnerID, ThreadID: t.ID, Type: AnalysisUpdated, Keys: t.Changed, Depth: t.Depth}
			if err := addEvent(ctx, tx, event); err != nil {
				return err
			}
		}
		t.UpdatedAt = now()
		vars, newAnalysis, outcome, err := t.objects()
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx,
			`UPDATE threads SET title = ?, status = ?, vars = ?, analysis = ?, outcome = ?, updated_at = ? WHERE id = ?`,
			t.Title, t.Status, vars, newAnalysis, outcome, millis(t.UpdatedAt), t.ID)
		return err
	})
	if err == nil && len(t.Changed) > 0 {
		s.announce()
	}
	return t, err
}

// ThreadFilter selects threads; a field that is nil selects any.
type ThreadFilter struct {
	IDs                    []string
	AgentID                *string
	ContextID              *string // "" selects the threads without one
	UserID                 *string // "" selects those of anonymous visitors
	Statuses               []string
	CreatedFrom, CreatedTo *time.Time
	UpdatedFrom, UpdatedTo *time.Time
	OrderBy                Order
	PartnerID              *int64
}

// Order is the order of a list; the zero value is the latest change first.
type Order string

// The orders of a list (protocol §9.10).
const (
	CreatedAscending  Order = "+createdAt"
	CreatedDescending Order = "-createdAt"
	UpdatedAscending  Order = "+updatedAt"
	UpdatedDescending Order = "-updatedAt"
)

// Valid reports whether o is a known order, or none.
func (o Order) Valid() bool {
	switch o {
	case "", CreatedAscending, CreatedDescending, UpdatedAscending, UpdatedDescending:
		return true
	}
	return false
}

// sql returns the ORDER BY terms; rows of the same time stay in the order in
// which they were written.
func (o Order) sql(table string) string {
	column, direction := ".updated_at", " DESC"
	if o == CreatedAscending || o == CreatedDescending {
		column = ".created_at"
	}
	if o == CreatedAscending || o == UpdatedAscending {
		direction = " ASC"
	}
	return table + column + direction + ", " + table + ".rowid" + direction
}

// Threads returns one page of the threads that the scope may list, and how many
// there are in all.
func (s *Store) Threads(ctx context.Context, scope Scope, f ThreadFilter, page Page) ([]Thread, int, error) {
	w := scope.listed()
	w.add("threads.deleted_at IS NULL")
	equal(w, "threads.partner_id", f.PartnerID)
	among(w, "threads.id", f.IDs)
	among(w, "threads.status", f.Statuses)
	equal(w, "threads.agent_id", f.AgentID)
	equal(w, "threads.context_id", f.ContextID)
	equal(w, "threads.user_id", f.UserID)
	w.between("threads.created_at", f.CreatedFrom, f.CreatedTo)
	w.between("threads.updated_at", f.UpdatedFrom, f.UpdatedTo)
	return paged(ctx, s.read, scanThread, threadColumns, "threads", w, f.OrderBy.sql("threads"), page)
}

// paged counts the rows that w selects, and reads one page of them.
func paged[T any](ctx context.Context, q querier, scan func(scanner) (T, error), columns, from string, w *where, order string, page Page) ([]T, int, error) {
	var total int
	if err := q.QueryRowContext(ctx, `SELECT count(*) FROM `+from+` WHERE `+w.String(), w.args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	list, err := all(ctx, q, scan,
		`SELECT `+columns+` FROM `+from+` WHERE `+w.String()+` ORDER BY `+order+` LIMIT ? OFFSET ?`,
		append(w.args, page.Limit, page.Offset)...)
	return list, total, err
}

// DeleteThreads deletes threads that the scope owns, with everything that was said in them,
// and returns them; ids that it does not own are ignored. Their ids stay taken. A repeated
// request returns them again, without what they contained ([WithRequest]).
func (s *Store) DeleteThreads(ctx context.Context, scope Scope, ids []string) ([]Thread, error) {
	const kind = "thread"
	gone := []Thread{}
	err := s.removing(ctx, func(tx *sql.Tx) (err error) {
		w := scope.owned()
		w.add("(deleted_at IS NULL OR id IN (SELECT id FROM deletions WHERE kind = ? AND partner_id = ? AND request = ?))", kind, scope.PartnerID, requestOf(ctx))
		in(w, "id", ids)
		gone, err = all(ctx, tx, scanThread, `SELECT `+threadColumns+` FROM threads WHERE `+w.String()+` ORDER BY rowid`, w.args...)
		if err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `DELETE FROM messages WHERE thread_id IN (SELECT id FROM threads WHERE `+w.String()+`)`, w.args...); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE threads SET deleted_at = ?, title = '', vars = '{}', analysis = '{}', outcome = '{}', state = '{}' WHERE `+w.String(),
			append([]any{millis(time.Now())}, w.args...)...)
		if err != nil {
			return err
		}
		of := make([]string, len(gone))
		for i := range gone {
			of[i] = gone[i].ID
		}
		return deleted(ctx, tx, kind, scope.PartnerID, of...)
	})
	return gone, err
}

// CompleteThread records that the conversation of a thread is over. Only the
// first call returns true; the conversation may continue afterwards.
func (s *Store) CompleteThread(ctx context.Context, scope Scope, id string) (first bool, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		t, err := thread(ctx, tx, scope, id)
		if err != nil {
			return err
		}
		first, err = complete(ctx, tx, t.PartnerID, t.ID)
		return err
	})
	if err == nil && first {
		s.announce()
	}
	return first, err
}

// Completion is the end of a conversation.
type Completion struct {
	ThreadID string    `json:"threadId"`
	At       time.Time `json:"at"`
}

// Completed returns the latest 1,000 ends of conversations, oldest first.
func (s *Store) Completed(ctx context.Context) ([]Completion, error) {
	newest, err := all(ctx, s.read, func(row scanner) (c Completion, err error) {
		var at int64
		err = row.Scan(&c.ThreadID, &at)
		c.At = time.UnixMilli(at)
		return c, err
	}, `SELECT thread_id, completed_at FROM completed_sessions ORDER BY completed_at DESC LIMIT 1000`)
	slices.Reverse(newest)
	return newest, err
}

// CompleteIdle records the end of at most 1,000 active conversations that have had no
// activity since before, except in the threads kept, and returns the ids of their
// threads.
func (s *Store) CompleteIdle(ctx context.Context, before time.Time, kept []string) ([]string, error) {
	var ids []string
	err := s.tx(ctx, func(tx *sql.Tx) (err error) {
		w := &where{}
		w.add("status = ? AND deleted_at IS NULL AND updated_at <= ?", ThreadActive, millis(before))
		w.add("id NOT IN (SELECT value FROM json_each(?))", jsonList(kept))
		ended, err := all(ctx, tx, func(row scanner) (e Event, err error) {
			return e, row.Scan(&e.ThreadID, &e.PartnerID)
		}, `SELECT id, partner_id FROM threads WHERE `+w.String()+` ORDER BY rowid LIMIT 1000`, w.args...)
		for _, e := range ended {
			if err != nil {
				break
			}
			ids = append(ids, e.ThreadID)
			_, err = complete(ctx, tx, e.PartnerID, e.ThreadID)
		}
		return err
	})
	if err == nil && len(ids) > 0 {
		s.announce()
	}
	return ids, err
}

// complete records the end of a conversation, in the first call with an event.
func complete(ctx context.Context, tx *sql.Tx, partnerID int64, threadID string) (first bool, err error) {
	result, err := tx.ExecContext(ctx,
		`INSERT INTO completed_sessions (thread_id, completed_at) VALUES (?, ?) ON CONFLICT DO NOTHING`, threadID, millis(time.Now()))
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	if first = rows == 1; err == nil && first {
		err = addEvent(ctx, tx, Event{PartnerID: partnerID, ThreadID: threadID, Type: SessionEnded})
	}
	if err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE threads SET status = ? WHERE id = ?`, ThreadCompleted, threadID)
	return first, err
}

func (t *Thread) objects() (vars, analysis, outcome string, err error) {
	var text [3][]byte
	for i, object := range []any{t.Vars, t.Analysis, t.Outcome} {
		if text[i], err = json.Marshal(object); err != nil {
			return "", "", "", err
		}
	}
	return string(text[0]), string(text[1]), string(text[2]), nil
}

func scanThread(row scanner) (t Thread, err error) {
	var vars, analysis, outcome []byte
	var created, updated int64
	if err := row.Scan(&t.ID, &t.PartnerID, &t.UserID, &t.TokenID, &t.AgentID, &t.ConfigID, &t.Title, &t.Status,
		&t.ContextID, &vars, &analysis, &outcome, &created, &updated); err != nil {
		return t, err
	}
	t.CreatedAt, t.UpdatedAt = fromMillis(created), fromMillis(updated)
	err = errors.Join(json.Unmarshal(vars, &t.Vars), json.Unmarshal(analysis, &t.Analysis), json.Unmarshal(outcome, &t.Outcome))
	if t.Analysis == nil {
		t.Analysis = map[string]any{}
	}
	return t, err
}
