//go:build js && wasm

package main

import (
	"context"
	"sync"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// The tests of this package use the page's own APIs, except for the service and the
// peers, which are faked here and tested in their packages and in e2e.

// fakeMedia has the real microphone and renderer, and peers that do nothing.
type fakeMedia struct {
	*media.Engine
	peers *fakeservice.Media
}

func (m fakeMedia) NewSubscriber(notify func(media.Event)) avatar.Subscriber {
	return m.peers.NewSubscriber(notify)
}

func (m fakeMedia) NewPublisher(notify func(media.Event)) avatar.Publisher {
	return m.peers.NewPublisher(notify)
}

func (m fakeMedia) NewVoice(notify func(media.Event)) avatar.Voice { return m.peers.NewVoice(notify) }

// fakeNetwork discards the requests that nothing waits for.
type fakeNetwork struct {
	fetch.Client
	*fakeservice.Service
}

func (fakeNetwork) Send(*fetch.Request, func(int, error)) {}

// rig is a program's sessions with a service of its own.
type rig struct {
	t        *testing.T
	program  *page.Program
	sessions *avatarSessions
	service  *fakeservice.Service

	mu      sync.Mutex
	events  []heard
	arrived chan struct{} // closed and replaced at each event
}

type heard struct {
	name    string
	payload js.Value
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, program: page.New(context.Background()), sessions: newAvatarSessions(), arrived: make(chan struct{})}
	r.service = fakeservice.New(t)
	// A voice without a picture.
	r.service.When(signaling.StvNewSession, func(s *fakeservice.Socket, _ fakeservice.Event) {
		s.Say(signaling.StvNewSession, signaling.StvNewSessionReply{Status: "no stv session"})
		s.Say(signaling.ShowAgent, signaling.Empty{})
		s.Say(signaling.AskPermissions, signaling.Empty{})
	})
	r.sessions.prepare = func(o *avatar.Options) {
		o.Media = func(e *media.Engine) avatar.Media { return fakeMedia{e, new(fakeservice.Media)} }
		o.HTTPClient = fetch.As(fakeNetwork{fetch.New(), r.service})
	}
	return r
}

// socket is the newest one.
func (r *rig) socket() *fakeservice.Socket { return r.service.Socket(r.service.Dialled() - 1) }

// texts lists the typed texts that were sent.
func (r *rig) texts() []string {
	var texts []string
	for _, t := range r.socket().Texts() {
		texts = append(texts, t.Text)
	}
	return texts
}

// session is the object of methods that the page would get.
type session struct {
	*rig
	methods js.Value
}

// open makes an avatar session of a JavaScript expression for its options.
func (r *rig) open(options string) session {
	r.t.Helper()
	return r.make(r.sessions.open, eval(options))
}

// make makes a session of a kind.
func (r *rig) make(open page.Open, options js.Value) session {
	r.t.Helper()
	dispatch := jsbridge.FuncOf(func(_ js.Value, args []js.Value) any {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := range args[0].Length() / 3 {
			r.events = append(r.events, heard{args[0].Index(3 * i).String(), args[0].Index(3*i + 1)})
		}
		close(r.arrived)
		r.arrived = make(chan struct{})
		return nil
	})
	r.t.Cleanup(dispatch.Release)
	v, err := r.program.Open(open, options, dispatch.Value)
	if err != nil {
		r.t.Fatal(err)
	}
	methods, err := jsbridge.ToJS(v)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.program.Close)
	return session{r, methods}
}

// patience bounds each wait; only a failing test comes near it.
const patience = 20 * time.Second

// now calls a method that returns at once.
func (s session) now(method string, args ...any) js.Value { return s.methods.Call(method, args...) }

// later calls a method that waits; signal may be nil.
func (s session) later(method string, signal any, args ...any) (js.Value, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return jsbridge.Await(ctx, s.methods.Call(method, append([]any{signal}, args...)...))
}

// connect connects and ends the opening turn.
func (s session) connect() {
	s.t.Helper()
	if _, err := s.later("connect", nil); err != nil {
		s.t.Fatal(err)
	}
	s.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello."})
	s.await("avatarStopTalking")
}

// await waits for the first event of a name and returns its payload.
func (s session) await(name string) js.Value { return s.awaitNth(name, 1) }

// awaitNth waits for the nth event of a name and returns its payload.
func (s session) awaitNth(name string, n int) js.Value {
	s.t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		arrived, found := s.arrived, 0
		for _, e := range s.events {
			if e.name != name {
				continue
			}
			if found++; found == n {
				s.mu.Unlock()
				return e.payload
			}
		}
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-late:
			s.t.Fatalf("%d events %s, want %d", found, name, n)
		}
	}
}

// names lists the events so far.
func (r *rig) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, e := range r.events {
		names = append(names, e.name)
	}
	return names
}

// eval returns the value of a JavaScript expression.
func eval(expression string) js.Value {
	return js.Global().Get("Function").New("return (" + expression + ")").Invoke()
}

// code is the code of an AgentError, "" for anything else.
func code(v js.Value) string {
	if v.Type() != js.TypeObject || v.Get("code").Type() != js.TypeString {
		return ""
	}
	return v.Get("code").String()
}

// codeOf is the code of a rejection.
func codeOf(err error) string {
	if thrown, ok := err.(*jsbridge.Error); ok {
		return code(thrown.Value)
	}
	return ""
}
