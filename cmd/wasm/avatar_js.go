//go:build js && wasm

package main

import (
	"context"
	"runtime"
	"sync"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// avatarSessions makes the avatar sessions of this program and ends them with it.
type avatarSessions struct {
	ctx  context.Context // ends with the program
	http *fetch.Transport
	live map[*avatarSession]struct{}
	// deps are the parts around a session's plane; tests put others there.
	deps func(*media.Plane) avatar.Deps
}

func newAvatarSessions(ctx context.Context) *avatarSessions {
	http := fetch.New()
	return &avatarSessions{ctx: ctx, http: http, live: map[*avatarSession]struct{}{}, deps: func(p *media.Plane) avatar.Deps {
		return avatar.Deps{
			Plane: avatar.OnMedia(p),
			Dial: func(url string, o socketio.ClientOptions) (avatar.Socket, error) {
				client, err := socketio.NewClient(url, o)
				if err != nil {
					return nil, err // not a nil *Client in an interface
				}
				return client, nil
			},
			Fetch: http,
			Send:  http,
			Page:  completion.BrowserPage(),
		}
	}}
}

// avatarSession is one session as js/src/avatar.ts holds it.
type avatarSession struct {
	*avatar.Session
	plane    *media.Plane
	sessions *avatarSessions

	ctx    context.Context // of its calls; ends with dispose
	cancel context.CancelFunc
	scope  *jsbridge.Scope

	// read is the snapshot that properties are made of: a page reads several
	// of them in a row.
	read       *avatar.Snapshot
	properties js.Value

	handlers map[int]func() // what removes a handler, by the number that TypeScript gave it
}

// open is the export: it takes the options of js/src/avatar.ts and the function
// that takes events, and returns the methods of a session.
func (s *avatarSessions) open(args []js.Value) (any, error) {
	var o avatarOptions
	if err := jsbridge.FromJS("options", arg(args, 0), &o); err != nil {
		return nil, err
	}
	a := &avatarSession{sessions: s, handlers: map[int]func(){}}
	config, err := o.media(a.failed)
	if err != nil {
		return nil, err
	}
	config.Client, config.Sender = s.http, s.http
	events := jsbridge.NewEmitter(arg(args, 1))
	session := o.session(func(e avatar.Event) { emit(events, e) })

	a.plane = media.NewPlane(config)
	if a.Session, err = avatar.New(session, s.deps(a.plane)); err != nil {
		a.plane.Close()
		return nil, err
	}
	a.ctx, a.cancel = context.WithCancel(s.ctx)
	a.scope = jsbridge.NewScope(a.failed)
	s.live[a] = struct{}{}
	return a.methods(), nil
}

// failed ends the session after a bug that was caught in one of its callbacks.
func (a *avatarSession) failed(err error) {
	if a.Session != nil {
		a.Session.Fail(err)
	}
}

// emit hands an event to the page.
func emit(events jsbridge.Emitter, e avatar.Event) {
	var payload any = e
	if failed, ok := e.(avatar.Failed); ok {
		payload = failed.Error // becomes an AgentError
	}
	if err := events.Emit(e.Name(), payload); err != nil {
		jsbridge.Log("error", "agentruntime: "+err.Error())
	}
}

// dispose ends the session and frees what it holds of the page. It returns when
// the page has heard the last event.
func (a *avatarSession) dispose() {
	if _, ok := a.sessions.live[a]; !ok {
		return
	}
	delete(a.sessions.live, a)
	a.cancel()
	a.Session.Close()
	a.scope.End()
}

// close disposes every session, before the program ends.
func (s *avatarSessions) close() {
	var all sync.WaitGroup
	for a := range s.live {
		all.Go(a.dispose)
	}
	all.Wait()
}

// holdings is what the program holds, so that a test or a page can see that
// nothing stays behind.
type holdings struct {
	Sessions   int `json:"sessions"`
	Callbacks  int `json:"callbacks"`
	Goroutines int `json:"goroutines"`
}

func (s *avatarSessions) holds() holdings {
	return holdings{len(s.live), jsbridge.LiveFuncs(), runtime.NumGoroutine()}
}

// values returns what the page may read at any time.
func (a *avatarSession) values() (any, error) {
	if now := a.Snapshot(); now != a.read {
		v, err := jsbridge.ToJS(now)
		if err != nil {
			return nil, err
		}
		a.read, a.properties = now, v
	}
	return a.properties, nil
}

// elements returns what of the page the session is bound to.
func (a *avatarSession) elements() (any, error) {
	screen := a.plane.Screen()
	return map[string]any{
		"avatarStream": screen.Stream(),
		"videoEl":      screen.VideoEl(),
		"audioEl":      screen.AudioEl(),
	}, nil
}

// arg returns args[i], or undefined when JavaScript passed fewer.
func arg(args []js.Value, i int) js.Value {
	if i < len(args) {
		return args[i]
	}
	return js.Undefined()
}
