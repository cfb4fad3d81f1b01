package native

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"
)

// record is a line of the service's log.
type record struct {
	at      time.Time
	message string
	values  map[string]slog.Value
}

// journal is a log that can be read.
type journal struct {
	mu      sync.Mutex
	records []record
	changed chan struct{} // closed at the next line
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

// handler writes to a journal, with the values of the loggers on the way.
type handler struct {
	*journal
	values []slog.Attr
}

func (handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) WithGroup(string) slog.Handler          { return h }
func (h handler) WithAttrs(values []slog.Attr) slog.Handler {
	return handler{h.journal, slices.Concat(h.values, values)}
}

func (h handler) Handle(_ context.Context, r slog.Record) error {
	line := record{r.Time, r.Message, map[string]slog.Value{}}
	var keep func(slog.Attr) bool
	keep = func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindGroup {
			for _, inner := range a.Value.Group() {
				keep(inner)
			}
		} else {
			line.values[a.Key] = a.Value
		}
		return true
	}
	for _, a := range h.values {
		keep(a)
	}
	r.Attrs(keep)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records = append(h.records, line)
	close(h.changed)
	h.changed = make(chan struct{})
	return nil
}

// lines returns the lines so far with that message and a value of that text.
func (j *journal) lines(message, key, value string) (found []record, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.records {
		if r.message == message && r.values[key].String() == value {
			found = append(found, r)
		}
	}
	return found, j.changed
}

// await returns the nth such line, from 0.
func (j *journal) await(t *testing.T, n int, message, key, value string) record {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		found, changed := j.lines(message, key, value)
		if len(found) > n {
			return found[n]
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("the service has logged %q with %s %s %d times, want more than %d", message, key, value, len(found), n)
		}
	}
}
