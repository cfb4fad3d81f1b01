package dialogue

import (
	"context"
	"database/sql"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestAnAnswerThatCannotBeStoredEndsWithAnError. The triggers refuse a row as a full disk
// does.
func TestAnAnswerThatCannotBeStoredEndsWithAnError(t *testing.T) {
	full := func(role store.Role) func(*sql.DB) error {
		return func(db *sql.DB) error {
			_, err := db.Exec(`CREATE TRIGGER full BEFORE INSERT ON messages WHEN NEW.role = '` + string(role) + `'
				BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`)
			return err
		}
	}
	for name, test := range map[string]struct {
		spoil    func(*sql.DB) error
		segments string
		text     string
		history  []string
	}{
		"answer": {full(store.AI), "think text text thread share error", "The answer could not be stored.", []string{"human: Hello"}},
		"locked": {
			func(db *sql.DB) error { _, err := db.Exec("BEGIN IMMEDIATE"); return err },
			"think text text thread share error", "The answer could not be stored.",
			[]string{"human: Hello"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, dir := openIn(t)
			db := must.Get(sql.Open("sqlite", filepath.Join(dir, "localservice.db")))(t)
			defer db.Close()
			db.SetMaxOpenConns(1) // a transaction stays on its connection
			f.cfg.Brain = brainFunc(func(_ context.Context, _ *brain.Question, out brain.Sink) error {
				if err := test.spoil(db); err != nil {
					t.Error(err)
				}
				return out.Say("Hi.")
			})
			who := f.caller(store.Receptionist, "ann")
			thread := f.thread(who)
			_, segments := f.turn(who, TurnRequest{ThreadID: thread.ID, Text: "Hello"})
			last := segments[len(segments)-1]
			if types(segments) != test.segments || last.ContentString() != test.text || !last.IsFinal {
				t.Errorf("segments %s, the last %+v", types(segments), last)
			}
			wantLines(t, f.history(thread.ID), test.history...)
		})
	}
}

// openIn is open with a store that outlives the service.
func openIn(t *testing.T) (*fixture, string) {
	t.Helper()
	dir := t.TempDir()
	s := must.Get(store.Open(dir))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	return &fixture{t: t, Service: New(config(s, nil, io.Discard))}, dir
}

// TestAnAnswerUnderWayIsThereAsUnfinished, and no longer when it has ended.
func TestAnAnswerUnderWayIsThereAsUnfinished(t *testing.T) {
	var f *fixture
	goOn, said := make(chan struct{}), make(chan struct{})
	f = open(t, brainFunc(func(_ context.Context, _ *brain.Question, out brain.Sink) error {
		if err := out.Say("Once "); err != nil {
			return err
		}
		close(said)
		<-goOn
		return out.Say("more.")
	}))
	who := f.caller(store.Receptionist, "ann")
	thread := f.thread(who)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.turn(who, TurnRequest{ThreadID: thread.ID, Text: "Again?"})
	}()
	<-said
	answer := func() (store.Message, bool) {
		history := must.Get(f.cfg.Store.History(t.Context(), thread.ID, 10))(t)
		return history[len(history)-1], len(history) == 2
	}
	must.Wait(t, "the draft of the answer", func() bool { _, there := answer(); return there })
	if m, _ := answer(); !m.Unfinished || m.Text() != "Once " {
		t.Errorf("under way: %q, unfinished %v", m.Text(), m.Unfinished)
	}
	close(goOn)
	<-done
	if m, _ := answer(); m.Unfinished || m.Text() != "Once more." {
		t.Errorf("at the end: %q, unfinished %v", m.Text(), m.Unfinished)
	}
}

// TestADraftIsSavedInTime: of what a client has received, a crash loses half a second and the
// time of a save.
func TestADraftIsSavedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // timers call save on goroutines of their own
		var missing time.Duration
		began := time.Now()
		d := &draft{save: func() {
			mu.Lock()
			defer mu.Unlock()
			missing, began = max(missing, time.Since(began)), time.Now()
		}}
		for range 100 {
			d.changed()
			time.Sleep(20 * time.Millisecond)
		}
		d.end()
		mu.Lock()
		defer mu.Unlock()
		missing = max(missing, time.Since(began))
		if missing > 520*time.Millisecond {
			t.Errorf("text was missing for %v", missing)
		}
	})
}
