package dialogue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/store/storetest"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type brainFunc func(context.Context, *brain.Question, brain.Sink) error

func (f brainFunc) Answer(ctx context.Context, q *brain.Question, out brain.Sink) error {
	return f(ctx, q, out)
}

// saying is a brain that says one thing.
func saying(text string) brainFunc {
	return func(_ context.Context, _ *brain.Question, out brain.Sink) error { return out.Say(text) }
}

type fixture struct {
	*Service
	t   *testing.T
	log bytes.Buffer
}

func open(t *testing.T, b brain.Brain) *fixture {
	t.Helper()
	s, _ := storetest.Open(t)
	f := &fixture{t: t}
	f.Service = New(config(s, b, &f.log))
	return f
}

// config is a service without tools, with its log.
func config(s *store.Store, b brain.Brain, log io.Writer) Config {
	return Config{
		Store: s, Brain: b, Logger: slog.New(slog.NewTextHandler(log, nil)), Site: func() string { return "" },
		Work: &quota.Pace{}, Observe: func(bool, time.Duration, time.Duration, error) {},
	}
}

func (f *fixture) caller(agent, user string) Caller {
	f.t.Helper()
	a := storetest.Agent(f.t, f.cfg.Store, agent)
	return Caller{Claims: token.Claims{PartnerID: a.PartnerID, UserID: user, ID: "token-" + user}, Agent: a}
}

func (f *fixture) thread(who Caller) store.Thread {
	f.t.Helper()
	return must.Get(f.Open(context.Background(), who, "", Context{}))(f.t)
}

// turn runs a turn to its end and returns what was emitted.
func (f *fixture) turn(who Caller, req TurnRequest) (TurnResult, []converse.Segment) {
	f.t.Helper()
	var segments []converse.Segment
	result := must.Get(f.Turn(context.Background(), who, req, func(seg converse.Segment) error {
		segments = append(segments, seg)
		return nil
	}))(f.t)
	return result, segments
}

func (f *fixture) history(threadID string) []string {
	f.t.Helper()
	messages := must.Get(f.cfg.Store.History(context.Background(), threadID, 100))(f.t)
	var lines []string
	for _, m := range messages {
		lines = append(lines, string(m.Role)+": "+m.Text())
	}
	return lines
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func types(segments []converse.Segment) string {
	var list []string
	for _, seg := range segments {
		list = append(list, string(seg.Type))
	}
	return strings.Join(list, " ")
}

func TestOpeningIsRenderedAndKeptOnce(t *testing.T) {
	f := open(t, saying("ok"))
	ctx := t.Context()
	who := f.caller(store.Receptionist, "ann")
	thread := f.thread(who)
	want := "Hello Sam! I'm Robin, the demo receptionist. How can I help you?"
	for range 2 { // a session that comes back says it again
		phrase, messageID, err := f.Opening(ctx, who, thread, Context{Vars: map[string]any{"user_name": "Sam"}})
		if err != nil || phrase != want || messageID == "" {
			t.Errorf("opening %q, %q, %v; want %q", phrase, messageID, err, want)
		}
	}
	wantLines(t, f.history(thread.ID), "opening: "+want)
}

func TestSilentAndEmptyOpeningsAreSilent(t *testing.T) {
	f := open(t, saying("ok"))
	ctx := t.Context()
	for _, phrase := range []string{"<blank>", "", "{{ nothing }}"} {
		who := f.caller(store.Silent, "ann")
		who.Agent.Profile.Opening = phrase
		thread := f.thread(who)
		got, _, err := f.Opening(ctx, who, thread, Context{})
		if err != nil || got != signaling.SilentOpening {
			t.Errorf("%q: opening %q, %v; want %q", phrase, got, err, signaling.SilentOpening)
		}
		wantLines(t, f.history(thread.ID))
	}
}

func TestOpeningIgnoresVariablesOfAnAgentWithoutThem(t *testing.T) {
	f := open(t, saying("ok"))
	who := f.caller(store.NoVars, "ann")
	who.Agent.Profile.Opening = "Hello {{ user_name | default('there') }}"
	thread := f.thread(who)
	if got, _, err := f.Opening(t.Context(), who, thread, Context{Vars: map[string]any{"user_name": "Sam"}}); err != nil || got != "Hello there" {
		t.Errorf("opening %q, %v", got, err)
	}
}

func TestTurnOfAnAvatar(t *testing.T) {
	var variables string
	f := open(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		variables = brain.Render("{{ sys__avatar_enabled }} {{ sys__context_id }} {{ sys__context_type }} {{ sys__user_message }} {{ sys__is_new_thread }}", q.Vars)
		return errors.Join(out.Filler("Hm."), out.Say("Yes."))
	}))
	result, segments := f.turn(f.caller(store.Receptionist, "ann"), TurnRequest{
		Text: "Really?", Context: Context{Avatar: true, ContextID: "991", ContextType: "category"},
	})
	expect.Equal(t, types(segments), "think avatar-filler avatar-filler avatar avatar thread share think", "segments")
	if segments[0].ThreadID != result.ThreadID || segments[0].MessageID != result.MessageID || !segments[len(segments)-1].IsFinal {
		t.Errorf("first %+v, last %+v, result %+v", segments[0], segments[len(segments)-1], result)
	}
	if result.Text != "Hm.Yes." || variables != "true 991 category Really? true" {
		t.Errorf("text %q, variables %q", result.Text, variables)
	}
	wantLines(t, f.history(result.ThreadID), "human: Really?", "ai: Hm.Yes.")
}

func TestVariablesOfASessionAreNotStored(t *testing.T) {
	var seen []string
	f := open(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		seen = append(seen, brain.Render("{{ a }}", q.Vars))
		return out.Say("ok")
	}))
	who := f.caller(store.Receptionist, "ann")
	result, _ := f.turn(who, TurnRequest{Text: "x", Context: Context{Vars: map[string]any{"a": "1"}}})
	f.turn(who, TurnRequest{Text: "x", ThreadID: result.ThreadID})
	f.turn(who, TurnRequest{Text: "x", ThreadID: result.ThreadID, MergeVars: true})
	expect.Equal(t, strings.Join(seen, ","), "1,,", "variables")
}

func TestKeepSpokenCutsTheAnswer(t *testing.T) {
	f := open(t, brainFunc(func(_ context.Context, _ *brain.Question, out brain.Sink) error {
		return errors.Join(out.Say("One two three."), out.Widget("followups-tool", "questions:"))
	}))
	who := f.caller(store.Receptionist, "ann")
	result, _ := f.turn(who, TurnRequest{Text: "Count!", Context: Context{Avatar: true}})
	must.Do(t, f.KeepSpoken(t.Context(), f.caller(store.Receptionist, "bob"), result.MessageID, "stolen"))
	must.Do(t, f.KeepSpoken(t.Context(), who, result.MessageID, "One two"))
	wantLines(t, f.history(result.ThreadID), "human: Count!", "ai: One two")
	m, err := f.cfg.Store.Message(t.Context(), who.Scope(), result.MessageID)
	if err != nil || len(m.Parts) != 2 || m.Parts[1].Type != "unisphere-tool" {
		t.Errorf("parts %+v, %v; want the widget kept", m.Parts, err)
	}
}

// TestAQuestionTakesThePlaceOfAnother in the thread, and in what the brain is shown.
func TestAQuestionTakesThePlaceOfAnother(t *testing.T) {
	var shown []brain.Line
	f := open(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		shown = q.History
		return out.Say("ok")
	}))
	who := f.caller(store.Receptionist, "ann")
	kept, _ := f.turn(who, TurnRequest{Text: "kept"})
	gone, _ := f.turn(who, TurnRequest{Text: "gone", ThreadID: kept.ThreadID})
	f.turn(who, TurnRequest{Text: "gone too", ThreadID: kept.ThreadID, Replaces: gone.QuestionID})
	wantLines(t, f.history(kept.ThreadID), "human: kept", "ai: ok", "human: gone too", "ai: ok")
	if len(shown) != 2 || shown[0].Text != "kept" {
		t.Errorf("the brain was shown %+v", shown)
	}
}

// TestARepeatedTurnIsEmpty: a client may send a turn again whose acknowledgement it
// has lost.
func TestARepeatedTurnIsEmpty(t *testing.T) {
	f := open(t, saying("ok"))
	who := f.caller(store.Receptionist, "ann")
	stored := 0
	ask := TurnRequest{Text: "once", ClientTurns: []string{"t-1"}, Stored: func() { stored++ }}
	first, _ := f.turn(who, ask)
	ask.ThreadID = first.ThreadID
	again, err := f.Turn(t.Context(), who, ask, func(seg converse.Segment) error {
		t.Errorf("emitted %+v", seg)
		return nil
	})
	if !errors.Is(err, store.ErrRepeated) || again.MessageID != "" || stored != 1 {
		t.Errorf("again: %+v, %v; stored %d times", again, err, stored)
	}
	wantLines(t, f.history(first.ThreadID), "human: once", "ai: ok")
}

// TestStoppedTurnsEndSoonAndKeepWhatWasSaid: the log has the reason and the times, and no text.
func TestStoppedTurnsEndSoonAndKeepWhatWasSaid(t *testing.T) {
	var cancelled, stopped time.Time
	f := open(t, brainFunc(func(ctx context.Context, _ *brain.Question, out brain.Sink) error {
		if err := out.Say("Once upon "); err != nil {
			return err
		}
		<-ctx.Done()
		stopped = time.Now() // the answer is stored after it, however long that takes
		return ctx.Err()
	}))
	for _, tt := range []struct {
		reason    string
		cause, as error
	}{{"client gone", ErrClientGone, ErrClientGone}, {"aborted", ErrAborted, nil}, {"cancelled", nil, context.Canceled}} {
		f.log.Reset()
		ctx, cancel := context.WithCancelCause(t.Context())
		result, err := f.Turn(ctx, f.caller(store.Receptionist, "ann"), TurnRequest{Text: "A story!"}, func(seg converse.Segment) error {
			if seg.Type.Spoken() {
				cancelled = time.Now()
				cancel(tt.cause)
			}
			return nil
		})
		if took := stopped.Sub(cancelled); took > 200*time.Millisecond {
			t.Errorf("%s: stopped after %v, want at most 200ms", tt.reason, took)
		}
		if !errors.Is(err, tt.as) || result.Text != "Once upon " {
			t.Errorf("%s: %+v, %v, want the error %v", tt.reason, result, err, tt.as)
		}
		wantLines(t, f.history(result.ThreadID), "human: A story!", "ai: Once upon ")
		line := f.log.String()
		for _, want := range []string{`msg="turn stopped"`, "reason=", tt.reason, "took=", "ended_at=", "stopped_after="} {
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %s in %s", tt.reason, want, line)
			}
		}
		if strings.Contains(line, "story") || strings.Contains(line, "Once") {
			t.Errorf("%s: the log has what was said: %s", tt.reason, line)
		}
	}
}

func TestTurnsOfOneThreadRunInOrder(t *testing.T) {
	running := make(chan string)
	release := make(chan struct{})
	f := open(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		running <- q.Text
		<-release
		return out.Say(fmt.Sprint(len(q.History)))
	}))
	who := f.caller(store.Receptionist, "ann")
	thread := f.thread(who)
	done := make(chan error, maxWaiting+2)
	start := func(text string) {
		go func() {
			_, err := f.Turn(context.Background(), who, TurnRequest{ThreadID: thread.ID, Text: text}, func(converse.Segment) error { return nil })
			done <- err
		}()
	}
	start("turn 0")
	if got := <-running; got != "turn 0" {
		t.Fatalf("running %q", got)
	}
	for i := 1; i <= maxWaiting; i++ {
		start(fmt.Sprint("turn ", i))
		must.Wait(t, "the turn in the queue", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.queues[thread.ID].users == i+1
		})
	}
	expect.Fail(f.Turn(t.Context(), who, TurnRequest{ThreadID: thread.ID, Text: "too many"}, nil))(t, ErrBusy, "one more")
	release <- struct{}{}
	for i := 1; i <= maxWaiting; i++ {
		expect.Equal(t, <-running, fmt.Sprint("turn ", i), "running")
		release <- struct{}{}
	}
	for range maxWaiting + 1 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	history := f.history(thread.ID)
	if last := history[len(history)-1]; last != fmt.Sprint("ai: ", 2*maxWaiting) {
		t.Errorf("the last turn saw %s lines, want %d", last, 2*maxWaiting)
	}
	expect.Equal(t, len(f.queues), 0, "queues are left")
}

func TestWaitingTurnCanBeCancelled(t *testing.T) {
	started := make(chan struct{})
	f := open(t, brainFunc(func(ctx context.Context, _ *brain.Question, _ brain.Sink) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}))
	who := f.caller(store.Receptionist, "ann")
	thread := f.thread(who)
	first := make(chan error, 1)
	go func() {
		_, err := f.Turn(context.Background(), who, TurnRequest{ThreadID: thread.ID, Text: "first"}, func(converse.Segment) error { return nil })
		first <- err
	}()
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	expect.Fail(f.Turn(ctx, who, TurnRequest{ThreadID: thread.ID, Text: "second"}, nil))(t, context.DeadlineExceeded, "second turn")
	f.Abort(who.Scope(), thread.ID)
	expect.Equal(t, <-first, nil, "aborted turn")
	wantLines(t, f.history(thread.ID), "human: first", "ai: ")
}

func TestOldConsentsAreForgotten(t *testing.T) {
	s := New(Config{})
	first := s.requestConsent(consent{threadID: "a", tool: "mail"})
	for range rememberedConsents {
		s.requestConsent(consent{threadID: "b", tool: "mail"})
	}
	if _, _, ok := s.AskedConsent(first); ok || len(s.consents.byState) != rememberedConsents {
		t.Errorf("%d are known, the oldest %v", len(s.consents.byState), ok)
	}
}

// TestUnansweredToolGoesOnAfterItsTimeout runs in virtual time.
func TestUnansweredToolGoesOnAfterItsTimeout(t *testing.T) {
	for _, tt := range []struct {
		seconds int
		want    time.Duration
	}{{0, 30 * time.Second}, {10, 10 * time.Second}, {-5, time.Second}, {1000, 120 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Config{})
			id, answer := s.expect(store.Scope{}, "x")
			began := time.Now()
			result, err := await(t.Context(), answer, store.ToolDef{ToolConfig: store.ToolConfig{TimeoutSeconds: tt.seconds}})
			s.giveUp(id)
			if err != nil || result.Answered || string(result.Response) != `{"status":"timeout"}` {
				t.Errorf("result %+v, %v", result, err)
			}
			expect.Equal(t, time.Since(began), tt.want, "%d seconds: waited", tt.seconds)
			late := ToolAnswer{Name: "x", ID: id, InvocationID: id, Response: json.RawMessage(`{}`)}
			expect.Equal(t, s.ToolResponse(store.Scope{}, late), nil, "late answer")
		})
	}
}

func TestFinishedCallsAreForgottenInTime(t *testing.T) {
	s := New(Config{})
	for range rememberedCalls + 10 {
		id, _ := s.expect(store.Scope{}, "x")
		s.giveUp(id)
	}
	if len(s.calls.byID) != rememberedCalls || len(s.calls.finished) != rememberedCalls {
		t.Errorf("%d calls are known, %d in order; want %d", len(s.calls.byID), len(s.calls.finished), rememberedCalls)
	}
}

func TestEndlessBrainIsCutOff(t *testing.T) {
	for name, b := range map[string]brainFunc{
		"text": func(_ context.Context, _ *brain.Question, out brain.Sink) error {
			for {
				if err := out.Say(strings.Repeat("bla ", 1000)); err != nil {
					return err
				}
			}
		},
		"widgets": func(_ context.Context, _ *brain.Question, out brain.Sink) error {
			for {
				if err := out.Widget("summary-tool", strings.Repeat("bla ", 1000), "bla"); err != nil {
					return err
				}
			}
		},
		"tools": func(ctx context.Context, _ *brain.Question, out brain.Sink) error {
			for {
				if _, err := out.Call(ctx, brain.Call{Tool: store.ToolDef{Name: "x"}, Args: json.RawMessage(`{}`)}); err != nil {
					return err
				}
			}
		},
	} {
		f := open(t, b)
		result, segments := f.turn(f.caller(store.Tools, "ann"), TurnRequest{Text: "x"})
		if last := segments[len(segments)-1]; last.Type != converse.Error || !last.IsFinal || len(result.Text) > maxAnswer {
			t.Errorf("%s: last segment %+v after %d bytes", name, last, len(result.Text))
		}
	}
}

func TestPanickingBrainFailsItsTurnOnly(t *testing.T) {
	f := open(t, brainFunc(func(context.Context, *brain.Question, brain.Sink) error { panic("oops") }))
	_, segments := f.turn(f.caller(store.Receptionist, "ann"), TurnRequest{Text: "x"})
	if got := types(segments); got != "think error" || segments[1].ContentString() != "The agent could not answer." {
		t.Errorf("segments %s: %+v", got, segments)
	}
	if !strings.Contains(f.log.String(), "brain panicked: oops") {
		t.Errorf("log: %s", f.log.String())
	}
}

func TestCallerIsThePersonaOfItsToken(t *testing.T) {
	f := open(t, saying("ok"))
	agent := f.caller(store.Tools, "").Agent
	partners := must.Get(f.cfg.Store.Partners(t.Context()))(t)
	config := fmt.Sprintf("geniegpcid:%d", agent.ConfigID)
	other := must.Get(store.AgentRecords(f.cfg.Store).Create(t.Context(), agent.PartnerID, store.AgentRecord{
		AgentFields: store.AgentFields{DisplayName: "Ben", Intellect: store.IntellectRef{ID: agent.ConfigID}}, WidgetID: store.UUID(),
	}))(t)
	for _, tt := range []struct {
		privileges, persona, label string
		err                        error
	}{
		{config, "Taylor", "default", nil},
		{config + ",agentid:" + agent.ID, "Taylor", agent.ID, nil},
		{config + ",agentid:" + other.ID, "Ben", other.ID, nil}, // of several agents with one intellect, the token's
		{"agentid:" + agent.ID, "Alex", agent.ID, nil},
		{"", "Alex", "default", nil},
		{"geniegpcid:999999", "", "", ErrNoAgent},
		{config + ",agentid:x", "", "", ErrNoAgent},
	} {
		a := token.NewAuthority(f.cfg.Store)
		ks := must.Get(a.Start(t.Context(), token.Grant{PartnerID: partners[0].ID, Secret: partners[0].Secret, Privileges: tt.privileges}))(t)
		claims := must.Get(a.Check(t.Context(), ks, token.Use{}))(t)
		who, err := f.Caller(t.Context(), claims)
		expect.Error(t, err, tt.err, "%s", tt.privileges)
		if err == nil && (who.Agent.Profile.DisplayName != tt.persona || who.label() != tt.label) {
			t.Errorf("%s: %s labelled %s, want %s, %s", tt.privileges, who.Agent.Profile.DisplayName, who.label(), tt.persona, tt.label)
		}
	}
}

func TestTurnWithoutWordsGetsNoTitle(t *testing.T) {
	f := open(t, saying("I heard no words."))
	_, segments := f.turn(f.caller(store.Receptionist, "ann"), TurnRequest{Trigger: brain.TriggerUnheard})
	expect.Equal(t, types(segments), "think text text share think", "segments")
}

func TestCheckVars(t *testing.T) {
	many := map[string]any{}
	for i := range maxVars + 1 {
		many[fmt.Sprint(i)] = true
	}
	for _, tt := range []struct {
		name string
		vars map[string]any
		ok   bool
	}{
		{"none", nil, true},
		{"scalars", map[string]any{"a": "x", "b": 1.5, "c": true, "d": nil}, true},
		{"a page context", map[string]any{"page_context": strings.Repeat("x", 31<<10)}, true},
		{"object", map[string]any{"a": map[string]any{}}, false},
		{"array", map[string]any{"a": []any{}}, false},
		{"reserved", map[string]any{"sys__ks": "x"}, false},
		{"user attribute", map[string]any{"sys__user_obj.email": "x"}, false},
		{"secrets", map[string]any{"secrets": "x"}, false},
		{"too many", many, false},
		{"too large", map[string]any{"a": strings.Repeat("x", maxVarsBytes)}, false},
	} {
		if err := CheckVars(tt.vars); (err == nil) != tt.ok {
			t.Errorf("%s: %v, valid should be %v", tt.name, err, tt.ok)
		}
	}
}

func TestTitleOf(t *testing.T) {
	for text, want := range map[string]string{
		"short":                            "short",
		"two\nlines":                       "two lines",
		strings.Repeat("seven77 ", 10):     strings.TrimSpace(strings.Repeat("seven77 ", 7)) + "…",
		strings.Repeat("ä", titleLength+1): strings.Repeat("ä", titleLength) + "…",
	} {
		expect.Equal(t, titleOf(text), want, "%q", text)
	}
}
