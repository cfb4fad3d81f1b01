//go:build js && wasm

package main

import (
	_ "embed"
	"strings"
	"syscall/js"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/internal/page/programtest"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// holder is the facade's side: it is attached to transports and answers turns in text.
//
//go:embed testdata/holder.js
var holder string

// agentRig is a rig whose sessions are of either kind.
type agentRig struct {
	*rig
	holder js.Value
}

func newAgentRig(t *testing.T) *agentRig {
	t.Helper()
	r := &agentRig{newRig(t), programtest.Eval(holder)}
	t.Cleanup(func() { r.holder.Call("restore") })
	return r
}

// alone are the options of a transport that has nothing to do with the page.
const alone = `token: "t", genieUrl: "https://brain.example", pageLifecycleAware: false, crossTabPresence: false`

// agent makes a session that begins in that mode.
func (r *agentRig) agent(mode, more string) session {
	r.t.Helper()
	options := programtest.Eval(`(attach) => ({mode: "` + mode + `", attach, ` + more + `
		avatar: {` + alone + `, micStartMode: "deferred"}, chat: {` + alone + `}})`).Invoke(r.holder.Get("attach"))
	return r.make(r.sessions.openAgent, options)
}

// attached returns the facade's side of transport i.
func (r *agentRig) attached(i int) js.Value { return r.holder.Get("attached").Index(i) }

// to switches and ends the opening turn of an avatar.
func (s session) to(mode string) {
	s.t.Helper()
	must.Get(s.later("switchMode", nil, mode))(s.t)
	if mode == "avatar" {
		s.socket().Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello."})
	}
}

// ask sends a text and returns the result as JSON.
func (s session) ask(text string) string {
	s.t.Helper()
	v := must.Get(s.later("sendText", nil, text))(s.t)
	if v.Type() == js.TypeObject {
		return v.Get("text").String()
	}
	return js.Global().Get("String").Invoke(v).String()
}

func TestAConversationChangesItsTransport(t *testing.T) {
	r := newAgentRig(t)
	s := r.agent("chat", `requestVars: {shared: 1},`)
	if first := r.attached(0); first.Get("kind").String() != "chat" || first.Get("state").String() != "idle" {
		t.Fatalf("the page got a %s in state %s", first.Get("kind"), first.Get("state"))
	}
	s.now("addToolHandler", 1, "open", programtest.Eval("() => {}"))
	must.Get(s.later("connect", nil))(t)
	expect.Equal(t, s.ask("Hi"), "You said: Hi", "in text")
	s.to("avatar")
	if first := r.attached(0); !first.Get("released").Bool() || first.Get("state").String() != "closed" {
		t.Errorf("the first transport is not let go, in state %s", first.Get("state"))
	}
	second := r.attached(1)
	expect.Equal(t, second.Get("methods").Call("properties").Get("threadId").String(), "th-1", "the avatar is in thread")
	expect.Equal(t, s.ask("with a face"), "true", "with a face")
	s.to("chat")
	expect.Equal(t, s.ask("again"), "You said: again", "in text again")
	body := r.holder.Get("asked").Index(1)
	if got := body.Get("threadId").String(); got != "th-1" || body.Get("request_vars").Get("shared").Int() != 1 {
		t.Errorf("the second turn in text went to thread %s", got)
	}
	s.now("disconnect")
	expect.Equal(t, s.Event("ended").Get("reason").String(), "disconnect", "ended with")
	var modes []string
	for _, name := range r.Names() {
		if name == "transportChanged" || name == "modeChanged" {
			modes = append(modes, name)
		}
	}
	want := []string{"transportChanged", "transportChanged", "modeChanged", "transportChanged", "modeChanged"}
	expect.List(t, modes, want, "changes")
}

// The page can add listeners to a transport and call its methods.
func TestATransportInsideIsASession(t *testing.T) {
	r := newAgentRig(t)
	s := r.agent("chat", "")
	must.Get(s.later("connect", nil))(t)
	methods := r.attached(0).Get("methods")
	expect.Equal(t, programtest.Code(methods.Call("updateRequestVars", programtest.Eval(`{own: 2}`))), "", "updateRequestVars gives")
	stream := methods.Call("streamText", "Hi", programtest.Eval("{}"))
	first, err := jsbridge.Await(t.Context(), stream.Call("next"))
	if err != nil || first.Get("value").Index(0).Get("content").String() != "You said: Hi" {
		t.Errorf("first %v, %v", first, err)
	}
	if _, err := jsbridge.Await(t.Context(), stream.Call("return")); err != nil {
		t.Error(err)
	}
	events := js.Global().Get("JSON").Call("stringify", r.attached(0).Get("events")).String()
	if !strings.HasPrefix(events, `["stateChange","transcript","turnStart","responsePending"`) {
		t.Errorf("the transport told %s", events)
	}
	expect.Equal(t, methods.Get("dispose").Type(), js.TypeUndefined, "the transport can be disposed by itself")
}

func TestAFailedSwitchKeepsTheConversation(t *testing.T) {
	r := newAgentRig(t)
	s := r.agent("chat", "")
	must.Get(s.later("connect", nil))(t)
	r.service.When("open", nil)
	controller := programtest.Eval("new AbortController()")
	switching := s.methods.Call("switchMode", controller.Get("signal"), "avatar")
	s.Event("transportChanged")
	controller.Call("abort")
	if _, err := jsbridge.Await(t.Context(), switching); programtest.CodeOf(err) != "aborted" {
		t.Fatalf("the switch ended with %v", err)
	}
	if got := s.now("properties"); got.Get("state").String() != "connected" || got.Get("mode").String() != "chat" {
		t.Errorf("state %s, mode %s", got.Get("state"), got.Get("mode"))
	}
	expect.Equal(t, s.ask("still there?"), "You said: still there?", "answered")
	if _, err := s.later("switchMode", nil, "video"); programtest.CodeOf(err) != "bad_request" {
		t.Errorf("an unknown mode: %v", err)
	}
}

func TestSwitchesAndDisposalsFreeEverything(t *testing.T) {
	r := newAgentRig(t)
	before := jsbridge.LiveFuncs()
	for range 2 {
		s := r.agent("avatar", "")
		s.now("addToolHandler", 1, "open", programtest.Eval("() => {}"))
		must.Get(s.later("connect", nil))(t)
		var held int
		for i := range 5 {
			s.to("chat")
			s.ask("Hi")
			s.to("avatar")
			if got := r.live(); i == 0 {
				held = got
			} else if got != held {
				t.Errorf("%d callbacks after switch %d, %d after the first", got, i+1, held)
			}
		}
		must.Get(s.later("dispose", nil))(t)
	}
	expect.Equal(t, jsbridge.LiveFuncs()-before, 0, "callbacks are left")
	expect.Equal(t, r.program.Sessions(), 0, "sessions are left")
	attached := r.holder.Get("attached")
	for i := range attached.Length() {
		if !attached.Index(i).Get("released").Bool() {
			t.Errorf("transport %d is not released", i)
		}
	}
}

// live returns the number of callbacks once the previous transport, for whose end a switch
// does not wait, has ended.
func (r *agentRig) live() int {
	r.t.Helper()
	attached := r.holder.Get("attached")
	must.Get(jsbridge.Await(r.t.Context(), attached.Index(attached.Length()-2).Get("ended")))(r.t)
	return jsbridge.LiveFuncs()
}

// A page that refuses a transport gets the session's error, and nothing is left.
func TestAPageThatDoesNotAttachATransport(t *testing.T) {
	r := newAgentRig(t)
	before := jsbridge.LiveFuncs()
	for _, attach := range []string{`undefined`, `() => { throw new Error("no") }`, `() => undefined`} {
		options := programtest.Eval(`({mode: "chat", attach: ` + attach + `, avatar: {token: "t"}, chat: {` + alone + `}})`)
		if _, err := r.program.Open(r.sessions.openAgent, options, programtest.Eval("() => {}")); err == nil {
			t.Errorf("attach %s: no error", attach)
		}
	}
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks are left", got-before)
	}
}

// An agent session checks the options of its first transport on this side.
func TestBothSidesCheckOptionsOfChatsAlike(t *testing.T) {
	r := newAgentRig(t)
	for _, c := range optionCases(t, "chatoptions") {
		inside := programtest.Eval(`(attach) => ({mode: "chat", attach, avatar: {token: "t"}, chat: ` + string(c.Options) + `})`).Invoke(r.holder.Get("attach"))
		for what, open := range map[string]func() error{
			"a chat": func() error {
				_, err := r.program.Open(page.OpenChat, programtest.Eval(string(c.Options)), programtest.Eval("() => {}"))
				return err
			},
			"an agent": func() error {
				_, err := r.program.Open(r.sessions.openAgent, inside, programtest.Eval("() => {}"))
				return err
			},
		} {
			got := ""
			if err := open(); err != nil {
				got = string(fault.From(err).Code)
			}
			expect.Equal(t, got, c.Code, "%s: %s", what, c.Name)
		}
	}
	r.program.Close()
}
