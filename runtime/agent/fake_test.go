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

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// world stands for everything outside: a brain over HTTP, the far end of control
// sockets, peers without media, a page. What the service does is scripted by each
// test; the sessions in between are real.
type world struct {
	*fakeservice.Service
	t *testing.T

	mu    sync.Mutex
	turns []*exchange
	calls []string // "path body" of the other requests, with the token in front
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
	service := fakeservice.New(t)
	service.Acknowledge = func(string) bool { return true }
	service.When(signaling.Join, func(s *fakeservice.Socket, _ fakeservice.Event) {
		s.Say(signaling.ClientConfig, signaling.Configuration{})
		s.Say(signaling.JoinComplete, signaling.Empty{})
	})
	// The opening is silent, and over at once.
	service.When(signaling.ApprovedPermissions, func(s *fakeservice.Socket, _ fakeservice.Event) {
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
	})
	return &world{Service: service, t: t, made: map[Mode]int{}, freed: map[Mode]int{}, page: &page{}}
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
		o.Media = func(*media.Engine) avatar.Media {
			return &engine{Media: fakeservice.Media{Mic: fakeservice.Mic{MicErr: errors.New("none")}}, world: w}
		}
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

// socket returns the newest one.
func (w *world) socket() *fakeservice.Socket {
	w.t.Helper()
	synctest.Wait()
	return w.Socket(w.Dialled() - 1)
}

// spoken lists the typed turns that the avatar got.
func (w *world) spoken() []string {
	synctest.Wait()
	var texts []string
	for i := range w.Dialled() {
		for _, t := range w.Socket(i).Texts() {
			texts = append(texts, t.Text)
		}
	}
	return texts
}

// engine makes peers that complete every request at once. No test is in audio mode.
type engine struct {
	fakeservice.Media
	world *world
}

func (e *engine) NewSubscriber(notify func(media.Event)) avatar.Subscriber {
	return e.Media.NewSubscriber(notify)
}

func (e *engine) NewPublisher(notify func(media.Event)) avatar.Publisher {
	return e.Media.NewPublisher(notify)
}
func (e *engine) NewVoice(notify func(media.Event)) avatar.Voice { return e.Media.NewVoice(notify) }

func (e *engine) Close() {
	if e.world.closed != nil {
		<-e.world.closed
	}
}

// page tells the sessions of it what the browser does.
type page struct {
	mu        sync.Mutex
	listeners []*completion.Listener
}

func (p *page) Watch(l completion.Listener) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, &l)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.listeners = slices.DeleteFunc(p.listeners, func(other *completion.Listener) bool { return other == &l })
	}
}
func (p *page) Channel(string, func(string)) completion.Channel { return nil }
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
