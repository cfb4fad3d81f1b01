package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// TestMain finds goroutines that are left. In a page the goroutine that handles a
// JavaScript event belongs to the Go runtime.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// world stands for everything outside: a brain over HTTP, the far end of control
// sockets, peers without media, a page. What the service does is scripted by each
// test; the sessions in between are real.
type world struct {
	t *testing.T

	mu      sync.Mutex
	turns   []*exchange
	calls   []string // "path body" of the other requests, with the token in front
	sockets []*socket
	// answer replies to a client event of a socket.
	answer map[string]func(*socket)
	// auto, when set, answers turns by itself.
	auto    func(x *exchange)
	serving sync.WaitGroup
	page    *page

	made   map[Mode]int
	freed  map[Mode]int
	closed chan struct{} // when set, planes close when it is closed
	fail   func(Mode) error
	// inner, when set, hears a chat session's events before the session does.
	inner func(*chat.Session, event.Event)
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, made: map[Mode]int{}, freed: map[Mode]int{}, page: &page{},
		answer: map[string]func(*socket){
			"open": func(s *socket) { s.say(control.ServerConnected, control.Hello{}) },
			control.Join: func(s *socket) {
				s.say(control.ClientConfig, control.Configuration{})
				s.say(control.JoinComplete, control.Empty{})
			},
			control.StvNewSession: func(s *socket) {
				s.say(control.StvNewSession, control.StvNewSessionReply{SessionID: "s-1", WebRTCURL: "https://media.example/s-1"})
				s.say(control.ShowAgent, control.Empty{})
				s.say(control.AskPermissions, control.PermissionRequest{})
			},
			control.ASRInit: func(s *socket) { s.say(control.ASRReady, control.Empty{}) },
			control.ASROffer: func(s *socket) {
				s.say(control.ASRAnswer, control.Answer{Answer: control.Description{Type: "answer", SDP: "v=0"}})
			},
			// The opening is silent, and over at once.
			control.ApprovedPermissions: func(s *socket) { s.say(control.StvFinishedTalking, control.FinishedTalking{}) },
		},
	}
}

// with returns o with functions that make real sessions on w.
func (w *world) with(o Options) Options {
	opened := func(m Mode) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fail != nil {
			if err := w.fail(m); err != nil {
				return err
			}
		}
		w.made[m]++
		return nil
	}
	release := func(m Mode) func() {
		return func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.freed[m]++
		}
	}
	o.NewAvatar = func(o avatar.Options) (*avatar.Session, func(), error) {
		if err := opened(Avatar); err != nil {
			return nil, nil, err
		}
		o.Media = func(*media.Engine) avatar.Media { return &engine{world: w} }
		o.HTTPClient, o.Page = fetch.As(w), w.page
		s, err := avatar.New(o)
		return s, release(Avatar), err
	}
	o.NewChat = func(o chat.Options) (*chat.Session, func(), error) {
		if err := opened(Chat); err != nil {
			return nil, nil, err
		}
		var s *chat.Session
		if listen := o.OnEvents; w.inner != nil {
			o.OnEvents = func(events []event.Timed) {
				for i, e := range events {
					w.inner(s, e.Event)
					listen(events[i : i+1])
				}
			}
		}
		o.HTTPClient, o.Page = fetch.As(w), w.page
		s, err := chat.New(o)
		return s, release(Chat), err
	}
	return o
}

// exchange is a turn in text as the brain sees it.
type exchange struct {
	ctx  context.Context
	body map[string]any
	w    *io.PipeWriter
}

// Do implements [fetch.Client].
func (w *world) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if !strings.HasSuffix(r.URL, "/assistant/converse") {
		w.called(r)
		return &fetch.Response{Status: 200, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}
	body, pw := io.Pipe()
	x := &exchange{ctx: ctx, w: pw}
	if err := json.Unmarshal(r.Body.Data, &x.body); err != nil {
		w.t.Error(err)
	}
	context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) })
	w.mu.Lock()
	w.turns = append(w.turns, x)
	auto := w.auto
	w.mu.Unlock()
	if auto != nil {
		w.serving.Go(func() { auto(x) })
	}
	return &fetch.Response{Status: 200, Header: fetch.Header{"content-type": "application/x-ndjson"}, Body: body}, nil
}

// Send implements [fetch.Sender].
func (w *world) Send(r *fetch.Request, done func(int, error)) {
	w.called(r)
	go done(200, nil)
}

func (w *world) called(r *fetch.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	path := r.URL[strings.Index(r.URL, "example")+len("example"):]
	w.calls = append(w.calls, r.Header.Get("authorization")+" "+path+" "+string(r.Body.Data))
}

// completed returns the requests that told the service of the end.
func (w *world) completed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.calls), func(c string) bool { return !strings.Contains(c, "session_completed") })
}

// turn returns the nth turn in text, from 0.
func (w *world) turn(n int) *exchange {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n >= len(w.turns) {
		w.t.Fatalf("turn %d was not sent; %d were", n, len(w.turns))
	}
	return w.turns[n]
}

// asked lists the texts of all turns in text.
func (w *world) asked() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	for _, x := range w.turns {
		texts = append(texts, x.text())
	}
	return texts
}

func (x *exchange) text() string {
	text, _ := x.body["userMessage"].(string)
	return text
}

// say writes a piece of the answer.
func (x *exchange) say(text, thread string) {
	fmt.Fprintf(x.w, `{"role":"assistant","type":"text","content":%q,"threadId":%q}`+"\n", text, thread)
}

// end ends the answer.
func (x *exchange) end() {
	x.w.Close()
	synctest.Wait()
}

// reply answers in whole.
func (x *exchange) reply(text, thread string) {
	x.say(text, thread)
	x.end()
}

// socket is the far end of one control connection.
type socket struct {
	world  *world
	auth   any
	events chan socketio.Event

	mu     sync.Mutex
	sent   []string // "name payload"
	closed bool
}

// Dial implements [socketio.Dialer].
func (w *world) Dial(_ string, o socketio.ClientOptions) (socketio.Socket, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &socket{world: w, auth: o.Auth, events: make(chan socketio.Event, 256)}
	w.sockets = append(w.sockets, s)
	return s, nil
}

// socket returns the newest one.
func (w *world) socket() *socket {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.sockets) == 0 {
		w.t.Fatal("no socket was opened")
	}
	return w.sockets[len(w.sockets)-1]
}

// when sets what the service does at a client event; nil is nothing.
func (w *world) when(name string, f func(*socket)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer[name] = f
}

func (s *socket) Open() {
	s.push(socketio.Event{Kind: socketio.Connected})
	s.reply("open")
}

func (s *socket) Events() <-chan socketio.Event { return s.events }
func (s *socket) ID() string                    { return "sock" }
func (s *socket) SetAuth(auth any) error        { s.auth = auth; return nil }
func (s *socket) Reconnect()                    {}

func (s *socket) Emit(name string, args ...any) error {
	b, err := json.Marshal(args[0])
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.sent = append(s.sent, name+" "+string(b))
	s.mu.Unlock()
	s.reply(name)
	return nil
}

// Ask is Emit to a service that acknowledges.
func (s *socket) Ask(name string, acknowledged func(), args ...any) error {
	err := s.Emit(name, args...)
	if err == nil {
		acknowledged()
	}
	return err
}

func (s *socket) reply(name string) {
	s.world.mu.Lock()
	f := s.world.answer[name]
	s.world.mu.Unlock()
	if f != nil {
		f(s)
	}
}

func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
	return nil
}

func (s *socket) push(ev socketio.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.events <- ev
	}
}

// say sends an event to the client.
func (s *socket) say(name string, payload any) {
	b, err := json.Marshal(payload)
	if err != nil {
		s.world.t.Error(err)
	}
	s.push(socketio.Event{Kind: socketio.Message, Name: name, Args: socketio.Args{b}})
}

// segment sends a piece of an answer.
func (s *socket) segment(segment map[string]any) {
	b, err := json.Marshal(segment)
	if err != nil {
		s.world.t.Error(err)
	}
	s.say(control.AgentRawText, control.RawText{SpeechID: "a", Delta: string(b)})
}

func (s *socket) drop(reason socketio.Reason) {
	s.push(socketio.Event{Kind: socketio.Disconnected, Reason: reason})
}

// got returns the payloads of the client's events called name.
func (s *socket) got(name string) []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, sent := range s.sent {
		if payload, ok := strings.CutPrefix(sent, name+" "); ok {
			found = append(found, payload)
		}
	}
	return found
}

// spoken lists the typed turns that the avatar got.
func (w *world) spoken() []string {
	synctest.Wait()
	w.mu.Lock()
	sockets := slices.Clone(w.sockets)
	w.mu.Unlock()
	var texts []string
	for _, s := range sockets {
		for _, payload := range s.got(control.TextEntered) {
			var p control.Text
			if json.Unmarshal([]byte(payload), &p) == nil && p.Text != "" && p.IsFinal && !strings.Contains(payload, "isSpeechStart") {
				texts = append(texts, p.Text)
			}
		}
	}
	return texts
}

// engine makes peers that complete every request at once.
type engine struct{ world *world }

func (e *engine) NewSubscriber(func(media.Event)) avatar.Subscriber { return subscriber{} }
func (e *engine) NewPublisher(func(media.Event)) avatar.Publisher   { return publisher{} }
func (e *engine) NewVoice(func(media.Event)) avatar.Voice           { return nil } // no test is in audio mode

func (e *engine) Close() {
	if e.world.closed != nil {
		<-e.world.closed
	}
}

type subscriber struct{}

func (subscriber) Subscribe(context.Context, string) error { return nil }
func (subscriber) Playable(context.Context, bool) (media.Picture, error) {
	return media.Picture{Width: 640, Height: 360}, nil
}
func (subscriber) Renew(context.Context)                      {}
func (subscriber) Release(context.Context)                    {}
func (subscriber) Stats(context.Context) (media.Stats, error) { return media.Stats{}, nil }
func (subscriber) Close()                                     {}

type publisher struct{}

func (publisher) Prepare() {}
func (publisher) Offer(context.Context, bool) (control.Description, error) {
	return control.Description{Type: "offer", SDP: "v=0"}, nil
}
func (publisher) Answer(context.Context, control.Description) error { return nil }
func (publisher) AddCandidate(control.ServerCandidate)              {}
func (publisher) Stats(context.Context) (media.Stats, error)        { return media.Stats{}, nil }
func (publisher) SetBandwidth(context.Context, int) error           { return nil }
func (publisher) Close()                                            {}

func (*engine) StartMic(context.Context) error               { return errors.New("none") }
func (*engine) SwitchMic(context.Context, string) error      { return nil }
func (*engine) MicStarted() bool                             { return false }
func (*engine) SetMicEnabled(bool)                           {}
func (*engine) StopMic()                                     {}
func (*engine) SetOutputMuted(bool)                          {}
func (*engine) SetOutputVolume(float64)                      {}
func (*engine) SetOutputDevice(context.Context, string) bool { return true }
func (*engine) ResumePlayback(context.Context) bool          { return true }
func (*engine) ClearTracks()                                 {}
func (*engine) WatchSpeech(bool)                             {}

// page tells the sessions of it what the browser does.
type page struct {
	mu        sync.Mutex
	listeners []*sessionend.Listener
}

func (p *page) Watch(l sessionend.Listener) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, &l)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.listeners = slices.DeleteFunc(p.listeners, func(other *sessionend.Listener) bool { return other == &l })
	}
}
func (p *page) Channel(string, func(string)) sessionend.Channel { return nil }
func (p *page) UserAgent() string                               { return "page" }

// hide goes away.
func (p *page) hide() {
	p.mu.Lock()
	listeners := slices.Clone(p.listeners)
	p.mu.Unlock()
	var leaves []func()
	for _, l := range listeners {
		leaves = append(leaves, l.Hide(false))
	}
	for _, leave := range leaves {
		leave()
	}
}
