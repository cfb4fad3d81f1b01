package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const messageColumns = `messages.id, coalesce(messages.thread_id, ''), messages.partner_id, messages.user_id, messages.config_id,
	messages.role, messages.reply_to, messages.title, messages.parts, messages.unfinished, messages.created_at, messages.updated_at,
	coalesce(source.id, ''), feedback.user_id, feedback.is_positive, feedback.comment, feedback.created_at, feedback.updated_at`

// A message is readable while its thread is; a shared copy has no thread. The
// parameters are the caller's [Scope.reader]. A message in a thread has one rating, but
// on a shared copy each caller sees only their own. The id of an anonymous thread is a key,
// so of a copy from such a thread only the caller who has begun it sees the id.
const messageTables = `messages LEFT JOIN feedback ON feedback.message_id = messages.id
	  AND feedback.rater = iif(messages.thread_id IS NULL, ?, '')
	LEFT JOIN threads ON threads.id = messages.thread_id
	LEFT JOIN threads AS source ON source.id = messages.shared_from AND (source.user_id <> '' OR source.token_id = ? OR ?)`

// AddMessage appends m to its thread, or replaces the parts of the message with that id.
// The partner, the user and the configuration are those of the thread; m gets the times.
// When AddMessage returns, the message is in the file.
func (s *Store) AddMessage(ctx context.Context, m *Message) error {
	parts, err := json.Marshal(m.Parts)
	if err != nil {
		return err
	}
	return s.tx(ctx, func(tx *sql.Tx) error { return addMessage(ctx, tx, m, parts) })
}

func addMessage(ctx context.Context, tx *sql.Tx, m *Message, parts []byte) error {
	m.CreatedAt = now()
	m.UpdatedAt = m.CreatedAt
	result, err := tx.ExecContext(ctx,
		`INSERT INTO messages (id, thread_id, partner_id, user_id, config_id, role, reply_to, title, parts, unfinished, created_at, updated_at)
		 SELECT ?, id, partner_id, user_id, config_id, ?, ?, '', ?, ?, ?, ? FROM threads WHERE id = ? AND deleted_at IS NULL
		 ON CONFLICT (id) DO UPDATE SET parts = excluded.parts, unfinished = excluded.unfinished, updated_at = excluded.updated_at`,
		m.ID, m.Role, m.ReplyTo, string(parts), m.Unfinished, millis(m.CreatedAt), millis(m.UpdatedAt), m.ThreadID)
	if err != nil {
		return err
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		return errors.Join(err, ErrNotFound) // deleted while the turn ran
	}
	for _, question := range m.Followups {
		_, err := tx.ExecContext(ctx, `INSERT INTO followups (message_id, question) VALUES (?, ?) ON CONFLICT DO NOTHING`, m.ID, question)
		if err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE threads SET updated_at = ? WHERE id = ?`, millis(m.CreatedAt), m.ThreadID)
	return err
}

// AddQuestion appends what a user said, or what a server says through a push, as AddMessage does. In the same transaction it
// stores turnIDs, the ids that the client gave to the turns in m, and deletes the question
// with the id replaces, if any, with its answer. When the thread has one of turnIDs
// already, it changes nothing and fails with [ErrRepeated].
func (s *Store) AddQuestion(ctx context.Context, m *Message, turnIDs []string, replaces string) error {
	parts, err := json.Marshal(m.Parts)
	if err != nil {
		return err
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		if replaces != "" {
			_, err := tx.ExecContext(ctx, `DELETE FROM messages WHERE thread_id = ?1 AND (id = ?2 OR reply_to = ?2)`, m.ThreadID, replaces)
			if err != nil {
				return err
			}
		}
		if err := addMessage(ctx, tx, m, parts); err != nil {
			return err
		}
		for _, id := range turnIDs {
			result, err := tx.ExecContext(ctx,
				`INSERT INTO client_turns (thread_id, id, message_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, m.ThreadID, id, m.ID)
			if err != nil {
				return err
			}
			if rows, err := result.RowsAffected(); err != nil || rows == 0 {
				return errors.Join(err, ErrRepeated)
			}
		}
		return nil
	})
}

// HasTurn reports whether the thread has the turn to which a client gave that id.
func (s *Store) HasTurn(ctx context.Context, threadID, id string) (bool, error) {
	var has bool
	err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM client_turns WHERE thread_id = ? AND id = ?)`, threadID, id).Scan(&has)
	return has, err
}

// SetParts replaces the parts of a message.
func (s *Store) SetParts(ctx context.Context, id string, parts []Part) error {
	text, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	_, err = s.write.ExecContext(ctx, `UPDATE messages SET parts = ?, updated_at = ? WHERE id = ?`,
		string(text), millis(time.Now()), id)
	return err
}

// HistoryBytes limits the content that one [Store.History] loads: more of a thread than
// any model reads, and small enough for many threads at once.
const HistoryBytes = 4 << 20

// noRater is the rater of messages in threads.
const noRater = ""

// reader are the parameters of messageTables.
func (s Scope) reader() []any { return []any{s.rater(), s.TokenID, s.Admin} }

// History returns the last messages of a thread, oldest first: at most limit of
// them, and at most [HistoryBytes] of content.
func (s *Store) History(ctx context.Context, threadID string, limit int) ([]Message, error) {
	history, size := []Message{}, 0
	rows, err := s.read.QueryContext(ctx,
		`SELECT `+messageColumns+` FROM `+messageTables+` WHERE messages.thread_id = ? ORDER BY messages.seq DESC LIMIT ?`,
		noRater, "", false, threadID, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, err
		}
		for _, p := range m.Parts {
			size += len(p.Content) + len(p.Metadata)
		}
		if size > HistoryBytes {
			break
		}
		history = append(history, m)
	}
	slices.Reverse(history)
	return history, rows.Err()
}

// Message returns the message with that id, if the scope reaches its thread. A
// shared copy is readable to every caller of its partner.
func (s *Store) Message(ctx context.Context, scope Scope, id string) (Message, error) {
	return message(ctx, s.read, scope, id)
}

func message(ctx context.Context, q querier, scope Scope, id string) (Message, error) {
	owned := scope.owned()
	w := &where{args: scope.reader()}
	w.add("messages.id = ?", id)
	w.add("((messages.thread_id IS NULL AND messages.partner_id = ?) OR (threads.deleted_at IS NULL AND "+owned.String()+"))",
		append([]any{scope.PartnerID}, owned.args...)...)
	return one(q.QueryRowContext(ctx, `SELECT `+messageColumns+` FROM `+messageTables+` WHERE `+w.String(), w.args...), scanMessage)
}

// MessageFilter selects messages; a field that is nil selects any.
type MessageFilter struct {
	IDs                    []string
	ThreadID               *string
	UserID                 *string
	ConfigID               *int64 // 0 selects those of the default persona
	Positive               []bool // unless nil, only rated messages
	CreatedFrom, CreatedTo *time.Time
	UpdatedFrom, UpdatedTo *time.Time
	OrderBy                Order
	Answers                bool // only answers to what a user said
}

// Messages returns one page of the messages in threads that the scope reaches,
// and how many there are in all. With a ThreadID these are the messages of a thread that
// [Store.Thread] would return; without one, only those of threads that the scope may list.
func (s *Store) Messages(ctx context.Context, scope Scope, f MessageFilter, page Page) ([]Message, int, error) {
	w := scope.listed()
	if f.ThreadID != nil {
		w = scope.owned()
		equal(w, "messages.thread_id", f.ThreadID)
	}
	w.add("threads.deleted_at IS NULL")
	among(w, "messages.id", f.IDs)
	equal(w, "messages.user_id", f.UserID)
	equal(w, "messages.config_id", f.ConfigID)
	among(w, "feedback.is_positive", f.Positive)
	if f.Answers {
		w.add("messages.role = ? AND messages.reply_to <> ''", AI)
	}
	w.between("messages.created_at", f.CreatedFrom, f.CreatedTo)
	w.between("messages.updated_at", f.UpdatedFrom, f.UpdatedTo)
	order := "messages.seq" // the order of the conversation
	if f.OrderBy != "" {
		order = f.OrderBy.sql("messages")
	}
	w.args = append(scope.reader(), w.args...)
	return paged(ctx, s.read, scanMessage, messageColumns, messageTables, w, order, page)
}

// ShareMessage makes a copy of a message that outlives its thread and that every
// caller of the partner may read, and returns the copy's id. A repeated request returns the
// id of the copy that it made the first time ([WithRequest]).
func (s *Store) ShareMessage(ctx context.Context, scope Scope, id, title string) (string, error) {
	copyID := IDFor(ctx, "share", id)
	err := s.tx(ctx, func(tx *sql.Tx) error {
		m, err := message(ctx, tx, scope, id)
		if err != nil {
			return err
		}
		now := millis(time.Now())
		_, err = tx.ExecContext(ctx,
			`INSERT INTO messages (id, thread_id, partner_id, user_id, config_id, role, reply_to, title, parts, created_at, updated_at, shared_from)
			 SELECT ?, NULL, partner_id, user_id, config_id, role, '', ?, parts, ?, ?, coalesce(thread_id, shared_from) FROM messages WHERE id = ?
			 ON CONFLICT (id) DO NOTHING`,
			copyID, title, now, now, m.ID)
		return err
	})
	return copyID, err
}

// AddFeedback rates a message that the scope reaches; of a shared copy each caller
// has a rating of their own, which others don't see. The same rating again
// changes nothing, also without the comment that it had; another one replaces it.
func (s *Store) AddFeedback(ctx context.Context, scope Scope, f Feedback) (Feedback, error) {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		m, err := message(ctx, tx, scope, f.MessageID)
		if err != nil {
			return err
		}
		now := millis(time.Now())
		rater := noRater
		if m.ThreadID == "" {
			rater = scope.rater()
		}
		_, err = tx.ExecContext(ctx,
			`INSERT INTO feedback (message_id, rater, user_id, is_positive, comment, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			 ON CONFLICT (message_id, rater) DO UPDATE SET is_positive = excluded.is_positive, comment = excluded.comment,
			   user_id = excluded.user_id, updated_at = excluded.updated_at
			 WHERE is_positive <> excluded.is_positive OR (excluded.comment <> '' AND comment <> excluded.comment)`,
			m.ID, rater, scope.UserID, f.IsPositive, f.Comment, now, now)
		if err != nil {
			return err
		}
		if m, err = message(ctx, tx, scope, m.ID); err != nil {
			return err
		}
		f = *m.Rating
		return nil
	})
	return f, err
}

// Text returns the text of the message, without its widgets.
func (m *Message) Text() string {
	var text strings.Builder
	for _, p := range m.Parts {
		var piece string
		if p.Type != "unisphere-tool" && json.Unmarshal(p.Content, &piece) == nil {
			text.WriteString(piece)
		}
	}
	return text.String()
}

func scanMessage(row scanner) (m Message, err error) {
	var parts []byte
	var created, updated int64
	var user, comment sql.NullString
	var positive sql.NullBool
	var rated, rerated sql.NullInt64
	if err := row.Scan(&m.ID, &m.ThreadID, &m.PartnerID, &m.UserID, &m.ConfigID, &m.Role, &m.ReplyTo, &m.Title, &parts, &m.Unfinished,
		&created, &updated, &m.SharedFrom, &user, &positive, &comment, &rated, &rerated); err != nil {
		return m, err
	}
	m.CreatedAt, m.UpdatedAt = fromMillis(created), fromMillis(updated)
	if positive.Valid {
		m.Rating = &Feedback{
			MessageID: m.ID, ThreadID: m.ThreadID, ConfigID: m.ConfigID, UserID: user.String,
			IsPositive: positive.Bool, Comment: comment.String,
			CreatedAt: fromMillis(rated.Int64), UpdatedAt: fromMillis(rerated.Int64),
		}
	}
	return m, json.Unmarshal(parts, &m.Parts)
}
