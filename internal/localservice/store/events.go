package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
)

// EventType is what has happened to a thread.
type EventType string

// The events of threads (service.md, Events).
const (
	// SessionEnded is the end of a conversation, once for each thread.
	SessionEnded EventType = "session_ended"
	// AnalysisUpdated is a new value in a thread's analysis.
	AnalysisUpdated EventType = "analysis_updated"
)

// Event is an event of a thread that the rules have not processed yet.
type Event struct {
	Seq       int64
	PartnerID int64
	ThreadID  string
	Type      EventType
	Keys      []string // of an AnalysisUpdated: those with a new value
	Depth     int      // how many events led to this one
}

// Outcome is the results of the tasks that run after the end of a conversation.
type Outcome struct {
	Summary  *Summary           `json:"summary,omitempty"`
	Insights map[string]Insight `json:"insights,omitempty"` // by their keys
	Emails   map[string]Status  `json:"emails,omitempty"`   // by the ids of their templates
}

// Status is the result of a task after a conversation.
type Status string

// States of a task.
const (
	Available    Status = "available"
	NotAvailable Status = "not_available" // there is no model, or it did not answer
	Skipped      Status = "skipped"       // there was nothing to do
)

// Summary is what a conversation was about.
type Summary struct {
	Status      Status    `json:"status"`
	Content     string    `json:"content,omitempty"`
	ContentType string    `json:"content_type,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
}

// Insight is what an insight setting has found in a conversation.
type Insight struct {
	Status    Status `json:"status"`
	SettingID string `json:"insight_setting_id"`
	Value     any    `json:"value,omitempty"`
}

// ChangedKeys lists the keys whose value in next differs from that in analysis, sorted.
// Removed keys are not listed.
func ChangedKeys(analysis, next map[string]any) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(next)) {
		if old, ok := analysis[key]; !ok || !reflect.DeepEqual(old, next[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// addEvent stores an event in the transaction of the change that it reports.
func addEvent(ctx context.Context, tx *sql.Tx, e Event) error {
	keys, err := json.Marshal(append([]string{}, e.Keys...))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO thread_events (partner_id, thread_id, type, keys, depth) VALUES (?, ?, ?, ?, ?)`,
		e.PartnerID, e.ThreadID, e.Type, string(keys), e.Depth)
	return err
}

// Events returns the oldest stored events, at most limit.
func (s *Store) Events(ctx context.Context, limit int) ([]Event, error) {
	scan := func(row scanner) (e Event, err error) {
		var keys []byte
		if err := row.Scan(&e.Seq, &e.PartnerID, &e.ThreadID, &e.Type, &keys, &e.Depth); err != nil {
			return e, err
		}
		return e, json.Unmarshal(keys, &e.Keys)
	}
	return all(ctx, s.read, scan, `SELECT seq, partner_id, thread_id, type, keys, depth FROM thread_events ORDER BY seq LIMIT ?`, limit)
}

// DropEvent removes an event that every rule has processed.
func (s *Store) DropEvent(ctx context.Context, seq int64) error {
	_, err := s.write.ExecContext(ctx, `DELETE FROM thread_events WHERE seq = ?`, seq)
	return err
}

// NewEvents returns a channel that receives a value after events were added. It holds at
// most one value.
func (s *Store) NewEvents() <-chan struct{} { return s.newEvents }

// announce signals new events. It must be called after their transaction.
func (s *Store) announce() {
	select {
	case s.newEvents <- struct{}{}:
	default:
	}
}
