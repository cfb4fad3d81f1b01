package chat

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/event/eventtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakePage is a page that a test shows, hides and leaves.
type fakePage struct {
	listener completion.Listener
	watches  int
	channels int
}

func (p *fakePage) Watch(l completion.Listener) func() {
	p.listener = l
	p.watches++
	return sync.OnceFunc(func() { p.watches-- })
}

func (p *fakePage) Channel(string, func(string)) completion.Channel {
	p.channels++
	return fakeChannel{p}
}
func (p *fakePage) UserAgent() string { return "test" }

type fakeChannel struct{ page *fakePage }

func (fakeChannel) Post(string) {}
func (c fakeChannel) Close()    { c.page.channels-- }

// rig is a session and everything around it, inside a bubble of virtual time.
type rig struct {
	*Session
	t     *testing.T
	brain *fakeBrain
	page  *fakePage
	eventtest.Log
}

// run calls f with the rig of a session. When f returns the session is closed, and
// nothing of it may be left: no request, no listener of the page, and, as the
// bubble checks, no goroutine.
func run(t *testing.T, o Options, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, o)
		defer func() {
			r.Close()
			for i, x := range r.brain.turns {
				if !x.isOver() {
					t.Errorf("turn %d is still being read", i)
				}
			}
			if r.page.watches != 0 || r.page.channels != 0 {
				t.Errorf("%d listeners and %d channels are left in the page", r.page.watches, r.page.channels)
			}
		}()
		f(r)
	})
}

// connected is run with a session that is connected.
func connected(t *testing.T, o Options, f func(r *rig)) {
	t.Helper()
	run(t, o, func(r *rig) {
		r.mustConnect()
		f(r)
	})
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{t: t, brain: &fakeBrain{status: 200}, page: &fakePage{}}
	if o.Token == "" {
		o.Token = "token"
	}
	genie := "https://brain.example"
	o.GenieURL = &genie
	o.OnEvent = r.Record
	o.HTTPClient, o.Page = fetch.As(r.brain), r.page
	s := must.Get(New(o))(t)
	r.Session = s
	return r
}

// mustConnect connects and forgets the events of that.
func (r *rig) mustConnect() {
	r.t.Helper()
	must.Do(r.t, r.Connect(context.Background()))
	r.Forget()
}

// wantQuiet checks that no reader or other goroutine of a session runs.
func (r *rig) wantQuiet() {
	r.t.Helper()
	synctest.Wait()
	stacks := make([]byte, 256<<10)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		// Outside of the bubble are goroutines of the tests before.
		header, _, _ := strings.Cut(stack, "\n")
		if strings.Contains(header, "synctest bubble") && strings.Contains(stack, "created by github.com/agentruntime/agentruntime/runtime/session.") {
			r.t.Errorf("a goroutine is left:\n%s", stack)
		}
	}
}

// requests returns how many turns the brain was asked for.
func (r *rig) requests() int {
	synctest.Wait()
	r.brain.mu.Lock()
	defer r.brain.mu.Unlock()
	return len(r.brain.turns)
}

// asked returns turn n as the brain sees it, from 0.
func (r *rig) asked(n int) *exchange {
	r.t.Helper()
	synctest.Wait()
	r.brain.mu.Lock()
	defer r.brain.mu.Unlock()
	if n >= len(r.brain.turns) {
		r.t.Fatalf("turn %d was not asked", n)
	}
	return r.brain.turns[n]
}

// outcome is what became of a turn.
type outcome struct {
	turn converse.Turn
	err  error
}

// sent is a turn that a goroutine waits for.
type sent struct {
	t    *testing.T
	over chan outcome
}

// later sends text and lets another goroutine wait for the answer.
func (r *rig) later(ctx context.Context, text string) sent {
	wait := r.Start(ctx, text, TurnOptions{})
	c := sent{r.t, make(chan outcome, 1)}
	go func() {
		_, _ = wait() // several may wait
		turn, err := wait()
		c.over <- outcome{turn, err}
	}()
	synctest.Wait()
	return c
}

// ended returns how the turn ended; it fails the test if it did not.
func (c sent) ended() outcome {
	c.t.Helper()
	synctest.Wait()
	select {
	case o := <-c.over:
		return o
	default:
		c.t.Fatal("the turn is not over")
		return outcome{}
	}
}

// mustWork sends one more turn and checks that it works.
func (r *rig) mustWork() {
	r.t.Helper()
	n := r.requests()
	answer := r.later(r.t.Context(), "Are you there?")
	r.Forget()
	r.asked(n).answer().say(think, text("Still here."), lastThink).end()
	if got := answer.ended(); got.err != nil || got.turn.Text != "Still here." {
		r.t.Errorf("the next turn: %q, %v", got.turn.Text, got.err)
	}
	r.wantEvents("brainSegment think", "responseSettled", "brainSegment text", "final Still here.", "brainSegment think", "turnEnd")
	r.wantQuiet()
}

// heard lists the events so far in short form.
func (r *rig) heard() []string {
	synctest.Wait()
	var lines []string
	for _, e := range r.Recorded() {
		if _, ok := e.(event.TurnTimings); !ok { // turns_test.go has those
			lines = append(lines, short(e))
		}
	}
	return lines
}

func short(e event.Event) string {
	switch e := e.(type) {
	case StateChanged:
		return "stateChange " + string(e.State)
	case event.Transcript:
		return e.Type + " " + e.Text
	case event.BrainSegment:
		return "brainSegment " + string(e.Type)
	case event.WidgetShown:
		if e.Error != "" {
			return "widget " + e.Runtime + " (error)"
		}
		return "widget " + e.Runtime
	case event.ToolCalled:
		return "toolCall " + e.ToolCall.Name + string(e.Args)
	case event.ToolCallInvalid:
		return "toolCallInvalid " + e.Call.Name
	case event.ToolCallResult:
		return fmt.Sprint("toolCallResult ", e.Call.Name, " ", e.OK)
	case event.OAuthRequired:
		return "oauthRequired " + e.AuthURL
	case event.SessionCompleted:
		return fmt.Sprint("sessionCompleted ", e.Reason, " ", e.Sent)
	case event.Warning:
		return "warning " + string(e.Code)
	case event.Failed:
		return "error " + string(e.Code)
	case event.Ended:
		return "ended " + e.Reason
	}
	return e.Name()
}

func (r *rig) wantEvents(want ...string) {
	r.t.Helper()
	if got := r.heard(); !slices.Equal(got, want) {
		r.t.Errorf("events:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// all returns the events of type T so far.
func all[T event.Event](r *rig) []T { return eventtest.All[T](&r.Log) }
