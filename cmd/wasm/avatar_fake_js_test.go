//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"sync"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// The tests of this package use the page's own APIs, except for the service and the
// peers, which are faked here and tested in their packages and in e2e.

// fakeSocket is a service that accepts everything, with a voice and no picture.
type fakeSocket struct {
	events chan socketio.Event
	silent bool // never answers

	mu   sync.Mutex
	sent []string
	done bool
}

func (s *fakeSocket) say(name string, payload any) {
	b, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	s.push(socketio.Event{Kind: socketio.Message, Name: name, Args: socketio.Args{b}})
}

func (s *fakeSocket) push(e socketio.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.events <- e
	}
}

func (s *fakeSocket) Open() {
	s.push(socketio.Event{Kind: socketio.Connected})
	if !s.silent {
		s.say(control.ServerConnected, control.Hello{AgentName: "Robin"})
	}
}

func (s *fakeSocket) Ask(name string, _ func(), args ...any) error { return s.Emit(name, args...) }

func (s *fakeSocket) Emit(name string, args ...any) error {
	b, err := json.Marshal(args[0])
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.sent = append(s.sent, name+" "+string(b))
	s.mu.Unlock()
	switch name {
	case control.Join:
		s.say(control.ClientConfig, control.ConfigurationEnvelope{ClientConfiguration: control.Configuration{LanguageCode: "en"}})
		s.say(control.JoinComplete, control.Empty{})
	case control.StvNewSession:
		s.say(control.StvNewSession, control.StvNewSessionReply{Status: "no stv session"})
		s.say(control.ShowAgent, control.Empty{})
		s.say(control.AskPermissions, control.Empty{})
	case control.ASRInit:
		s.say(control.ASRReady, control.Empty{})
	case control.ASROffer:
		s.say(control.ASRAnswer, control.Answer{Answer: control.Description{Type: "answer", SDP: "v=0"}})
	}
	return nil
}

func (s *fakeSocket) Events() <-chan socketio.Event { return s.events }
func (s *fakeSocket) ID() string                    { return "socket" }
func (s *fakeSocket) SetAuth(any) error             { return nil }
func (s *fakeSocket) Reconnect()                    {}
func (s *fakeSocket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done = true
		close(s.events)
	}
	return nil
}

// texts lists the typed texts that were sent, without the markers before them.
func (s *fakeSocket) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, e := range s.sent {
		var t control.Text
		if rest, ok := cutPrefix(e, control.TextEntered+" "); ok && json.Unmarshal([]byte(rest), &t) == nil && t.IsFinal {
			texts = append(texts, t.Text)
		}
	}
	return texts
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return "", false
	}
	return s[len(prefix):], true
}

// fakeMedia has the real microphone and renderer, and peers that do nothing.
type fakeMedia struct{ *media.Engine }

func (fakeMedia) NewSubscriber(func(media.Event)) avatar.Subscriber { return fakePeer{} }
func (fakeMedia) NewPublisher(func(media.Event)) avatar.Publisher   { return fakePublisher{} }
func (fakeMedia) NewVoice(func(media.Event)) avatar.Voice           { return nil }

type fakePeer struct{}

func (fakePeer) Subscribe(context.Context, string) error               { return nil }
func (fakePeer) Playable(context.Context, bool) (media.Picture, error) { return media.Picture{}, nil }
func (fakePeer) Renew(context.Context)                                 {}
func (fakePeer) Release(context.Context)                               {}
func (fakePeer) Stats(context.Context) (media.Stats, error)            { return media.Stats{}, nil }
func (fakePeer) Close()                                                {}

type fakePublisher struct{ fakePeer }

func (fakePublisher) Prepare() {}

func (fakePublisher) Offer(context.Context, bool) (control.Description, error) {
	return control.Description{Type: "offer", SDP: "v=0"}, nil
}
func (fakePublisher) Answer(context.Context, control.Description) error { return nil }
func (fakePublisher) AddCandidate(control.ServerCandidate)              {}
func (fakePublisher) SetBandwidth(context.Context, int) error           { return nil }

// fakeNetwork has one socket, and discards the requests that nothing waits for.
type fakeNetwork struct {
	fetch.Client
	socket *fakeSocket
}

func (fakeNetwork) Send(*fetch.Request, func(int, error)) {}

// Dial implements [socketio.Dialer].
func (n fakeNetwork) Dial(string, socketio.ClientOptions) (socketio.Socket, error) {
	return n.socket, nil
}

// rig is a program's sessions with a service of its own.
type rig struct {
	t        *testing.T
	program  *page.Program
	sessions *avatarSessions
	socket   *fakeSocket

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
	r.socket = &fakeSocket{events: make(chan socketio.Event, 64)}
	r.sessions.prepare = func(o *avatar.Options) {
		o.Media = func(e *media.Engine) avatar.Media { return fakeMedia{e} }
		o.HTTPClient = fetch.As(fakeNetwork{fetch.New(), r.socket})
	}
	return r
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
	s.socket.say(control.StvFinishedTalking, control.FinishedTalking{AgentContent: "Hello."})
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
