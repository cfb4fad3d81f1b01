//go:build js && wasm

package main

import (
	"context"
	"syscall/js"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/internal/page/programtest"
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
	*programtest.Events
	t        *testing.T
	program  *page.Program
	sessions *avatarSessions
	service  *fakeservice.Service
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Events: programtest.NewEvents(t), t: t, program: page.New(context.Background()), sessions: newAvatarSessions()}
	t.Cleanup(r.program.Close)
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
	return r.make(r.sessions.open, programtest.Eval(options))
}

// make makes a session of a kind.
func (r *rig) make(open page.Open, options js.Value) session {
	r.t.Helper()
	v := must.Get(r.program.Open(open, options, r.Dispatch))(r.t)
	methods := must.Get(jsbridge.ToJS(v))(r.t)
	return session{r, methods}
}

// now calls a method that returns at once.
func (s session) now(method string, args ...any) js.Value { return s.methods.Call(method, args...) }

// later calls a method that waits; signal may be nil.
func (s session) later(method string, signal any, args ...any) (js.Value, error) {
	s.t.Helper()
	return programtest.Settled(s.methods.Call(method, append([]any{signal}, args...)...))
}

// connect connects and ends the opening turn.
func (s session) connect() {
	s.t.Helper()
	must.Get(s.later("connect", nil))(s.t)
	s.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello."})
	s.Event("avatarStopTalking")
}
