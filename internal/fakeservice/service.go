// Package fakeservice is the service's side of a conversation for tests of sessions: sockets
// without a network, and peers without media. What the service does is scripted by each test;
// what it does by itself is to accept a session. It must not import the kinds of sessions.
package fakeservice

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Event is what a client has sent.
type Event struct {
	Name    string
	Payload json.RawMessage
}

// Service is the far end of every socket that a session dials.
type Service struct {
	t testing.TB

	mu      sync.Mutex
	sockets []*Socket
	// Answer replies to a client event, and to "open", which is a new socket; tests replace
	// entries or delete them before the session connects, and with When later.
	Answer map[string]func(*Socket, Event)
	// Silent is for sockets that do not connect.
	Silent bool
	// Refuse, when set, is what dialling fails with.
	Refuse error
	// Acknowledge, when set, reports whether to acknowledge what, which is a typed text or
	// the name of an event.
	Acknowledge func(what string) bool
	// Down is while no socket is connected, but the session has no event about it yet.
	Down bool
}

// New returns a service that accepts a session with a picture and a microphone.
func New(t testing.TB) *Service {
	return &Service{t: t, Answer: map[string]func(*Socket, Event){
		"open": func(s *Socket, _ Event) {
			s.Say(signaling.ServerConnected, signaling.Hello{FinalURL: "https://media.example", AgentName: "Robin"})
		},
		signaling.Join: func(s *Socket, _ Event) {
			s.Say(signaling.ClientConfig, signaling.ConfigurationEnvelope{ClientConfiguration: signaling.Configuration{LanguageCode: "en", IsTapToTalk: true}})
			s.Say(signaling.JoinComplete, signaling.Empty{})
		},
		signaling.StvNewSession: func(s *Socket, _ Event) {
			s.Say(signaling.StvNewSession, signaling.StvNewSessionReply{SessionID: "s-1", Status: "session started", WebRTCURL: "https://media.example/whep/s-1"})
			s.Say(signaling.ShowAgent, signaling.Empty{})
			s.Say(signaling.AskPermissions, signaling.PermissionRequest{})
		},
		signaling.ASRInit: func(s *Socket, _ Event) { s.Say(signaling.ASRReady, signaling.Empty{}) },
		signaling.ASROffer: func(s *Socket, _ Event) {
			s.Say(signaling.ASRAnswer, signaling.Answer{Answer: signaling.Description{Type: "answer", SDP: "v=0"}})
		},
	}}
}

// Set changes the fields of a service that sessions use; f must not block.
func (f *Service) Set(change func(*Service)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// When sets what the service does at a client event; nil is nothing.
func (f *Service) When(name string, answer func(*Socket, Event)) {
	f.Set(func(f *Service) { f.Answer[name] = answer })
}

// reached is a service as sessions reach it.
type reached struct {
	fetch.Client
	dial socketio.Dial
}

// Dial implements [socketio.Dialer].
func (n reached) Dial(url string, o socketio.ClientOptions) (socketio.Socket, error) {
	return n.dial(url, o)
}

// Reach is the option of a session that reaches only c and dial.
func Reach(c fetch.Client, dial socketio.Dial) httpclient.Client { return fetch.As(reached{c, dial}) }

// Dial is a [socketio.Dial].
func (f *Service) Dial(url string, o socketio.ClientOptions) (socketio.Socket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Refuse != nil {
		return nil, f.Refuse
	}
	s := &Socket{service: f, URL: url, options: o, events: make(chan socketio.Event, 256), id: "sock-" + strconv.Itoa(len(f.sockets)+1)}
	f.sockets = append(f.sockets, s)
	return s, nil
}

// Socket returns the nth socket dialled, from 0.
func (f *Service) Socket(n int) *Socket {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n < 0 || n >= len(f.sockets) {
		f.t.Fatalf("socket %d was not dialled", n)
	}
	return f.sockets[n]
}

// Dialled returns how many sockets were dialled.
func (f *Service) Dialled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.sockets)
}

// Socket is the far end of one control connection, and the [socketio.Socket] that the
// session has.
type Socket struct {
	URL     string
	service *Service
	events  chan socketio.Event
	id      string

	mu      sync.Mutex
	options socketio.ClientOptions
	sent    []Event
	closed  bool
}

func (s *Socket) Open() {
	if s.service.Silent {
		return
	}
	s.Push(socketio.Event{Kind: socketio.Connected})
	s.reply(Event{Name: "open"})
}

func (s *Socket) Events() <-chan socketio.Event { return s.events }
func (s *Socket) ID() string                    { return s.id }
func (s *Socket) SetAuth(auth any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Auth = auth
	return nil
}
func (s *Socket) Reconnect() {}

func (s *Socket) Emit(name string, args ...any) error {
	b, err := json.Marshal(args[0])
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.sent = append(s.sent, Event{name, b})
	s.mu.Unlock()
	s.reply(Event{name, b})
	return nil
}

// EmitWithAck is Emit with an acknowledgement, if the service's Acknowledge is set.
func (s *Socket) EmitWithAck(name string, acknowledged func(socketio.Args), args ...any) error {
	s.service.mu.Lock()
	acknowledge, down := s.service.Acknowledge, s.service.Down
	s.service.mu.Unlock()
	if down {
		return socketio.ErrDisconnected
	}
	if err := s.Emit(name, args...); err != nil {
		return err
	}
	what := name
	if text, ok := args[0].(signaling.Text); ok {
		what = text.Text
	}
	if acknowledge != nil && acknowledge(what) {
		acknowledged(nil)
	}
	return nil
}

func (s *Socket) reply(e Event) {
	s.service.mu.Lock()
	answer := s.service.Answer[e.Name]
	s.service.mu.Unlock()
	if answer != nil {
		answer(s, e)
	}
}

func (s *Socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
	return nil
}

// Closed reports whether the session has closed the socket.
func (s *Socket) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Options are those that the session has dialled with, and the token that it has set since.
func (s *Socket) Options() socketio.ClientOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options
}

// Token is the one that the handshake would have now.
func (s *Socket) Token() string { return s.Options().Auth.(map[string]string)["token"] }

// Push lets something happen to the socket.
func (s *Socket) Push(e socketio.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.events <- e
	}
}

// Say sends an event to the client.
func (s *Socket) Say(name string, payload any) {
	b, err := json.Marshal(payload)
	if err != nil {
		s.service.t.Error(err)
	}
	s.Push(socketio.Event{Kind: socketio.Message, Name: name, Args: socketio.Args{b}})
}

// Segment sends a piece of an answer.
func (s *Socket) Segment(segment map[string]any) {
	b, err := json.Marshal(segment)
	if err != nil {
		s.service.t.Error(err)
	}
	s.Say(signaling.AgentRawText, signaling.RawText{SpeechID: "a", Delta: string(b)})
}

// Drop ends the connection.
func (s *Socket) Drop(reason socketio.Reason) {
	s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: reason})
}

// Back is the connection's next one.
func (s *Socket) Back(recovered bool) {
	s.Push(socketio.Event{Kind: socketio.Connected, Recovered: recovered})
}

// Refuse refuses the handshake.
func (s *Socket) Refuse(message string) {
	s.Push(socketio.Event{Kind: socketio.ConnectError, Err: &socketio.RefusedError{Message: message}})
}

// Sent returns what the client has sent.
func (s *Socket) Sent() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Names lists the names of what the client has sent.
func (s *Socket) Names() []string {
	var names []string
	for _, e := range s.Sent() {
		names = append(names, e.Name)
	}
	return names
}

// Payloads returns the payloads of the client's events called name, without the random
// ids of turns.
func (s *Socket) Payloads(name string) []string {
	var found []string
	for _, e := range s.Sent() {
		if e.Name == name {
			found = append(found, turnID.ReplaceAllString(string(e.Payload), ""))
		}
	}
	return found
}

var turnID = regexp.MustCompile(`,"clientTurnId":"[a-z0-9]{16}"`)

// Texts lists the typed texts that the client has sent, with the ids of their turns, without
// the markers before them.
func (s *Socket) Texts() []signaling.Text {
	var texts []signaling.Text
	for _, e := range s.Sent() {
		var t signaling.Text
		if e.Name == signaling.TextEntered && json.Unmarshal(e.Payload, &t) == nil && t.IsFinal {
			texts = append(texts, t)
		}
	}
	return texts
}
