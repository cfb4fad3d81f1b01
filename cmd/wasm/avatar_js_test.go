//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/page/programtest"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

const quiet = `{token: "t", genieUrl: "https://brain.example", micStartMode: "deferred"}`

func TestASessionConnectsTalksAndEnds(t *testing.T) {
	s := newRig(t).open(quiet)
	expect.Equal(t, s.now("properties").Get("state").String(), "idle", "state")
	s.connect()
	properties := s.now("properties")
	expect.Equal(t, properties.Get("state").String()+" "+properties.Get("mode").String(), "connected audio", "after connect")
	if !s.now("properties").Equal(properties) {
		t.Error("properties are converted again although nothing happened")
	}
	sent, err := s.later("speak", nil, "Hello")
	if err != nil || !sent.Bool() {
		t.Fatalf("speak: %v %v", sent, err)
	}
	expect.List(t, s.texts(), []string{"Hello"}, "sent")
	s.now("disconnect")
	expect.Equal(t, s.Event("ended").Get("reason").String(), "disconnect", "ended with")
	want := []string{
		"stateChange", "stateChange", "connectivityChanged", "streamReady", "mediaReady", "disclosure", "stateChange",
		"connectTimings", "avatarStopTalking", "responsePending", "stateChange", "responseSettled", "turnTimings", "turnUnconfirmed", "stateChange", "ended",
	}
	if got := s.Names(); !slices.Equal(got, want) {
		t.Errorf("events %q\nwant   %q", got, want)
	}
}

func TestDisposeFreesEverything(t *testing.T) {
	r := newRig(t)
	before := jsbridge.LiveFuncs()
	for range 3 {
		s := r.open(quiet)
		s.connect()
		s.now("addToolHandler", 1, "open", programtest.Eval("() => {}"))
		must.Get(s.later("dispose", nil))(t)
		r.Forget()
	}
	expect.Equal(t, jsbridge.LiveFuncs()-before, 0, "callbacks are left")
	expect.Equal(t, r.program.Sessions(), 0, "sessions are left")
	if !r.socket().Closed() {
		t.Error("the socket is open")
	}
}

func TestErrorsComeBackAndAreNotThrown(t *testing.T) {
	s := newRig(t).open(quiet)
	for method, want := range map[string]fault.Code{
		"interrupt": fault.InvalidState, "pause": fault.InvalidState, "startTapToTalk": fault.InvalidState,
		"setToken": fault.BadRequest, "setDynamicPrompt": fault.InvalidState, "updateRequestVars": fault.BadRequest, "sendScreenShot": fault.InvalidState, "sendCameraShot": fault.InvalidState,
	} {
		expect.Equal(t, programtest.Code(s.now(method)), string(want), "%s gives", method)
	}
	expect.Equal(t, programtest.Code(s.now("setVideoEl", programtest.Eval("({})"))), string(fault.BadRequest), "setVideoEl of an object gives")
	for method, want := range map[string]fault.Code{
		"speak": fault.InvalidState, "startMic": fault.InvalidState, "respondToTool": fault.InvalidState,
	} {
		if _, err := s.later(method, nil, "x", programtest.Eval("({})")); programtest.CodeOf(err) != string(want) {
			t.Errorf("%s rejects with %v, want %q", method, err, want)
		}
	}
	if _, err := s.later("connect", programtest.Eval(`"no signal"`)); programtest.CodeOf(err) != string(fault.BadRequest) {
		t.Errorf("a bad signal rejects with %v", err)
	}
	must.Get(s.later("disconnect", nil))(t)
	if _, err := s.later("completeThread", nil); programtest.CodeOf(err) != string(fault.InvalidState) {
		t.Errorf("completeThread after the end rejects with %v", err)
	}
}

func TestAConnectThatIsCancelledRejectsWithAborted(t *testing.T) {
	r := newRig(t)
	r.service.When("open", nil)
	s := r.open(quiet)
	controller := programtest.Eval("new AbortController()")
	promise := s.methods.Call("connect", controller.Get("signal"))
	s.Event("connectivityChanged")
	controller.Call("abort", "enough")
	_, err := jsbridge.Await(t.Context(), promise)
	if programtest.CodeOf(err) != string(fault.Aborted) {
		t.Fatalf("rejected with %v", err)
	}
	thrown := err.(*jsbridge.Error).Value
	expect.Equal(t, thrown.Get("timings").Get("socketOpen").Type(), js.TypeNumber, "the error has no timings")
	if !r.socket().Closed() {
		t.Error("the socket is open")
	}
}

func TestEndOfTheProgramEndsItsSessions(t *testing.T) {
	r := newRig(t)
	s := r.open(quiet)
	s.connect()
	r.program.Close()
	if names := s.Names(); names[len(names)-1] != "ended" {
		t.Errorf("the last event is %s", names[len(names)-1])
	}
	if !r.socket().Closed() || r.program.Sessions() != 0 {
		t.Error("something is left")
	}
}

func TestElementsAreThePagesOwn(t *testing.T) {
	video, audio := programtest.Eval(`document.createElement("video")`), programtest.Eval(`document.createElement("audio")`)
	s := newRig(t).open(quiet)
	s.now("setVideoEl", video)
	s.now("setAudioEl", audio)
	elements := s.now("elements")
	if !elements.Get("videoEl").Equal(video) || !elements.Get("audioEl").Equal(audio) {
		t.Error("other elements came back")
	}
	s.now("setAudioEl", js.Null())
	if got := s.now("elements").Get("audioEl"); !got.IsNull() {
		t.Errorf("audioEl is %v", got)
	}
}

// optionCase are options and the code with which both sides refuse them.
type optionCase struct {
	Name    string          `json:"name"`
	Options json.RawMessage `json:"options"`
	Code    string          `json:"code"`
}

// optionCases reads a file of testdata, which js/test/options.test.ts reads too.
func optionCases(t *testing.T, name string) (cases []optionCase) {
	t.Helper()
	data := must.Get(os.ReadFile("testdata/" + name + ".json"))(t)
	must.Do(t, json.Unmarshal(data, &cases))
	return cases
}

func TestBothSidesCheckOptionsAlike(t *testing.T) {
	r := newRig(t)
	for _, c := range optionCases(t, "options") {
		got := ""
		if _, err := r.program.Open(r.sessions.open, programtest.Eval(string(c.Options)), programtest.Eval("() => {}")); err != nil {
			got = string(fault.From(err).Code)
		}
		expect.Equal(t, got, c.Code, "%s", c.Name)
	}
	r.program.Close()
}

func TestSwitchesThatAreOnByDefault(t *testing.T) {
	var on, changed avatarOptions
	must.Do(t, jsbridge.FromJS("options", programtest.Eval(`{}`), &on))
	must.Do(t, jsbridge.FromJS("options", programtest.Eval(`{
		networkAware: false, recoverFromSpiral: false, sessionCompleteOnEnd: false, pageLifecycleAware: false,
		completeOnHiddenGrace: false, completeOnBfcache: false, crossTabPresence: false, hiddenGraceMs: 1500,
		sessionCompletePath: "/end", presenceHeartbeatMs: 10, idleTimeoutMs: 0, timeouts: {overall: 1000, whepTries: 2},
		agentActions: {navigate: false, genui: true, toolCall: true, tools: []}}`), &changed))
	if s := on.session(); s.NetworkAware != nil || s.RecoverFromSpiral != nil || s.CompleteOnEnd != nil || s.PageLifecycle != nil ||
		s.CompleteOnHiddenGrace != nil || s.CompleteOnBFCache != nil || s.CrossTabPresence != nil || s.AgentActions.Navigate != nil ||
		s.AgentActions.Tools != nil || s.IdleTimeout != nil || s.BeforeSend != nil || s.Log != nil {
		t.Errorf("without options: %+v", s)
	}
	s := changed.session()
	if c := s.Settings; *c.CompleteOnEnd || *c.PageLifecycle || *c.CompleteOnHiddenGrace || *c.CompleteOnBFCache || *c.CrossTabPresence ||
		*c.HiddenGrace != 1500*time.Millisecond || c.CompletePath != "/end" || c.PresenceBeat != 10*time.Millisecond {
		t.Errorf("completion %+v", c)
	}
	if *s.NetworkAware || *s.RecoverFromSpiral || *s.IdleTimeout != 0 || s.Limits.Overall != time.Second || s.Limits.WHEPTries != 2 {
		t.Errorf("session %+v", s)
	}
	if p := s.AgentActions; *p.Navigate || !*p.GenUI || !*p.ToolCalls || p.Tools == nil {
		t.Errorf("policy %+v", p)
	}
}

func TestThePageGivesTokensAndLogins(t *testing.T) {
	for given, want := range map[string]string{
		`{onTokenNeeded: async () => "fresh", onRelayNeeded: async () => ({username: "u", credential: "c"})}`:  "fresh <nil> u c <nil>",
		`{onTokenNeeded: () => "fresh", onRelayNeeded: () => ({username: "u", credential: "c", expiry: 9.5})}`: "fresh <nil> u c <nil>",
		`{onTokenNeeded: () => "fresh", onRelayNeeded: () => null}`:                                            "fresh <nil> - <nil>",
		`{onTokenNeeded: async () => 7, onRelayNeeded: async () => 7}`:                                         " error - error",
		`{onTokenNeeded: async () => { throw new Error("no") }, onRelayNeeded: () => { throw 1 }}`:             " error - error",
	} {
		var o avatarOptions
		must.Do(t, jsbridge.FromJS("options", programtest.Eval("("+given+")"), &o))
		s := o.session()
		said := func(err error) string {
			if err != nil {
				return "error"
			}
			return "<nil>"
		}
		token, err := s.OnTokenNeeded(context.Background())
		got := token + " " + said(err)
		login, err := s.OnRelayNeeded(context.Background())
		if login == nil || err != nil {
			got += " - " + said(err)
		} else {
			got += " " + login.Username + " " + login.Credential + " " + said(err)
		}
		expect.Equal(t, got, want, "%s", given)
	}
}

func TestWhatThePageSaysToTypedTexts(t *testing.T) {
	s := newRig(t).open(`{token: "t", genieUrl: "https://brain.example", micStartMode: "deferred", onBeforeSend: (text, about) => {
		switch (text) {
		case "refuse": return false
		case "throw": throw new Error("not that")
		case "reject": return Promise.reject(new Error("nor that"))
		case "change": return Promise.resolve("changed " + about.kind)
		case "odd": return 7n
		}
	}}`)
	s.connect()
	for _, text := range []string{"refuse", "throw", "reject"} {
		if _, err := s.later("speak", nil, text); programtest.CodeOf(err) != string(fault.GuardrailBlocked) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"change", "odd", "keep"} {
		if _, err := s.later("speak", nil, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	expect.List(t, s.texts(), []string{"changed speak", "odd", "keep"}, "sent")
}

func TestToolsAreJudgedAndHandledByThePage(t *testing.T) {
	s := newRig(t).open(`{token: "t", genieUrl: "https://brain.example", micStartMode: "deferred",
		onAgentAction: async (action) => action.toolName !== "erase"}`)
	s.connect()
	s.now("addToolHandler", 1, "open", programtest.Eval(`async (call) => ({opened: call.args.page})`), programtest.Eval(`({page: {type: "int", required: true}})`))
	s.now("addToolHandler", 2, "open", programtest.Eval(`() => { throw new Error("broken") }`))
	s.now("addToolHandler", 3, "open", programtest.Eval(`() => {}`))
	s.now("addToolHandler", 4, "open", programtest.Eval(`() => "removed"`))
	s.now("removeHandler", 4)
	for _, content := range []string{`erase {}`, `open {"page":4}`, `open {"page":"x"}`} {
		delta, _ := json.Marshal(map[string]any{"role": "assistant", "type": "tool", "content": content})
		s.socket().Say(signaling.AgentRawText, signaling.RawText{SpeechID: "a", Delta: string(delta)})
	}
	expect.Equal(t, s.Event("agentActionDenied").Get("toolName").String(), "erase", "denied")
	s.Event("toolCallInvalid")
	var results []string
	for n := range 2 {
		switch e := s.NthEvent("toolCallResult", n+1); {
		case e.Get("ok").Bool():
			results = append(results, "opened "+e.Get("value").Get("opened").String())
		default:
			results = append(results, "error "+e.Get("error").Get("cause").String())
		}
	}
	if !strings.HasPrefix(results[0], "opened") || !strings.Contains(results[1], "broken") {
		t.Errorf("results %q", results)
	}
}
