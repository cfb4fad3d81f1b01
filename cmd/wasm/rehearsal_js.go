//go:build js && wasm

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// rehearsal is the service of a session that connects without a network. An engine
// compiles a function at its first call, and a connect calls 1,400 that the start of the
// program does not; docs/architecture.md has what that costs. The code of the session is
// the real one, and the picture's peer makes a real offer: it must use a relay, as
// js/src/rehearse.ts says, and has none to ask.
type rehearsal struct {
	// idle is the page's: it resolves when the page has nothing else to do. Before it
	// rejects, the page disposes the session.
	idle js.Value
}

func openRehearsal(h *page.Handle, options js.Value) (page.Session, page.Methods, error) {
	idle, err := jsbridge.Get(options, "idle")
	if err != nil {
		return nil, page.Methods{}, err
	}
	r := rehearsal{idle}
	sessions := &avatarSessions{deps: func() avatar.Deps {
		return avatar.Deps{
			Dial: func(url string, o socketio.ClientOptions) (avatar.Socket, error) {
				o.Counterpart = r.answer
				return socketio.NewClient(url, o)
			},
			Media: func(e *media.Engine) avatar.Media { return rehearsalMedia{e} },
			Fetch: r, Send: r,
		}
	}}
	return sessions.open(h, options)
}

// answer is what the service says to a message (wire-protocol §1.9 and §2.3), each time
// in an idle moment, which makes short tasks of a long one.
func (r rehearsal) answer(ctx context.Context, sent string) []string {
	if _, err := page.Consult(ctx, r.idle); err != nil {
		return nil
	}
	said := func(name string) bool { return strings.HasPrefix(sent, `42["`+name+`"`) }
	switch {
	case sent == "":
		return []string{`0{"sid":"rehearsal","pingInterval":25000,"pingTimeout":20000}`}
	case strings.HasPrefix(sent, "40"):
		return []string{`40{"sid":"rehearsal"}`, say(control.ServerConnected, control.Hello{})}
	case said(control.Join):
		return []string{say(control.ClientConfig, control.ConfigurationEnvelope{}), say(control.JoinComplete, control.Empty{})}
	case said(control.StvNewSession):
		return []string{
			say(control.StvNewSession, control.StvNewSessionReply{WebRTCURL: "https://rehearsal.invalid/"}),
			say(control.ShowAgent, control.Empty{}), say(control.AskPermissions, control.Empty{}),
		}
	case said(control.ASRInit):
		return []string{say(control.ASRReady, control.Empty{})}
	case said(control.ASROffer):
		return []string{say(control.ASRAnswer, control.Answer{})}
	}
	return nil
}

// say returns the message with an event.
func say(name string, payload any) string {
	text, _ := json.Marshal([]any{name, payload}) // these payloads have no error
	return "42" + string(text)
}

// Do refuses the picture's offer.
func (rehearsal) Do(context.Context, *fetch.Request) (*fetch.Response, error) {
	return &fetch.Response{Status: 503, Body: io.NopCloser(bytes.NewReader(nil))}, nil
}

// Send sends nothing.
func (rehearsal) Send(*fetch.Request, func(int, error)) {}

// rehearsalMedia has peers whose answers are taken for granted.
type rehearsalMedia struct{ *media.Engine }

func (m rehearsalMedia) NewSubscriber(on func(media.Event)) avatar.Subscriber {
	return rehearsalSubscriber{m.Engine.NewSubscriber(on)}
}

func (rehearsalMedia) NewPublisher(func(media.Event)) avatar.Publisher { return rehearsalPublisher{} }
func (rehearsalMedia) NewVoice(func(media.Event)) avatar.Voice         { return nil }

type rehearsalSubscriber struct{ avatar.Subscriber }

func (s rehearsalSubscriber) Subscribe(ctx context.Context, url string) error {
	_ = s.Subscriber.Subscribe(ctx, url) // makes the offer, which is refused
	return nil
}

func (rehearsalSubscriber) Playable(context.Context, bool) (media.Picture, error) {
	return media.Picture{Width: 1, Height: 1}, nil
}

// rehearsalPublisher has no peer: the microphone's may look for ways other than a relay,
// which would be a use of the network.
type rehearsalPublisher struct{ avatar.Publisher }

func (rehearsalPublisher) Offer(context.Context, bool) (control.Description, error) {
	return control.Description{Type: "offer"}, nil
}
func (rehearsalPublisher) Answer(context.Context, control.Description) error { return nil }
func (rehearsalPublisher) Stats(context.Context) (media.Stats, error)        { return media.Stats{}, nil }
func (rehearsalPublisher) Close()                                            {}
