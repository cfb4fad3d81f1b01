package avatar

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/event/eventtest"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// fakeMedia gives the methods of a [fakeservice.Media] the result types of [Media].
type fakeMedia struct{ fakeservice.Media }

func (m *fakeMedia) NewSubscriber(notify func(media.Event)) Subscriber {
	return m.Media.NewSubscriber(notify)
}

func (m *fakeMedia) NewPublisher(notify func(media.Event)) Publisher {
	return m.Media.NewPublisher(notify)
}
func (m *fakeMedia) NewVoice(notify func(media.Event)) Voice { return m.Media.NewVoice(notify) }

// instead is the option Media.
func instead(m Media) func(*media.Engine) Media { return func(*media.Engine) Media { return m } }

// fakeHTTP records the requests that reach the brain.
type fakeHTTP struct {
	mu       sync.Mutex
	requests []string
	tokens   []string                // of the requests
	accepts  func(token string) bool // nil: any
	status   int
}

func (h *fakeHTTP) Do(_ context.Context, r *fetch.Request) (*fetch.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens = append(h.tokens, strings.TrimPrefix(r.Header.Get("authorization"), "KS "))
	h.requests = append(h.requests, r.URL+" "+string(r.Body.Data))
	if h.status == 0 {
		return nil, errors.New("no network")
	}
	if token := h.tokens[len(h.tokens)-1]; h.accepts != nil && !h.accepts(token) {
		return &fetch.Response{Status: 401, Body: noBody{}}, nil
	}
	return &fetch.Response{Status: h.status, Body: noBody{}}, nil
}

type noBody struct{}

func (noBody) Read([]byte) (int, error) { return 0, io.EOF }
func (noBody) Close() error             { return nil }

func (h *fakeHTTP) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// rig is a session and everything around it, inside a bubble of virtual time.
type rig struct {
	*Session
	t       *testing.T
	service *fakeservice.Service
	media   *fakeMedia
	http    *fakeHTTP
	eventtest.Log
}

// must ends the test if a call failed.
func (r *rig) must(err error) {
	r.t.Helper()
	must.Do(r.t, err)
}

// micReports is an event of the microphone.
func (r *rig) micReports(ev media.Event) { r.core.Work.Post(func() { r.micEvent(ev) }) }

// connected runs f with a session of the default options that is connected, and its socket.
func connected(t *testing.T, f func(r *rig, s *fakeservice.Socket)) {
	t.Helper()
	connectedWith(t, Options{}, f)
}

func connectedWith(t *testing.T, o Options, f func(r *rig, s *fakeservice.Socket)) {
	t.Helper()
	run(t, o, func(r *rig) { f(r, r.mustConnect()) })
}

// run calls f with a rig; no goroutine may be left when it ends, which the
// bubble checks.
func run(t *testing.T, o Options, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, service: fakeservice.New(t), media: &fakeMedia{}, http: &fakeHTTP{status: 200}}
		o.Token = cmp.Or(o.Token, "token")
		if o.GenieURL == nil {
			o.GenieURL = new("https://brain.example")
		}
		o.OnEvent = r.Record
		o.Media, o.HTTPClient = instead(r.media), fakeservice.Reach(r.http, r.service.Dial)
		s := must.Get(New(o))(t)
		r.Session = s
		s.recovery.observe = func(from phase, on trigger, to phase) { checkDecision(t, from, on, to) }
		defer func() {
			s.Disconnect(session.DisconnectOptions{})
			synctest.Wait()
			expect.Equal(t, r.media.Open, 0, "peers are still open")
			for i := range r.service.Dialled() {
				if !r.service.Socket(i).Closed() {
					t.Errorf("socket %d is still open", i)
				}
			}
		}()
		f(r)
	})
}

// targets are the phases that may follow a step taken in the phase from.
func (s step) targets(from phase) phases {
	if s.to == nil {
		return phases{from}
	}
	return s.to
}

// checkDecision compares what a session did after a loss with its decisions.
func checkDecision(t *testing.T, from phase, on trigger, to phase) {
	step, decided := decide(from, on)
	switch {
	case !decided && to != from:
		t.Errorf("%s, %s: the session is %s, though nothing is decided", from, on, to)
	case decided && !slices.Contains(step.targets(from), to):
		t.Errorf("%s, %s: the session is %s, decided is %v", from, on, to, step.targets(from))
	}
}

// mustConnect connects and ends the opening turn.
func (r *rig) mustConnect() *fakeservice.Socket {
	r.t.Helper()
	s := r.connectOnly()
	r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "connected"})
	r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "connected"})
	s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello."})
	synctest.Wait()
	return s
}

func (r *rig) connectOnly() *fakeservice.Socket {
	r.t.Helper()
	r.must(r.Connect(context.Background()))
	synctest.Wait()
	return r.service.Socket(r.service.Dialled() - 1)
}

// lose cuts a socket whose session the service then does not know any more.
func lose(s *fakeservice.Socket) {
	s.Drop(socketio.TransportClose)
	s.Back(false)
	synctest.Wait()
}

// refusal is the error of a Connect that fails.
func (r *rig) refusal() (e *fault.Error) {
	r.t.Helper()
	if err := r.Connect(context.Background()); !errors.As(err, &e) {
		r.t.Fatalf("err = %v", err)
	}
	return e
}

// heardNames lists the names of the events so far, without those about connectivity.
func (r *rig) heardNames() []string {
	synctest.Wait()
	var names []string
	for _, e := range r.Recorded() {
		name := e.Name()
		if s, ok := e.(StateChanged); ok {
			name += ":" + string(s.State)
		}
		names = append(names, name)
	}
	return names
}

// all returns the events of type T so far.
func all[T event.Event](r *rig) []T { return eventtest.All[T](&r.Log) }

func (r *rig) wantEvents(want ...string) {
	r.t.Helper()
	if got := r.heardNames(); !slices.Equal(got, want) {
		r.t.Errorf("events:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// speakLater speaks on another goroutine and returns what Speak returned.
func (r *rig) speakLater(text string) <-chan bool {
	result := make(chan bool, 1)
	go func() {
		ok, err := r.Speak(context.Background(), text)
		result <- ok && err == nil
	}()
	synctest.Wait()
	return result
}

const second = time.Second
