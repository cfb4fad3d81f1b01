//go:build js && wasm

package main

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// avatarSessions makes the avatar sessions of this program.
type avatarSessions struct {
	http *fetch.Transport
	// deps are the parts around a session's plane; tests put others there.
	deps func(*media.Plane) avatar.Deps
}

func newAvatarSessions() *avatarSessions {
	http := fetch.New()
	return &avatarSessions{http: http, deps: func(p *media.Plane) avatar.Deps {
		return avatar.Deps{
			Plane: avatar.OnMedia(p),
			Fetch: http,
			Send:  http,
			Page:  sessionend.BrowserPage(),
		}
	}}
}

// avatarSession is one session as js/src/avatar.ts holds it.
type avatarSession struct {
	*avatar.Session
	*page.Handle
	plane *media.Plane
}

// open makes a session of the options of js/src/avatar.ts.
func (s *avatarSessions) open(h *page.Handle, options js.Value) (page.Session, error) {
	var o avatarOptions
	if err := jsbridge.FromJS("options", options, &o); err != nil {
		return nil, err
	}
	return s.make(h, &o, o.session(h.Listen()))
}

// make makes a session of given in the page that o tells of.
func (s *avatarSessions) make(h *page.Handle, o *avatarOptions, given avatar.Options) (*avatarSession, error) {
	var err error
	if given.Platform, err = o.platform(h.Failed); err != nil {
		return nil, err
	}
	config := given.Media()
	config.Client, config.Sender = s.http, s.http
	plane := media.NewPlane(config)
	session, err := avatar.New(given, s.deps(plane))
	if err != nil {
		plane.Close()
		return nil, err
	}
	return &avatarSession{session, h, plane}, nil
}

// elements returns what of the page the session is bound to.
func (a *avatarSession) elements(page.Call) (any, error) {
	screen := a.plane.Screen()
	return map[string]any{
		"avatarStream": screen.Stream(),
		"videoEl":      screen.VideoEl(),
		"audioEl":      screen.AudioEl(),
	}, nil
}
