//go:build js && wasm

package page

import (
	"slices"
	"syscall/js"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page/programtest"
)

const (
	hello = `{type: "text", content: "Hello", threadId: "th-1", messageId: "m-1", segmentNumber: 1}`
	world = `{type: "text", content: " world", threadId: "th-1", messageId: "m-1", segmentNumber: 2}`
	final = `{type: "text", content: "", threadId: "th-1", messageId: "m-1", isFinal: true, segmentNumber: 3}`
)

// answer has the service answer the request under way, and end.
func (r *rig) answer() {
	r.say(hello)
	r.say(world)
	r.say(final)
	r.brain.Call("close")
}

func TestATurnIsAnsweredWhole(t *testing.T) {
	s := newRig(t).chat()
	turn := s.methods.Call("sendText", nil, "Hi", programtest.Eval(`{forceExperience: "markdown", modelType: "fast"}`))
	request := s.asked(1)
	expect.Equal(t, text(request.Get("body")), `{"userMessage":"Hi","sse":false,"model_type":"fast","force_experience":"markdown"}`, "sent")
	s.answer()
	got := s.await(turn)
	if text := got.Get("text").String() + " " + got.Get("threadId").String() + " " + got.Get("messageId").String(); text != "Hello world th-1 m-1" {
		t.Errorf("turn %s", text)
	}
	expect.Equal(t, got.Get("segments").Length(), 3, "segments")
	expect.Equal(t, s.now("properties").Get("threadId").String(), "th-1", "thread")
	want := []string{
		"stateChange", "transcript", "turnStart", "responsePending", "responseSettled", "brainSegment", "transcript",
		"brainSegment", "transcript", "brainSegment", "turnEnd", "turnTimings",
	}
	if got := s.Names(); !slices.Equal(got, want) {
		t.Errorf("events %q\nwant   %q", got, want)
	}
}

func TestThePageOmitsEvents(t *testing.T) {
	s := newRig(t).chat()
	turn := s.methods.Call("sendText", nil, "Hi", programtest.Eval(`{}`))
	s.asked(1)
	s.now("omitEvents", programtest.Eval(`["transcript", "brainSegment"]`))
	s.say(hello)
	s.say(world)
	s.now("omitEvents", programtest.Eval(`["brainSegment"]`))
	s.say(final)
	s.brain.Call("close")
	expect.Equal(t, s.await(turn).Get("text").String(), "Hello world", "text")
	if names := s.Names(); slices.Contains(names, "brainSegment") || !slices.Contains(names, "turnEnd") {
		t.Errorf("events %q", names)
	}
}

func TestConnectAndWhatFollowsAtOnceAreInOrder(t *testing.T) {
	r := newRig(t)
	s := r.open("chatSession", alone)
	connected := s.methods.Call("connect", nil)
	expect.Equal(t, programtest.Code(s.now("updateRequestVars", programtest.Eval(`{a: 1}`))), "", "updateRequestVars gives")
	first, second := s.methods.Call("sendText", nil, "one"), s.methods.Call("sendText", nil, "two")
	r.await(connected)
	if got := r.asked(1).Get("body").Get("request_vars"); text(got) != `{"a":1}` {
		t.Errorf("variables %s", text(got))
	}
	r.answer()
	r.await(first)
	if got := r.asked(2).Get("body"); got.Get("userMessage").String() != "two" || got.Get("threadId").String() != "th-1" {
		t.Errorf("the second turn is %s", text(got))
	}
	r.answer()
	r.await(second)
}

// TestWhatComesTogetherCrossesTogether: the segments of one piece from the network, to
// the loop in one list and to the listeners in one call.
func TestWhatComesTogetherCrossesTogether(t *testing.T) {
	const together = 200
	s := newRig(t).chat()
	stream := s.now("streamText", "Hi", programtest.Eval(`{}`))
	next := stream.Call("next")
	s.asked(1)
	before := s.Calls()
	s.brain.Call("sayTogether", together)
	if got := s.await(next).Get("value"); got.Length() != together || got.Index(together-1).Get("content").String() != "word 199" {
		t.Errorf("the loop got %d segments", got.Length())
	}
	s.brain.Call("close")
	if got := s.await(stream.Call("next")); !got.Get("done").Bool() {
		t.Errorf("then %s", text(got))
	}
	s.await(stream.Call("return"))
	s.Event("turnEnd")
	segments := 0
	for _, name := range s.Names() {
		if name == "brainSegment" {
			segments++
		}
	}
	if calls := s.Calls() - before; segments != together || calls > 5 {
		t.Errorf("%d segments as events in %d calls", segments, calls)
	}
}

func TestLeavingAStreamEndsTheTurn(t *testing.T) {
	s := newRig(t).chat()
	before := jsbridge.LiveFuncs()
	stream := s.now("streamText", "Hi", programtest.Eval(`{}`))
	next := stream.Call("next")
	request := s.asked(1)
	s.say(hello)
	s.await(next)
	s.await(stream.Call("return"))
	if !request.Get("init").Get("signal").Get("aborted").Bool() {
		t.Error("the request goes on")
	}
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks, %d before", got, before)
	}
	turn := s.methods.Call("sendText", nil, "again")
	s.asked(2)
	s.answer()
	expect.Equal(t, s.await(turn).Get("text").String(), "Hello world", "the next turn says")
}

func TestASignalAbortsATurn(t *testing.T) {
	s := newRig(t).chat()
	before := jsbridge.LiveFuncs()
	for n := range 3 {
		controller := programtest.Eval("new AbortController()")
		turn := s.methods.Call("sendText", controller.Get("signal"), "Hi")
		request := s.asked(n + 1)
		s.say(hello)
		controller.Call("abort")
		s.refused(turn, "aborted")
		if !request.Get("init").Get("signal").Get("aborted").Bool() {
			t.Error("the request goes on")
		}
	}
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks, %d before", got, before)
	}
}

func TestAToolIsAnsweredWhileTheReplyStreams(t *testing.T) {
	s := newRig(t).chat()
	s.now("addToolHandler", 1, "cart", programtest.Eval(`(call) => { globalThis.called = call; return {seen: true} }`), programtest.Eval(`({page: {type: "int"}})`))
	s.brain.Set("reply", programtest.Eval(`(brain) => ({path}) => path === "/assistant/converse" ? brain.stream() : brain.json({})`).Invoke(s.brain))
	turn := s.methods.Call("sendText", nil, "What is in my cart?")
	s.asked(1)
	s.say(`{type: "tool", content: 'cart {"page":2}', threadId: "th-1",
		tool_metadata: {id: "call-1", name: "cart", type: "client", wait_for_response: true}}`)
	called := s.Event("toolCall")
	expect.Equal(t, text(called.Get("args"))+called.Get("toolMetadata").Get("id").String(), `{"page":2}call-1`, "called with")
	expect.Equal(t, text(s.Event("toolCallResult").Get("value")), `{"seen":true}`, "result")
	expect.Equal(t, text(s.later("respondToTool", nil, "call-1", programtest.Eval(`{items: 3}`))), `{"ok":true}`, "answered with")
	s.answer()
	if got := s.await(turn).Get("toolCalls"); got.Length() != 1 || !got.Index(0).Get("waitForResponse").Bool() {
		t.Errorf("calls %s", text(got))
	}
	s.now("removeHandler", 1)
}

func TestHooksOfAChatHearOfReplies(t *testing.T) {
	r := newRig(t)
	js.Global().Set("responses", programtest.Eval("[]"))
	js.Global().Set("audits", programtest.Eval("[]"))
	s := r.open("chatSession", `{token: "secret", genieUrl: "https://brain.example", pageLifecycleAware: false, kind: "agent",
		onResponse: (r) => { globalThis.responses.push(r) },
		onAuditEvent: (e) => { globalThis.audits.push(e) }}`)
	s.later("connect", nil)
	turn := s.methods.Call("sendText", nil, "Hi")
	r.asked(1)
	r.answer()
	r.await(turn)
	responses := js.Global().Get("responses")
	if got := responses.Index(0); responses.Length() != 1 || got.Get("status").Int() != 200 || got.Get("requestId").String() != "r-1" {
		t.Errorf("responses %s", text(responses))
	}
	if js.Global().Get("audits").Length() == 0 {
		t.Error("no audit events")
	}
}

func TestDisposeInTheMiddleOfEverythingFreesAll(t *testing.T) {
	r := newRig(t)
	before := jsbridge.LiveFuncs()
	for n := range 3 {
		s := r.chat()
		s.now("addToolHandler", 1, "open", programtest.Eval("() => {}"))
		s.now("addConsentHandler", 2, programtest.Eval("() => {}"))
		stream := s.now("streamText", "Hi", programtest.Eval(`{}`))
		next := stream.Call("next")
		r.asked(n + 1)
		r.say(hello)
		r.await(next)
		unfinished := stream.Call("next")
		waiting := s.methods.Call("sendText", nil, "later")
		dispose := s.methods.Call("dispose", nil)
		r.refused(unfinished, "aborted")
		r.refused(waiting, "invalid_state")
		r.await(dispose)
	}
	expect.Equal(t, jsbridge.LiveFuncs()-before, 0, "callbacks are left")
	expect.Equal(t, r.program.Sessions(), 0, "sessions are left")
}

func TestWhatAChatRefuses(t *testing.T) {
	s := newRig(t).chat()
	for method, want := range map[string]string{
		"setToken": "bad_request", "setDynamicPrompt": "bad_request", "updateRequestVars": "bad_request", "streamText": "bad_request",
	} {
		expect.Equal(t, programtest.Code(s.now(method, programtest.Eval(`7`))), want, "%s gives", method)
	}
	expect.Equal(t, programtest.Code(s.now("updateRequestVars", programtest.Eval(`{sys__ks: "x"}`))), "validation_error", "updateRequestVars gives")
	s.refused(s.methods.Call("connect", nil), "invalid_state") // it is connected
	s.refused(s.methods.Call("sendText", nil, " "), "bad_request")
	s.refused(s.methods.Call("sendText", nil, "Hi", programtest.Eval(`{forceExperience: "table"}`)), "validation_error")
	s.refused(s.methods.Call("sendText", "no signal", "Hi"), "bad_request")
	s.now("disconnect", programtest.Eval(`{final: false, reason: "enough"}`))
	expect.Equal(t, s.Event("ended").Get("reason").String(), "enough", "ended with")
	s.refused(s.methods.Call("sendText", nil, "Hi"), "invalid_state")
	s.refused(s.methods.Call("completeThread", nil), "invalid_state")
	expect.Equal(t, s.brain.Get("requests").Length(), 0, "requests")
}
