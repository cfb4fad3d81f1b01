package store

import (
	"context"
	"encoding/json"
	"errors"
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

func TestPresetsAreListedInTheirOrder(t *testing.T) {
	s := must.Get(Open(""))(t)
	defer s.Close()
	items, _, err := s.Catalog().List(t.Context(), onlyPartner(t, s).ID, Query{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range items {
		names = append(names, item.Body.Texts("visual")["name"]+item.Body.Texts("voice")["name"])
	}
	expect.List(t, names, []string{"Robin", "Ada", "Noor", "Ben", "Clear", "Deep", "Bright", "Klar"}, "presets")
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

func TestScopeHidesOtherUsersThreads(t *testing.T) {
	s := open(t)
	partner := onlyPartner(t, s).ID
	ann := Scope{PartnerID: partner, UserID: "ann", TokenID: "t1"}
	bob := Scope{PartnerID: partner, UserID: "bob", TokenID: "t2"}
	nobody := Scope{PartnerID: partner, TokenID: "t3"}
	otherAnonymous := Scope{PartnerID: partner, TokenID: "t4"}
	admin := Scope{PartnerID: partner, UserID: "root", Admin: true}
	otherPartner := Scope{PartnerID: partner + 1, UserID: "ann", Admin: true}

	anns, anonymousThread := newThread(t, s, ann), newThread(t, s, nobody)
	question := say(t, s, anns.ID, Human, "hello", "")
	say(t, s, anonymousThread.ID, Human, "hello", "")

	for _, tt := range []struct {
		name     string
		scope    Scope
		reads    bool // Ann's thread by its id
		threads  int  // in a list
		messages int
	}{
		{"owner", ann, true, 1, 1},
		{"other user", bob, false, 0, 0},
		{"anonymous owner", nobody, false, 1, 1},
		{"another anonymous", otherAnonymous, false, 0, 0},
		{"admin", admin, true, 2, 2},
		{"admin of another partner", otherPartner, false, 0, 0},
		{"zero scope", Scope{}, false, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			_, err := s.Thread(ctx, tt.scope, anns.ID)
			if (err == nil) != tt.reads || (err != nil && !errors.Is(err, ErrNotFound)) {
				t.Errorf("thread: %v, readable should be %v", err, tt.reads)
			}
			_, err = s.Message(ctx, tt.scope, question.ID)
			if (err == nil) != tt.reads {
				t.Errorf("message: %v, readable should be %v", err, tt.reads)
			}
			_, total, err := s.Threads(ctx, tt.scope, ThreadFilter{}, Page{Limit: 30})
			if err != nil || total != tt.threads {
				t.Errorf("threads: %d, %v; want %d", total, err, tt.threads)
			}
			_, total, err = s.Messages(ctx, tt.scope, MessageFilter{}, Page{Limit: 30})
			if err != nil || total != tt.messages {
				t.Errorf("messages: %d, %v; want %d", total, err, tt.messages)
			}
			if !tt.reads {
				expect.Fail(s.UpdateThread(ctx, tt.scope, anns.ID, func(*Thread) error { return nil }))(t, ErrNotFound, "update")
				if deleted, err := s.DeleteThreads(ctx, tt.scope, []string{anns.ID}); err != nil || len(deleted) != 0 {
					t.Errorf("delete: %v, %v; want none", deleted, err)
				}
				expect.Fail(s.AddFeedback(ctx, tt.scope, Feedback{MessageID: question.ID}))(t, ErrNotFound, "feedback")
			}
		})
	}
	// A page that is reloaded gets a new anonymous token, but still has its thread's id.
	if _, err := s.Thread(t.Context(), otherAnonymous, anonymousThread.ID); err != nil {
		t.Errorf("anonymous thread by its id: %v", err)
	}
	// A visitor of a widget is known by the token alone, which no other anonymous caller has.
	widgets := newThread(t, s, Scope{PartnerID: partner, TokenID: "t5", Widget: true})
	expect.Fail(s.Thread(t.Context(), otherAnonymous, widgets.ID))(t, ErrNotFound, "a widget's thread without its token")
	// A visitor with a widget token can't access what was created with another token.
	otherAnonymous.Widget = true
	expect.Fail(s.Thread(t.Context(), otherAnonymous, anonymousThread.ID))(t, ErrNotFound, "anonymous thread with another widget token")
}

// TestRatingsOfASharedMessage: each caller has their own.
func TestRatingsOfASharedMessage(t *testing.T) {
	s := open(t)
	must.Get(s.write.Exec(`INSERT INTO partners VALUES (1, 's');
		INSERT INTO threads VALUES ('t', 1, 'ann', '', '', 7, '', 'active', '', '{}', '{}', 0, 0, NULL, '{}', '{}', 0);
		INSERT INTO messages VALUES (1, 'm', 't', 1, 'ann', 7, 'ai', '', '', '[]', 0, 0, 0, ''), (2, 'copy', NULL, 1, 'ann', 7, 'ai', '', '', '[]', 0, 0, 0, 't');
		INSERT INTO feedback VALUES ('m', '', 'ann', 1, 'good', 0, 0), ('copy', 'user:ann', 'ann', 1, 'good', 0, 0)`))(t)
	ann, bob := Scope{PartnerID: 1, UserID: "ann"}, Scope{PartnerID: 1, UserID: "bob"}
	visitor, other := Scope{PartnerID: 1, TokenID: "v1", Widget: true}, Scope{PartnerID: 1, TokenID: "v2", Widget: true}
	for _, scope := range []Scope{bob, visitor} {
		f, err := s.AddFeedback(t.Context(), scope, Feedback{MessageID: "copy", Comment: "bad"})
		if err != nil || f.IsPositive || f.Comment != "bad" {
			t.Errorf("feedback of %v: %v, %v", scope, f, err)
		}
	}
	for _, tt := range []struct {
		scope Scope
		id    string
		want  string
	}{{ann, "m", "good"}, {ann, "copy", "good"}, {bob, "copy", "bad"}, {visitor, "copy", "bad"}, {other, "copy", ""}} {
		var got string
		m, err := s.Message(t.Context(), tt.scope, tt.id)
		if m.Rating != nil {
			got = m.Rating.Comment
		}
		if err != nil || got != tt.want {
			t.Errorf("%v reads the comment %q of %s, want %q (%v)", tt.scope, got, tt.id, tt.want, err)
		}
	}
	expect.Fail(s.Message(t.Context(), Scope{PartnerID: 2, Admin: true}, "copy"))(t, ErrNotFound, "another partner's copy")
}

func TestDeletedThreadIsGone(t *testing.T) {
	s := open(t)
	scope := Scope{PartnerID: onlyPartner(t, s).ID, UserID: "ann"}
	ctx := t.Context()
	thread := newThread(t, s, scope)
	m := say(t, s, thread.ID, Human, "hello", "")
	shared := must.Get(s.ShareMessage(ctx, scope, m.ID, "For Bob"))(t)
	must.Get(s.UpdateThread(ctx, scope, thread.ID, func(t *Thread) error {
		t.Outcome.Summary = &Summary{Status: Available, Content: "They said hello."}
		return nil
	}))(t)
	must.Do(t, s.ChangeThreadState(ctx, thread.ID, func(state *ThreadState) { state.Vars = map[string]any{"contact": 7} }))
	for range 2 { // the reply to the first request may have been lost
		deleted, err := s.DeleteThreads(WithRequest(ctx, "key"), scope, []string{thread.ID, "x"})
		if err != nil || len(deleted) != 1 || deleted[0].ID != thread.ID {
			t.Fatalf("deleted %v, %v; want one", deleted, err)
		}
	}
	if deleted, err := s.DeleteThreads(WithRequest(ctx, "another"), scope, []string{thread.ID}); err != nil || len(deleted) != 0 {
		t.Errorf("deleted with another key: %v, %v; want none", deleted, err)
	}
	if deleted, err := s.DeleteThreads(ctx, scope, []string{thread.ID}); err != nil || len(deleted) != 0 {
		t.Errorf("deleted again: %v, %v; want none", deleted, err)
	}
	expect.Fail(s.Message(ctx, scope, m.ID))(t, ErrNotFound, "message")
	late := Message{ID: uuid.NewString(), ThreadID: thread.ID, Role: AI}
	expect.Error(t, s.AddMessage(ctx, &late), ErrNotFound, "add")
	if err := s.ChangeThreadState(ctx, thread.ID, func(state *ThreadState) { state.Vars = map[string]any{"contact": 8} }); !errors.Is(err, ErrNotFound) {
		t.Errorf("change: %v, want %v", err, ErrNotFound)
	}
	var kept int
	if err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM messages WHERE thread_id = ?`, thread.ID).Scan(&kept); err != nil || kept != 0 {
		t.Errorf("%d messages of the thread are kept (%v)", kept, err)
	}
	var outcome, state string
	if err := s.read.QueryRowContext(ctx, `SELECT outcome, state FROM threads WHERE id = ?`, thread.ID).Scan(&outcome, &state); err != nil || outcome+state != "{}{}" {
		t.Errorf("of the thread are kept the outcome %s and the state %s (%v)", outcome, state, err)
	}
	bob := Scope{PartnerID: scope.PartnerID, UserID: "bob"}
	copied, err := s.Message(ctx, bob, shared)
	if err != nil || copied.Text() != "hello" || copied.Title != "For Bob" {
		t.Errorf("shared copy: %q %q, %v", copied.Text(), copied.Title, err)
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
