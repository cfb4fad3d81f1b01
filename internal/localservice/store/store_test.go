package store

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// writerDir, when set, makes the test binary write messages for ever: it is the
// child process of TestKilledWriterLosesNothing.
const writerDir = "STORE_TEST_WRITER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		writeForEver(dir)
	}
	leaktest.Main(m)
}

func open(t *testing.T) *Store {
	t.Helper()
	s := must.Get(Open(""))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	return s
}

func onlyPartner(t *testing.T, s *Store) Partner {
	t.Helper()
	partners, err := s.Partners(t.Context())
	if err != nil || len(partners) != 1 {
		t.Fatalf("partners = %v, %v; want one", partners, err)
	}
	return partners[0]
}

func newThread(t *testing.T, s *Store, scope Scope) Thread {
	t.Helper()
	thread := Thread{
		ID: uuid.NewString(), PartnerID: scope.PartnerID, UserID: scope.UserID, TokenID: scope.TokenID, Widget: scope.Widget,
		AgentID: DefaultAgentID, Vars: map[string]any{}, ThreadMetadata: ThreadMetadata{Analysis: map[string]any{}},
	}
	must.Do(t, s.CreateThread(t.Context(), &thread))
	return thread
}

func say(t *testing.T, s *Store, threadID string, role Role, text, replyTo string) Message {
	t.Helper()
	content, _ := json.Marshal(text)
	m := Message{
		ID: uuid.NewString(), ThreadID: threadID, Role: role, ReplyTo: replyTo,
		Parts: []Part{{Type: "text", Content: content}},
	}
	must.Do(t, s.AddMessage(t.Context(), &m))
	return m
}

func TestSeedAgentsKeepTheirIDs(t *testing.T) {
	dir := t.TempDir()
	var seen [2][]Agent
	for i := range seen {
		s := must.Get(Open(dir))(t)
		seen[i] = must.Get(s.Agents(t.Context(), onlyPartner(t, s).ID))(t)
		must.Do(t, s.Close())
	}
	var names []string
	for i, a := range seen[0] {
		names = append(names, a.Name)
		b := seen[1][i]
		if a.ID != b.ID || a.ConfigID != b.ConfigID || a.WidgetID != b.WidgetID {
			t.Errorf("%s: ids changed: %v, then %v", a.Name, a, b)
		}
	}
	want := []string{Receptionist, Silent, Tap, Audio, Tools, NoVars}
	expect.List(t, names, want, "agents")
}

// TestDataAreForTheirOwnerOnly, also where everybody may enter the directory, and an older
// version has left files there that everybody may read.
func TestDataAreForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	must.Do(t, must.Get(Open(dir))(t).Close())
	expect.Equal(t, must.Get(os.Stat(dir))(t).Mode().Perm(), 0o700, "a new directory has the mode")
	for name, left := range map[string][]string{"new": nil, "left by an older version": {"", "-wal", "-shm"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.Chmod(dir, 0o755))
			for _, suffix := range left {
				must.Do(t, os.WriteFile(filepath.Join(dir, fileName+suffix), nil, 0o644))
			}
			s := must.Get(Open(dir))(t)
			defer s.Close()
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 3 { // the database, -wal and -shm
				t.Fatalf("%v, %v", files, err)
			}
			for _, f := range files {
				if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: mode %v, %v", f.Name(), info.Mode(), err)
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), fileName)
	if err := private(path); err != nil { // before a byte is written
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestTemporaryDataAreRemoved(t *testing.T) {
	s := must.Get(Open(""))(t)
	must.Do(t, s.Close())
	expect.Fail(os.Stat(s.tempDir))(t, os.ErrNotExist, "stat after close")
}

func TestFileOfAnotherVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(Open(dir))(t)
	must.Get(s.write.Exec("PRAGMA user_version = 999"))(t)
	must.Do(t, s.Close())
	expect.Fail(Open(dir))(t, errOther, "open")
}

// TestKilledWriterLosesNothing kills a process that writes messages and records, and
// finds everything that it had been told was stored, once.
func TestKilledWriterLosesNothing(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), writerDir+"="+dir)
	out := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	var committed []string
	decoder := json.NewDecoder(out)
	for len(committed) < 21 { // the thread's id, then twenty messages
		var id string
		must.Do(t, decoder.Decode(&id))
		committed = append(committed, id)
	}
	if err := child.Process.Kill(); err != nil { // SIGKILL: nothing can be tidied up
		t.Fatal(err)
	}
	child.Wait() //nolint:errcheck // it was killed

	s := must.Get(Open(dir))(t)
	defer s.Close()
	history := must.Get(s.History(t.Context(), committed[0], 10_000))(t)
	if len(history) < 20 {
		t.Fatalf("%d messages after the crash, want at least 20", len(history))
	}
	for i, id := range committed[1:] {
		if history[i].ID != id || history[i].Text() != "message "+strconv.Itoa(i) {
			t.Errorf("message %d: %s %q, want %s", i, history[i].ID, history[i].Text(), id)
		}
		// The request of a record, which its client repeats after the crash.
		if again, err := notes(s).Create(WithRequest(t.Context(), id), 1, note{Name: "again"}); err != nil || again.Body.Name != id {
			t.Errorf("record %d: %v, %v", i, again, err)
		}
	}
	if _, total, err := notes(s).List(t.Context(), 1, Query{}); err != nil || total < 20 || total > len(history) {
		t.Errorf("%d records after the crash for %d messages, %v", total, len(history), err)
	}
}

func writeForEver(dir string) {
	ctx := context.Background()
	s, err := Open(dir)
	if err != nil {
		panic(err)
	}
	partners, err := s.Partners(ctx)
	if err != nil {
		panic(err)
	}
	thread := Thread{ID: uuid.NewString(), PartnerID: partners[0].ID, AgentID: DefaultAgentID}
	if err := s.CreateThread(ctx, &thread); err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	report := func(id string) {
		if err := out.Encode(id); err != nil {
			panic(err)
		}
	}
	report(thread.ID)
	for i := 0; ; i++ {
		text, _ := json.Marshal("message " + strconv.Itoa(i))
		m := Message{ID: uuid.NewString(), ThreadID: thread.ID, Role: Human, Parts: []Part{{Type: "text", Content: text}}}
		if err := s.AddMessage(ctx, &m); err != nil {
			panic(err)
		}
		if _, err := notes(s).Create(WithRequest(ctx, m.ID), 1, note{Name: m.ID}); err != nil {
			panic(err)
		}
		report(m.ID)
	}
}

// TestNothingOfADeletedThreadIsLeft, nor can anything be added to it.
func TestNothingOfADeletedThreadIsLeft(t *testing.T) {
	s := open(t)
	scope := Scope{PartnerID: onlyPartner(t, s).ID, UserID: "ann"}
	ctx := t.Context()
	thread := newThread(t, s, scope)
	say(t, s, thread.ID, Human, "hello", "")
	must.Get(s.UpdateThread(ctx, scope, thread.ID, func(t *Thread) error {
		t.Outcome.Summary = &Summary{Status: Available, Content: "They said hello."}
		return nil
	}))(t)
	setVars := func() error {
		return s.ChangeThreadState(ctx, thread.ID, func(state *ThreadState) { state.Vars = map[string]any{"contact": 7} })
	}
	must.Do(t, setVars())
	must.Get(s.DeleteThreads(ctx, scope, []string{thread.ID}))(t)
	late := Message{ID: uuid.NewString(), ThreadID: thread.ID, Role: AI}
	expect.Error(t, s.AddMessage(ctx, &late), ErrNotFound, "add")
	expect.Error(t, setVars(), ErrNotFound, "change")
	var kept int
	var outcome, state string
	row := s.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM messages WHERE thread_id = threads.id), outcome, state FROM threads WHERE id = ?`, thread.ID)
	if err := row.Scan(&kept, &outcome, &state); err != nil || kept != 0 || outcome+state != "{}{}" {
		t.Errorf("%d messages, the outcome %s and the state %s are kept (%v)", kept, outcome, state, err)
	}
}

// TestATurnThatIsSentAgainIsStoredOnce, also when it has become a part of another
// question meanwhile.
func TestATurnThatIsSentAgainIsStoredOnce(t *testing.T) {
	s := open(t)
	scope := Scope{PartnerID: onlyPartner(t, s).ID}
	thread, other := newThread(t, s, scope), newThread(t, s, scope)
	ask := func(thread, text, replaces string, ids ...string) (Message, error) {
		m := Message{ID: uuid.NewString(), ThreadID: thread, Role: Human, Parts: []Part{{Type: "text", Content: []byte(`"` + text + `"`)}}}
		return m, s.AddQuestion(t.Context(), &m, ids, replaces)
	}
	want := func(lines ...string) {
		t.Helper()
		history, err := s.History(t.Context(), thread.ID, 10)
		got := []string{}
		for _, m := range history {
			got = append(got, m.Text())
		}
		if err != nil || !slices.Equal(got, lines) {
			t.Errorf("history %q, %v; want %q", got, err, lines)
		}
	}
	has := func(id string, want bool) {
		t.Helper()
		if got, err := s.HasTurn(t.Context(), thread.ID, id); err != nil || got != want {
			t.Errorf("turn %s: %v, %v; want %v", id, got, err, want)
		}
	}
	has("t-1", false)
	first := must.Get(ask(thread.ID, "one", "", "t-1"))(t)
	has("t-1", true)
	expect.Fail(ask(thread.ID, "one", "", "t-1"))(t, ErrRepeated, "the same turn again")
	if _, err := ask(other.ID, "one", "", "t-1"); err != nil {
		t.Errorf("the same id in another thread: %v", err)
	}
	say(t, s, thread.ID, AI, "answer", first.ID)
	want("one", "answer")
	must.Get(ask(thread.ID, "one two", first.ID, "t-1", "t-2"))(t)
	want("one two")
	has("t-1", true)
	has("t-2", true)
	expect.Fail(ask(thread.ID, "two", "", "t-2"))(t, ErrRepeated, "the second part again")
	expect.Fail(ask(thread.ID, "three, two", first.ID, "t-3", "t-2"))(t, ErrRepeated, "a question with a part that is there")
	has("t-3", false) // with the rest of it
	want("one two")
}

func TestHistoryIsTheEndOfTheThread(t *testing.T) {
	s := open(t)
	thread := newThread(t, s, Scope{PartnerID: onlyPartner(t, s).ID})
	texts := func(limit int) []string {
		t.Helper()
		history := must.Get(s.History(t.Context(), thread.ID, limit))(t)
		var list []string
		for _, m := range history {
			list = append(list, m.Text()[:1])
		}
		return list
	}
	say(t, s, thread.ID, Human, "0"+strings.Repeat("x", HistoryBytes/2), "")
	for _, text := range []string{"1", "2", "3"} {
		say(t, s, thread.ID, Human, text, "")
	}
	expect.List(t, texts(2), []string{"2", "3"}, "last two")
	expect.List(t, texts(10), []string{"0", "1", "2", "3"}, "all")
	say(t, s, thread.ID, Human, "4"+strings.Repeat("x", HistoryBytes/2), "")
	expect.List(t, texts(10), []string{"1", "2", "3", "4"}, "within the bytes")
}

func TestFeedbackIsIdempotent(t *testing.T) {
	s := open(t)
	scope := Scope{PartnerID: onlyPartner(t, s).ID, UserID: "ann"}
	ctx := t.Context()
	m := say(t, s, newThread(t, s, scope).ID, AI, "hello", "")
	comment := "nice"
	rate := func(positive bool) Feedback {
		t.Helper()
		return must.Get(s.AddFeedback(ctx, scope, Feedback{MessageID: m.ID, IsPositive: positive, Comment: comment}))(t)
	}
	first := rate(true)
	if again := rate(true); again != first {
		t.Errorf("the same rating changed %v to %v", first, again)
	}
	comment = "very nice"
	if first = rate(true); first.Comment != comment {
		t.Errorf("the same rating with another comment: %v", first)
	}
	comment = ""
	if again := rate(true); again != first {
		t.Errorf("the same rating without its comment changed %v to %v", first, again)
	}
	if turned := rate(false); turned.IsPositive || turned.Comment != "" || turned.CreatedAt != first.CreatedAt {
		t.Errorf("after a second thought: %v", turned)
	}
	for _, tt := range []struct {
		positive []bool
		want     int
	}{{nil, 1}, {[]bool{false}, 1}, {[]bool{true}, 0}, {[]bool{true, false}, 1}} {
		if _, total, err := s.Messages(ctx, scope, MessageFilter{Positive: tt.positive}, Page{Limit: 30}); err != nil || total != tt.want {
			t.Errorf("messages rated %v: %d, %v; want %d", tt.positive, total, err, tt.want)
		}
	}
}

func TestSearchKnowledge(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	passages := []Passage{
		{Title: "Fruit", Heading: "Apples", Body: "An apple a day.", Source: "fruit.md"},
		{Title: "Fruit", Heading: "Pears", Body: "Sweeter than apples.", Source: "fruit.md"},
	}
	for range 2 { // setting it again replaces it
		must.Do(t, s.SetDocuments(ctx, passages))
	}
	for _, tt := range []struct {
		words string
		want  []string
	}{
		{"Tell me about APPLES", []string{"Apples", "Pears"}},
		{"pear?", []string{"Pears"}},
		{"plums", nil},
		{"", nil},
		{`") OR (title:*`, nil},
		{"NEAR NOT AND", nil},
	} {
		hits, err := s.SearchKnowledge(ctx, []int64{DocumentsID}, tt.words, 5)
		if err != nil {
			t.Fatalf("%q: %v", tt.words, err)
		}
		var headings []string
		for _, hit := range hits {
			headings = append(headings, hit.Heading)
		}
		expect.List(t, headings, tt.want, "%q", tt.words)
	}
}

// TestAQueryHasEachWordOnce, and at most so many: each takes time.
func TestAQueryHasEachWordOnce(t *testing.T) {
	if got := matchAny(strings.Repeat("a* OR A ", 1000)); got != `"a" OR "or"` {
		t.Errorf("got %.100s", got)
	}
	var many strings.Builder
	for i := range 10 * maxQueryWords {
		many.WriteString(strconv.Itoa(i) + " ")
	}
	expect.Equal(t, len(strings.Split(matchAny(many.String()), " OR ")), maxQueryWords, "words")
}

func TestCancelledContextWaitsForNothing(t *testing.T) {
	s := open(t)
	tx := must.Get(s.write.Begin())(t) // it holds the only writer
	defer tx.Rollback()                //nolint:errcheck // nothing was written
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Error(t, s.SetDocuments(ctx, nil), context.Canceled, "write")
}

// FuzzSearchKnowledge: what a user types is words, whatever they mean to FTS5.
func FuzzSearchKnowledge(f *testing.F) {
	s := must.Get(Open(""))(f)
	f.Cleanup(func() { s.Close() })
	must.Do(f, s.SetDocuments(f.Context(), []Passage{{Title: "t", Heading: "h", Body: "one two", Source: "s"}}))
	for _, seed := range []string{"", "one", `"one`, "one NEAR(two)", "title:one", "one* OR -two", "^one", "\x00one", "'; DROP TABLE threads", "\xff\xfe"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, words string) {
		if _, err := s.SearchKnowledge(t.Context(), []int64{DocumentsID}, words, 3); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	})
}
