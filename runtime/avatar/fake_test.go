package avatar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// The doubles below stand for the platform alone: a socket without a network,
// peers without media. What the service does is scripted by each test.

type sent struct {
	name    string
	payload json.RawMessage
}

// fakeService is the far end of every socket that a session dials.
type fakeService struct {
	t *testing.T

	mu      sync.Mutex
	sockets []*fakeSocket
	// answer replies to a client event; tests replace entries or delete them.
	answer map[string]func(*fakeSocket, sent)
	silent bool // sockets do not connect
	// refuse, when set, is what dialling fails with.
	refuse error
	// acknowledge, when set, reports whether to acknowledge what, which is a typed text or
	// the name of an event.
	acknowledge func(what string) bool
	down        bool // no socket is connected, but the session has no event about it yet
}

type fakeSocket struct {
	service *fakeService
	url     string
	options socketio.ClientOptions
	events  chan socketio.Event
	id      string

	mu     sync.Mutex
	sent   []sent
	closed bool
}

func newFakeService(t *testing.T) *fakeService {
	f := &fakeService{t: t}
	f.answer = map[string]func(*fakeSocket, sent){
		"open": func(s *fakeSocket, _ sent) {
			s.say(control.ServerConnected, control.Hello{FinalURL: "https://media.example", AgentName: "Robin"})
		},
		control.Join: func(s *fakeSocket, _ sent) {
			s.say(control.ClientConfig, control.ConfigurationEnvelope{ClientConfiguration: control.Configuration{LanguageCode: "en", IsTapToTalk: true}})
			s.say(control.JoinComplete, control.Empty{})
		},
		control.StvNewSession: func(s *fakeSocket, _ sent) {
			s.say(control.StvNewSession, control.StvNewSessionReply{SessionID: "s-1", Status: "session started", WebRTCURL: "https://media.example/whep/s-1"})
			s.say(control.ShowAgent, control.Empty{})
			s.say(control.AskPermissions, control.PermissionRequest{})
		},
		control.ASRInit: func(s *fakeSocket, _ sent) { s.say(control.ASRReady, control.Empty{}) },
		control.ASROffer: func(s *fakeSocket, _ sent) {
			s.say(control.ASRAnswer, control.Answer{Answer: control.Description{Type: "answer", SDP: "v=0"}})
		},
	}
	return f
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

// reach is the option of a session that reaches only c and dial.
func reach(c fetch.Client, dial socketio.Dial) httpclient.Client { return fetch.As(reached{c, dial}) }

func (f *fakeService) dial(url string, o socketio.ClientOptions) (socketio.Socket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	s := &fakeSocket{service: f, url: url, options: o, events: make(chan socketio.Event, 64), id: "sock-" + string(rune('1'+len(f.sockets)))}
	f.sockets = append(f.sockets, s)
	return s, nil
}

// socket returns the nth socket dialled, from 0.
func (f *fakeService) socket(n int) *fakeSocket {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n >= len(f.sockets) {
		f.t.Fatalf("socket %d was not dialled", n)
	}
	return f.sockets[n]
}

func (f *fakeService) dialled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.sockets)
}

func (s *fakeSocket) Open() {
	if s.service.silent {
		return
	}
	s.push(socketio.Event{Kind: socketio.Connected})
	s.reply("open", sent{})
}

func (s *fakeSocket) Events() <-chan socketio.Event { return s.events }
func (s *fakeSocket) ID() string                    { return s.id }
func (s *fakeSocket) SetAuth(auth any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Auth = auth
	return nil
}
func (s *fakeSocket) Reconnect() {}

func (s *fakeSocket) Emit(name string, args ...any) error {
	b, err := json.Marshal(args[0])
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.sent = append(s.sent, sent{name, b})
	s.mu.Unlock()
	s.reply(name, sent{name, b})
	return nil
}

// Ask is Emit with an acknowledgement, if the service's acknowledge is set.
func (s *fakeSocket) Ask(name string, acknowledged func(), args ...any) error {
	s.service.mu.Lock()
	acknowledge, down := s.service.acknowledge, s.service.down
	s.service.mu.Unlock()
	if down {
		return socketio.ErrDisconnected
	}
	if err := s.Emit(name, args...); err != nil {
		return err
	}
	what := name
	if text, ok := args[0].(control.Text); ok {
		what = text.Text
	}
	if acknowledge != nil && acknowledge(what) {
		acknowledged()
	}
	return nil
}

func (s *fakeSocket) reply(name string, p sent) {
	s.service.mu.Lock()
	answer := s.service.answer[name]
	s.service.mu.Unlock()
	if answer != nil {
		answer(s, p)
	}
}

func (s *fakeSocket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
	return nil
}

func (s *fakeSocket) push(ev socketio.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.events <- ev
	}
}

// say sends an event to the client.
func (s *fakeSocket) say(name string, payload any) {
	b, err := json.Marshal(payload)
	if err != nil {
		s.service.t.Error(err)
	}
	s.push(socketio.Event{Kind: socketio.Message, Name: name, Args: socketio.Args{b}})
}

// names lists what the client sent, without what is checked elsewhere.
func (s *fakeSocket) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(s.sent))
	for i, e := range s.sent {
		names[i] = e.name
	}
	return names
}

// payloads returns the payloads of the client's events called name, without the random
// ids of turns.
func (s *fakeSocket) payloads(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, e := range s.sent {
		if e.name == name {
			found = append(found, turnID.ReplaceAllString(string(e.payload), ""))
		}
	}
	return found
}

var turnID = regexp.MustCompile(`,"clientTurnId":"[a-z0-9]{16}"`)

// fakeMedia makes peers that do at once what they are asked.
type fakeMedia struct {
	fakeMic
	fakeRenderer
	down *fakeSubscriber
	up   *fakePublisher
	// subscribe, when set, returns the outcome of a POST to url.
	subscribe func(ctx context.Context, url string) error
	playable  func(ctx context.Context) (media.Picture, error)
	release   func(ctx context.Context) // of a viewer
	stats     media.Stats
	flowing   bool
	dead      atomic.Bool // no bytes come
	deaf      atomic.Bool // the microphone does not connect
	open      int         // peers not closed
}

func (p *fakeMedia) NewSubscriber(notify func(media.Event)) Subscriber {
	p.down = &fakeSubscriber{media: p, notify: notify}
	p.open++
	return p.down
}

func (p *fakeMedia) NewPublisher(notify func(media.Event)) Publisher {
	p.up = &fakePublisher{media: p, notify: notify}
	p.open++
	return p.up
}

func (p *fakeMedia) NewVoice(func(media.Event)) Voice { return &fakeVoice{} }
func (p *fakeMedia) Close()                           {}

// instead is the option Media.
func instead(m Media) func(*media.Engine) Media { return func(*media.Engine) Media { return m } }

type fakeSubscriber struct {
	media   *fakeMedia
	notify  func(media.Event)
	posts   []string
	renewed int
	bytes   atomic.Uint64
	closed  bool
}

func (d *fakeSubscriber) Subscribe(ctx context.Context, url string) error {
	d.posts = append(d.posts, url)
	if d.media.subscribe != nil {
		return d.media.subscribe(ctx, url)
	}
	return nil
}

func (d *fakeSubscriber) Playable(ctx context.Context, _ bool) (media.Picture, error) {
	if d.media.playable != nil {
		return d.media.playable(ctx)
	}
	if d.media.dead.Load() {
		select {
		case <-time.After(6 * time.Second):
		case <-ctx.Done():
			return media.Picture{}, context.Cause(ctx)
		}
		return media.Picture{Missing: true}, nil
	}
	if d.media.flowing {
		d.notify(media.Event{Kind: media.ICEState, Channel: media.ChannelSTV, State: "connected"})
	}
	return media.Picture{Width: 640, Height: 360}, nil
}

func (d *fakeSubscriber) Renew(context.Context) {
	d.renewed++
	d.bytes.Store(0)
}

func pictureBytes(n uint64) media.VideoStats {
	return media.VideoStats{InboundStats: media.InboundStats{BytesReceived: n}}
}

// Stats are those of the test. With flowing, bytes of the picture come while it is not dead.
func (d *fakeSubscriber) Stats(context.Context) (media.Stats, error) {
	if !d.media.flowing {
		return d.media.stats, nil
	}
	if !d.media.dead.Load() {
		d.bytes.Add(1000)
	}
	n := d.bytes.Load()
	return media.Stats{Known: n > 0, HasVideo: n > 0, Video: pictureBytes(n)}, nil
}

func (d *fakeSubscriber) Release(ctx context.Context) {
	if d.media.release != nil {
		d.media.release(ctx)
	}
	d.Close()
}

func (d *fakeSubscriber) Close() {
	if !d.closed {
		d.closed = true
		d.media.open--
	}
}

func (u *fakePublisher) Prepare() { u.prepared.Store(true) }

type fakePublisher struct {
	media    *fakeMedia
	notify   func(media.Event)
	restarts int
	caps     []int // SetBandwidth
	prepared atomic.Bool
	closed   bool
}

func (u *fakePublisher) Offer(_ context.Context, restart bool) (control.Description, error) {
	if restart {
		u.restarts++
	}
	return control.Description{Type: "offer", SDP: "v=0"}, nil
}

// Answer after a restart connects, unless the microphone's network is dead.
func (u *fakePublisher) Answer(context.Context, control.Description) error {
	if u.restarts > 0 && !u.media.deaf.Load() {
		u.notify(media.Event{Kind: media.ICEState, Channel: media.ChannelASR, State: "connected"})
	}
	return nil
}
func (u *fakePublisher) AddCandidate(control.ServerCandidate)       {}
func (u *fakePublisher) Stats(context.Context) (media.Stats, error) { return media.Stats{}, nil }

func (u *fakePublisher) SetBandwidth(_ context.Context, kbps int) error {
	u.media.mu.Lock() // of the microphone
	defer u.media.mu.Unlock()
	u.caps = append(u.caps, kbps)
	return nil
}

func (u *fakePublisher) Close() {
	if !u.closed {
		u.closed = true
		u.media.open--
	}
}

type fakeVoice struct{}

func (*fakeVoice) Accept(context.Context, control.Description) (control.Description, error) {
	return control.Description{Type: "answer", SDP: "v=0"}, nil
}
func (*fakeVoice) AddCandidate(control.Candidate) {}
func (*fakeVoice) Close()                         {}

type fakeMic struct {
	mu      sync.Mutex
	started bool
	err     error
	stopped int
}

func (m *fakeMic) StartMic(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = m.err == nil
	return m.err
}
func (m *fakeMic) SwitchMic(context.Context, string) error { return nil }
func (m *fakeMic) MicStarted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.started
}
func (m *fakeMic) SetMicEnabled(bool) {}
func (m *fakeMic) StopMic() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = false
	m.stopped++
}

type fakeRenderer struct{}

func (fakeRenderer) SetOutputMuted(bool)                          {}
func (fakeRenderer) SetOutputVolume(float64)                      {}
func (fakeRenderer) SetOutputDevice(context.Context, string) bool { return true }
func (fakeRenderer) ResumePlayback(context.Context) bool          { return true }
func (fakeRenderer) ClearTracks()                                 {}
func (fakeRenderer) WatchSpeech(bool)                             {}

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
	service *fakeService
	media   *fakeMedia
	http    *fakeHTTP

	mu     sync.Mutex
	events []Event
}

// micReports is an event of the microphone.
func (r *rig) micReports(ev media.Event) { r.base.Work.Post(func() { r.micEvent(ev) }) }

// run calls f with a rig; no goroutine may be left when it ends, which the
// bubble checks.
func run(t *testing.T, o Options, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, service: newFakeService(t), media: &fakeMedia{}, http: &fakeHTTP{status: 200}}
		o.Token = cmp.Or(o.Token, "token")
		if o.GenieURL == nil {
			o.GenieURL = new("https://brain.example")
		}
		o.OnEvent = func(e Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		}
		o.Media, o.HTTPClient = instead(r.media), reach(r.http, r.service.dial)
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		r.Session = s
		s.recovery.observe = func(from situation, what loss, to situation) { checkDecision(t, from, what, to) }
		defer func() {
			s.Disconnect(DisconnectOptions{})
			synctest.Wait()
			if r.media.open != 0 {
				t.Errorf("%d peers are still open", r.media.open)
			}
			for i := range r.service.dialled() {
				if !r.service.socket(i).closed {
					t.Errorf("socket %d is still open", i)
				}
			}
		}()
		f(r)
	})
}

// checkDecision compares what a session did after a loss with its decisions.
func checkDecision(t *testing.T, from situation, what loss, to situation) {
	step, decided := decide(from, what)
	switch {
	case !decided && to != from:
		t.Errorf("%s, %s: the session is %s, though nothing is decided", from, what, to)
	case decided && !slices.Contains(step.to, to):
		t.Errorf("%s, %s: the session is %s, decided is %v", from, what, to, step.to)
	}
}

// mustConnect connects and ends the opening turn.
func (r *rig) mustConnect() *fakeSocket {
	r.t.Helper()
	s := r.connectOnly()
	r.media.down.notify(media.Event{Kind: media.ICEState, Channel: media.ChannelSTV, State: "connected"})
	r.media.up.notify(media.Event{Kind: media.ICEState, Channel: media.ChannelASR, State: "connected"})
	s.say(control.StvFinishedTalking, control.FinishedTalking{AgentContent: "Hello."})
	synctest.Wait()
	return s
}

func (r *rig) connectOnly() *fakeSocket {
	r.t.Helper()
	if err := r.Connect(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	return r.service.socket(r.service.dialled() - 1)
}

// heardNames lists the names of the events so far, without those about connectivity.
func (r *rig) heardNames() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.events))
	for _, e := range r.events {
		name := e.Name()
		if s, ok := e.(StateChanged); ok {
			name += ":" + string(s.State)
		}
		names = append(names, name)
	}
	return names
}

// forget drops the events heard so far.
func (r *rig) forget() {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

// all returns the events of type T so far.
func all[T Event](r *rig) []T {
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
