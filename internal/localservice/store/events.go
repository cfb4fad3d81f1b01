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

// Event is something that rules have still to see.
type Event struct {
	Seq       int64
	PartnerID int64
	ThreadID  string
	Type      EventType
	Keys      []string // of an AnalysisUpdated: those with a new value
	Depth     int      // how many events led to this one
}

// Outcome is what became of a conversation after its end.
type Outcome struct {
	Summary  *Summary           `json:"summary,omitempty"`
	Insights map[string]Insight `json:"insights,omitempty"` // by their keys
	Emails   map[string]Status  `json:"emails,omitempty"`   // by their templates
}

// Status says how a task after a conversation went.
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

// ChangedKeys lists the keys whose value in next is another one than in analysis,
// sorted. A key that is gone is not one of them.
func ChangedKeys(analysis, next map[string]any) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(next)) {
		if old, ok := analysis[key]; !ok || !reflect.DeepEqual(old, next[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// addEvent notes an event in the transaction of what it tells of.
func addEvent(ctx context.Context, tx *sql.Tx, e Event) error {
	keys, err := json.Marshal(append([]string{}, e.Keys...))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO thread_events (partner_id, thread_id, type, keys, depth) VALUES (?, ?, ?, ?, ?)`,
		e.PartnerID, e.ThreadID, e.Type, string(keys), e.Depth)
	return err
}

// Events returns the oldest events that are there, at most limit.
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

// DropEvent removes an event that every rule has seen.
func (s *Store) DropEvent(ctx context.Context, seq int64) error {
	_, err := s.write.ExecContext(ctx, `DELETE FROM thread_events WHERE seq = ?`, seq)
	return err
}

// NewEvents gets a value after events were added. It holds one value at most.
func (s *Store) NewEvents() <-chan struct{} { return s.newEvents }

// announce is called after the transaction of an event.
func (s *Store) announce() {
	select {
	case s.newEvents <- struct{}{}:
	default:
	}
}
