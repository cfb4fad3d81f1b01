package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeBrain is the far end of every request. A turn waits for the test, which
// writes its reply byte by byte; other calls are answered at once.
type fakeBrain struct {
	mu     sync.Mutex
	turns  []*exchange
	others []string // "path body" of the other calls
	status int      // of their replies; 0 fails on the network
}

func (b *fakeBrain) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if !strings.HasSuffix(r.URL, "/assistant/converse") {
		status, err := b.other(r)
		if err != nil {
			return nil, err
		}
		return &fetch.Response{Status: status, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}
	x := &exchange{
		ctx: ctx, body: string(r.Body.Data), token: strings.TrimPrefix(r.Header.Get("authorization"), "KS "),
		head: make(chan fetch.Response, 1), bytes: make(chan []byte, 64), closed: make(chan struct{}),
	}
	b.mu.Lock()
	b.turns = append(b.turns, x)
	b.mu.Unlock()
	select {
	case head := <-x.head:
		if head.Status == 0 {
			x.Close()
			return nil, fault.New(fault.NetworkError, "no network")
		}
		head.Body = x
		return &head, nil
	case <-ctx.Done():
		x.Close()
		return nil, ctx.Err()
	}
}

// Send is the request of a page that goes away.
func (b *fakeBrain) Send(r *fetch.Request, done func(int, error)) {
	status, err := b.other(r) // before it returns, as the real one
	go done(status, err)
}

func (b *fakeBrain) other(r *fetch.Request) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.others = append(b.others, strings.TrimPrefix(r.URL, "https://brain.example")+" "+r.Header.Get("authorization")+" "+string(r.Body.Data))
	if b.status == 0 {
		return 0, errors.New("no network")
	}
	return b.status, nil
}

func (b *fakeBrain) otherCalls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.others)
}

// exchange is a turn as the brain sees it, and its body as the session reads it.
type exchange struct {
	ctx         context.Context
	body, token string

	head   chan fetch.Response
	bytes  chan []byte // closed at the end
	rest   []byte
	broken error // with which it ends, instead of io.EOF

	once   sync.Once
	closed chan struct{}
}

func (x *exchange) Read(p []byte) (int, error) {
	for len(x.rest) == 0 {
		select {
		case b, more := <-x.bytes:
			if !more && x.broken != nil {
				return 0, x.broken
			}
			if !more {
				return 0, io.EOF
			}
			x.rest = b
		case <-x.ctx.Done():
			return 0, x.ctx.Err()
		case <-x.closed:
			return 0, errors.New("read after close")
		}
	}
	n := copy(p, x.rest)
	x.rest = x.rest[n:]
	return n, nil
}

func (x *exchange) Close() error {
	x.once.Do(func() { close(x.closed) })
	return nil
}

// answer begins a reply of segments, one a line.
func (x *exchange) answer() *exchange { return x.reply(200, "application/x-ndjson") }

func (x *exchange) reply(status int, contentType string) *exchange {
	x.head <- fetch.Response{Status: status, Header: fetch.Header{"content-type": contentType, "x-request-id": "r-1"}}
	return x
}

// say writes lines, which the session has handled when it returns.
func (x *exchange) say(lines ...string) *exchange {
	for _, line := range lines {
		x.write(line + "\n")
	}
	return x
}

func (x *exchange) write(text string) *exchange {
	x.bytes <- []byte(text)
	synctest.Wait()
	return x
}

func (x *exchange) end() {
	close(x.bytes)
	synctest.Wait()
}

// isOver reports whether the service sees that nobody reads any more.
func (x *exchange) isOver() bool {
	select {
	case <-x.closed:
		return x.ctx.Err() != nil
	default:
		return false
	}
}

// Lines of a reply.
const (
	think     = `{"role":"assistant","type":"think","content":"","threadId":"5f0c","messageId":"m-1"}`
	keepalive = `{"role":"assistant","type":"keepalive","content":""}`
	lastThink = `{"role":"assistant","type":"think","content":"","isFinal":true}`
	denied    = `{"role":"assistant","type":"error","content":"No permission for thread 5f0c","isFinal":true}`
	blocking  = `{"type":"tool","content":"save_note {\"note\":\"x\"}","tool_metadata":{"id":"ti-4","name":"save_note","type":"client","wait_for_response":true}}`
)

func text(s string) string {
	return fmt.Sprintf(`{"role":"assistant","type":"text","content":%q}`, s)
}

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

	mu     sync.Mutex
	events []event.Event
	// heed, when set, is called by the listener with every event.
	heed func(event.Event)
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

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{t: t, brain: &fakeBrain{status: 200}, page: &fakePage{}}
	if o.Token == "" {
		o.Token = "token"
	}
	genie := "https://brain.example"
	o.GenieURL = &genie
	o.OnEvent = r.hear
	s, err := New(o, Deps{Fetch: r.brain, Send: r.brain, Page: r.page})
	if err != nil {
		t.Fatal(err)
	}
	r.Session = s
	return r
}

func (r *rig) hear(e event.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	heed := r.heed
	r.mu.Unlock()
	if heed != nil {
		heed(e)
	}
}

// heedWith has the listener call f.
func (r *rig) heedWith(f func(event.Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heed = f
}

// mustConnect connects and forgets the events of that.
func (r *rig) mustConnect() {
	r.t.Helper()
	if err := r.Connect(); err != nil {
		r.t.Fatal(err)
	}
	r.forget()
}

// wantQuiet checks that no reader or other goroutine of a session runs.
func (r *rig) wantQuiet() {
	r.t.Helper()
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if n := strings.Count(string(stacks), "created by github.com/agentruntime/agentruntime/runtime/session."); n > 0 {
		r.t.Errorf("%d goroutines are left:\n%s", n, stacks)
	}
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

// sent is a turn that somebody waits for.
type sent struct {
	t    *testing.T
	over chan outcome
}

// later sends text and lets another goroutine wait for the answer.
func (r *rig) later(ctx context.Context, text string) sent {
	wait := r.Start(ctx, text, TurnOptions{})
	c := sent{r.t, make(chan outcome, 1)}
	go func() {
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

// mustWork has one more turn, of which nothing may be odd.
func (r *rig) mustWork() {
	r.t.Helper()
	synctest.Wait()
	r.brain.mu.Lock()
	n := len(r.brain.turns)
	r.brain.mu.Unlock()
	answer := r.later(r.t.Context(), "Are you there?")
	r.forget()
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
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([]string, len(r.events))
	for i, e := range r.events {
		lines[i] = short(e)
	}
	return lines
}

func short(e event.Event) string {
	switch e := e.(type) {
	case StateChanged:
		return "stateChange " + string(e.State)
	case Transcript:
		return e.Type + " " + e.Text
	case BrainSegment:
		return "brainSegment " + string(e.Type)
	case WidgetShown:
		return "widget " + e.Runtime
	case ToolCalled:
		return "toolCall " + e.ToolCall.Name + string(e.Args)
	case ToolCallInvalid:
		return "toolCallInvalid " + e.Call.Name
	case ToolCallResult:
		return fmt.Sprint("toolCallResult ", e.Call.Name, " ", e.OK)
	case OAuthRequired:
		return "oauthRequired " + e.AuthURL
	case SessionCompleted:
		return fmt.Sprint("sessionCompleted ", e.Reason, " ", e.Sent)
	case Warning:
		return "warning " + string(e.Code)
	case Failed:
		return "error " + string(e.Code)
	case Ended:
		return "ended " + e.Reason
	}
	return e.Name()
}

// forget drops the events heard so far.
func (r *rig) forget() {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

func (r *rig) wantEvents(want ...string) {
	r.t.Helper()
	if got := r.heard(); !slices.Equal(got, want) {
		r.t.Errorf("events:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// all returns the events of type T so far.
func all[T event.Event](r *rig) []T {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []T
	for _, e := range r.events {
		if v, ok := e.(T); ok {
			found = append(found, v)
		}
	}
	return found
}
