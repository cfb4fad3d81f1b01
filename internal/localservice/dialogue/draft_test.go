package dialogue

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/runtime/converse"
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
			db, err := sql.Open("sqlite", filepath.Join(dir, "localservice.db"))
			if err != nil {
				t.Fatal(err)
			}
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
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t: t, Service: New(Config{Store: s})}, dir
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
		history, err := f.cfg.Store.History(t.Context(), thread.ID, 10)
		if err != nil {
			t.Fatal(err)
		}
		return history[len(history)-1], len(history) == 2
	}
	limit := time.After(time.Minute)
	for there := false; !there; _, there = answer() { // the store has no event for a write
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Fatal("not stored while it is given")
		}
	}
	if m, _ := answer(); !m.Unfinished || m.Text() != "Once " {
		t.Errorf("under way: %q, unfinished %v", m.Text(), m.Unfinished)
	}
	close(goOn)
	<-done
	if m, _ := answer(); m.Unfinished || m.Text() != "Once more." {
		t.Errorf("at the end: %q, unfinished %v", m.Text(), m.Unfinished)
	}
}

// answererDir, when set, makes the test binary give an answer without end: it is the
// child process of TestAKilledAnswerLeavesWhatWasSeen.
const answererDir = "DIALOGUE_TEST_ANSWERER_DIR"

// piecesInASecond is how many pieces of an answer that process gives in a second, at most.
const piecesInASecond = 50

// TestAKilledAnswerLeavesWhatWasSeen up to a second before, and the mark that the turn
// broke.
func TestAKilledAnswerLeavesWhatWasSeen(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), answererDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var thread string
	var seen []string
	lines := bufio.NewScanner(out)
	for len(seen) < 2*piecesInASecond && lines.Scan() {
		if thread == "" {
			thread = lines.Text()
			continue
		}
		seen = append(seen, lines.Text()+" ")
	}
	if err := child.Process.Kill(); err != nil { // SIGKILL: nothing can be tidied up
		t.Fatal(err)
	}
	child.Wait() //nolint:errcheck // it was killed

	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	history, err := s.History(t.Context(), thread, 10)
	if err != nil || len(history) != 2 {
		t.Fatalf("history %+v, %v", history, err)
	}
	question, answer := history[0], history[1]
	if question.Text() != "Count!" || question.Unfinished || !answer.Unfinished {
		t.Errorf("question %q, unfinished %v; answer unfinished %v", question.Text(), question.Unfinished, answer.Unfinished)
	}
	// A second of the service's own time: on a busy machine it may stand still for longer than that
	// before it is killed, and then it stores nothing and says nothing.
	old := strings.Join(seen[:max(0, len(seen)-piecesInASecond)], "")
	if old == "" || !strings.HasPrefix(answer.Text(), old) {
		t.Errorf("stored %q; seen a second before: %q", answer.Text(), old)
	}
	t.Logf("measured: of %d pieces seen, %d were stored when the service was killed", len(seen), len(strings.Fields(answer.Text())))
}

func answerForEver(dir string) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	s, err := store.Open(dir)
	check(err)
	partners, err := s.Partners(ctx)
	check(err)
	agents, err := s.Agents(ctx, partners[0].ID)
	check(err)
	service := New(Config{Store: s, Brain: brainFunc(func(_ context.Context, _ *brain.Question, out brain.Sink) error {
		for i := 0; ; i++ {
			check(out.Say(fmt.Sprint(i, " ")))
			time.Sleep(time.Second / piecesInASecond)
		}
	})})
	who := Caller{Claims: token.Claims{PartnerID: partners[0].ID, UserID: "ann", ID: "t"}, Agent: agents[0]}
	thread, err := service.Open(ctx, who, "", Context{})
	check(err)
	fmt.Println(thread.ID)
	_, err = service.Turn(ctx, who, TurnRequest{ThreadID: thread.ID, Text: "Count!"}, func(seg converse.Segment) error {
		if seg.Type.Spoken() {
			var text string
			if raw, err := json.Marshal(seg.Content); err == nil && json.Unmarshal(raw, &text) == nil {
				fmt.Println(strings.TrimSpace(text))
			}
		}
		return nil
	})
	check(err)
}
