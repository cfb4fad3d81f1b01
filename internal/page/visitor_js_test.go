//go:build js && wasm

package page

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page/programtest"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const here = `{token: "t", genieUrl: "https://brain.example"}`

func TestATurnWithoutASession(t *testing.T) {
	r := newRig(t)
	before := jsbridge.LiveFuncs()
	stream := r.exports.Call("converse", programtest.Eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", threadId: "th-0", requestVars: {a: 1}}`))
	next := stream.Call("next")
	expect.Equal(t, text(r.asked(1).Get("body")), `{"userMessage":"Hi","sse":false,"threadId":"th-0","request_vars":{"a":1}}`, "sent")
	r.say(hello)
	expect.Equal(t, r.await(next).Get("value").Index(0).Get("content").String(), "Hello", "first")
	r.await(stream.Call("return"))
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	once := r.exports.Call("converseOnce", nil, programtest.Eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", traceContext: () => ({traceparent: "`+trace+`"})}`))
	if got := programtest.Eval(`({init}) => new Headers(init.headers).get("traceparent")`).Invoke(r.asked(2)); got.String() != trace {
		t.Errorf("traceparent %s", got)
	}
	r.answer()
	expect.Equal(t, r.await(once).Get("text").String(), "Hello world", "turn")
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks, %d before", got, before)
	}
}

// TestATurnAsAPageGetsIt holds the value against ChatTurn of js/src/generated/events.ts:
// lists are never null, what is optional is absent.
func TestATurnAsAPageGetsIt(t *testing.T) {
	for _, c := range []struct{ segments, want string }{
		{
			``,
			`{"text":"","threadId":"","messageId":"","segments":[],"widgets":[],"toolCalls":[],"oauthRequired":[],"errors":[],` +
				`"spiralStopped":false,"truncated":false,"empty":true,"warnings":[{"code":"empty_turn_with_request_vars","message":"…","requestVarKeys":["a"]}]}`,
		},
		{
			`{type: "tool", content: 'ping {"a":1}{"b":[null]}', tool_metadata: {id: "ti", type: "client", wait_for_response: true}}`,
			`{"text":"","threadId":"","messageId":"","segments":[{"role":"","type":"tool","content":"ping {\"a\":1}{\"b\":[null]}","segmentNumber":0,"et":0,` +
				`"tool_metadata":{"id":"ti","name":"","type":"client","wait_for_response":true}}],"widgets":[],` +
				`"toolCalls":[{"name":"ping","args":{"b":[null]},"fusedArgs":[{"a":1}],"id":"ti","type":"client","waitForResponse":true,"raw":"ping {\"a\":1}{\"b\":[null]}"}],` +
				`"oauthRequired":[],"errors":[],"spiralStopped":false,"truncated":false,"empty":false}`,
		},
	} {
		r := newRig(t)
		once := r.exports.Call("converseOnce", nil, programtest.Eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", requestVars: {a: 1}}`))
		r.asked(1)
		if c.segments != "" {
			r.say(c.segments)
		}
		r.brain.Call("close")
		turn := r.await(once)
		if warnings := turn.Get("warnings"); !warnings.IsUndefined() {
			if warnings.Index(0).Get("message").String() == "" {
				t.Error("a warning says nothing")
			}
			warnings.Index(0).Set("message", "…") // its words are those of docs/errors.md
		}
		if got := text(turn); got != c.want {
			t.Errorf("turn %s\nwant %s", got, c.want)
		}
	}
}

func TestErrorSegmentsOfASingleTurn(t *testing.T) {
	r := newRig(t)
	ask := func(on string, n int) (turn any, refused string) {
		once := r.exports.Call("converseOnce", nil, programtest.Eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", onErrorSegment: "`+on+`"}`))
		r.asked(n)
		r.say(hello)
		r.say(`{type: "error", content: "the model is down", threadId: "th-1"}`)
		r.brain.Call("close")
		v, err := programtest.Settled(once)
		if err != nil {
			return nil, programtest.CodeOf(err)
		}
		return v.Get("text").String() + "; " + v.Get("errors").Index(0).Get("content").String(), ""
	}
	if _, got := ask("throw", 1); got != "stream_error" {
		t.Errorf("throw: %s", got)
	}
	if got, _ := ask("return", 2); got != "Hello; the model is down" {
		t.Errorf("return: %v", got)
	}
	r.refused(r.exports.Call("converseOnce", nil, programtest.Eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", onErrorSegment: "warn"}`)), "bad_request")
	r.refused(r.exports.Call("converseOnce", nil, programtest.Eval(`{token: "t", kind: "admin", userMessage: "Hi"}`)), "wrong_token_scope")
	expect.Equal(t, programtest.Code(r.exports.Call("converse", programtest.Eval(`{userMessage: "Hi"}`))), "bad_request", "without a token")
}

func TestAVisitorsLists(t *testing.T) {
	r := newRig(t)
	r.brain.Set("reply", programtest.Eval(`(brain) => ({body}) => brain.json({totalCount: 3, objects:
		["a", "b", "c"].slice((body.pager.pageIndex - 1) * body.pager.pageSize).slice(0, body.pager.pageSize).map((id) => ({id, title: "T" + id, extra: 1}))})`).Invoke(r.brain))
	list := r.await(r.exports.Call("threadList", nil, programtest.Eval(here), programtest.Eval(`{filter: {orderBy: "-createdAt"}, pager: {pageSize: 2}}`)))
	expect.Equal(t, text(list), `{"totalCount":3,"objects":[{"id":"a","title":"Ta","extra":1},{"id":"b","title":"Tb","extra":1}]}`, "list")
	before := jsbridge.LiveFuncs()
	all := r.exports.Call("threadAll", programtest.Eval(here), programtest.Eval(`{pager: {pageSize: 2}}`))
	var ids string
	for {
		next := r.await(all.Call("next"))
		if next.Get("done").Bool() {
			break
		}
		ids += next.Get("value").Index(0).Get("id").String()
	}
	r.await(all.Call("return"))
	expect.Equal(t, ids, "abc", "all are")
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks, %d before", got, before)
	}
	expect.Equal(t, r.brain.Get("requests").Length(), 3, "requests")
}

func TestWhatAVisitorCannotAskIsNotSent(t *testing.T) {
	r := newRig(t)
	widget := `{token: "t", genieUrl: "https://brain.example", kind: "widget"}`
	for _, c := range []struct{ access, method, args, want string }{
		{widget, "threadList", `{}`, "wrong_token_scope"},
		{widget, "messageGet", `{id: "m"}`, "wrong_token_scope"},
		{here, "threadList", `{filter: {agentIdIn: ["a"]}}`, "validation_error"},
		{here, "threadGet", `{}`, "bad_request"},
		{here, "threadSetAnalysis", `{id: "a", values: {}}`, "bad_request"},
		{here, "threadRename", `{id: "a"}`, "bad_request"},
		{here, "messageShare", `{id: "a", title: null}`, "bad_request"},
		{here, "feedbackAdd", `{messageId: "m"}`, "bad_request"},
		{here, "feedbackAdd", `{messageId: "m", positive: "yes"}`, "bad_request"},
		{here, "threadDelete", `{ids: ["a", null]}`, "bad_request"},
		{`{token: "t", kind: "ticket"}`, "assistantStatus", `{}`, "bad_request"},
		{`{}`, "assistantStatus", `{}`, "bad_request"},
	} {
		r.refused(r.exports.Call(c.method, nil, programtest.Eval(c.access), programtest.Eval(c.args)), c.want)
	}
	all := r.exports.Call("threadAll", programtest.Eval(widget), programtest.Eval(`{}`))
	r.refused(all.Call("next"), "wrong_token_scope")
	r.await(all.Call("return"))
	expect.Equal(t, r.brain.Get("requests").Length(), 0, "requests")
}

// TestWhatAPageGets is the value of each call of js/src/session/visitor.ts, for a record
// with everything in it and for one with the least.
func TestWhatAPageGets(t *testing.T) {
	const (
		thread = `{"id":"t","title":"T","status":"active","created_at":"2026-01-02T03:04:05.678Z","updated_at":1767323045.5,` +
			`"agent_id":"default","thread_metadata":{"analysis":{"mood":"good","stars":[1,null]}},"rank":1}`
		message = `{"id":"m","thread_id":"t","user_id":"ann","genie_id":1001,"type":"ai","is_positive":false,"comment":"no",` +
			`"created_at":1767323045500,"updated_at":"2026-01-02T03:04:05","content":[{"type":"avatar","content":"Hi","metadata":{}}],"likes":3}`
		least   = `{"id":"x"}`
		nothing = `{"id":"x","title":null,"created_at":null,"thread_metadata":null,"is_positive":null,"content":null}`
	)
	page := func(objects string) string { return `{"totalCount":7,"objects":[` + objects + `]}` }
	for _, c := range []struct{ method, args, path, body, reply, want string }{
		{
			"threadList", `{filter: {createdAtLessThanOrEqual: new Date(0), userIdEquals: "", idEquals: undefined, statusEquals: null}, pager: {pageIndex: 2}}`,
			"/v1/thread/list", `{"filter":{"createdAtLessThanOrEqual":"1970-01-01T00:00:00.000Z","objectType":"ListThreadFilter","userIdEquals":""},"pager":{"pageIndex":2,"pageSize":30}}`,
			page(thread + "," + least + "," + nothing), page(thread + "," + least + "," + nothing),
		},
		{
			"threadList", `null`, "/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter"},"pager":{"pageIndex":1,"pageSize":30}}`,
			`{"objects":[]}`, `{"totalCount":0,"objects":[]}`,
		},
		{"threadGet", `{id: "t"}`, "/v1/thread/get", `{"id":"t"}`, thread, thread},
		{"threadGet", `{id: "x"}`, "/v1/thread/get", `{"id":"x"}`, nothing, nothing},
		{"threadRename", `{id: "t", title: ""}`, "/v1/thread/update", `{"id":"t","title":""}`, thread, thread},
		{
			"threadSetAnalysis", `{id: "t", values: {z: 1, a: [null, {b: undefined}]}}`,
			"/v1/thread/update", `{"id":"t","thread_metadata":{"analysis":{"a":[null,{}],"z":1}}}`, thread, thread,
		},
		{"threadClearAnalysis", `{id: "t"}`, "/v1/thread/update", `{"id":"t","thread_metadata":{}}`, least, least},
		{"threadDelete", `{ids: ["t", "u"]}`, "/v1/thread/delete", `{"thread_ids":["t","u"]}`, `{"totalCount":0,"objects":[]}`, `{"totalCount":0,"objects":[]}`},
		{
			"threadTranscript", `{id: "t"}`, "/v1/thread/get_transcripts", `{"id":"t"}`, `{"status":"success","data":"human: Hi\nai: You\nthere"}`,
			`{"text":"human: Hi\nai: You\nthere","turns":[{"role":"human","text":"Hi"},{"role":"ai","text":"You\nthere"}]}`,
		},
		{"threadTranscript", `{id: "t"}`, "/v1/thread/get_transcripts", `{"id":"t"}`, `{"status":"success","data":""}`, `{"text":"","turns":[]}`},
		{
			"messageList", `{threadId: "t", filter: {isPositiveIn: [true, false]}, pager: {pageSize: 1}}`, "/message/list",
			`{"filter":{"isPositiveIn":[true,false],"objectType":"GenieListMessageFilter","threadIdEquals":"t"},"pager":{"pageIndex":1,"pageSize":1}}`,
			page(message), page(message),
		},
		{"messageGet", `{id: "m"}`, "/message/get", `{"id":"m"}`, message, message},
		{"messageShare", `{id: "m", title: "N"}`, "/message/share", `{"id":"m","newTitle":"N"}`, `{"status":"success","data":{"newMessageId":"n","more":1}}`, `{"newMessageId":"n"}`},
		{
			"feedbackAdd", `{messageId: "m", positive: false, comment: undefined}`,
			"/feedback/add", `{"schemaVersion":1,"data":{"message_id":"m","is_positive":false}}`, `{"message_id":"m"}`, "<undefined>",
		},
		{
			"followupsSuggested", `{}`, "/followup/get-suggested-questions?new_response=true", `{}`,
			`["Why?",{"question":"How?","rank":1}]`, `["Why?",{"question":"How?","rank":1}]`,
		},
		{"followupsSuggested", `{}`, "/followup/get-suggested-questions?new_response=true", `{}`, `[]`, `[]`},
		{"assistantStatus", `{}`, "/assistant/status", "<undefined>", `{"aiConsent":true,"avatar":null,"beta":[]}`, `{"aiConsent":true,"avatar":null,"beta":[]}`},
	} {
		t.Run(c.method, func(t *testing.T) {
			r := newRig(t)
			r.brain.Set("reply", programtest.Eval(`(brain, reply) => () => brain.json(reply)`).Invoke(r.brain, programtest.Eval(c.reply)))
			got := r.await(r.exports.Call(c.method, nil, programtest.Eval(here), programtest.Eval(c.args)))
			if text(got) != c.want {
				t.Errorf("resolves to %s\nwant        %s", text(got), c.want)
			}
			asked := r.asked(1)
			if path, body := asked.Get("path").String(), text(asked.Get("body")); path != c.path || body != c.body {
				t.Errorf("asked %s %s\nwant  %s %s", path, body, c.path, c.body)
			}
		})
	}
}

func TestLeavingAListEndsItsRequest(t *testing.T) {
	r := newRig(t)
	r.brain.Set("reply", programtest.Eval(`(brain) => ({init: {signal}}) => {
		brain.pending = signal
		return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
	}`).Invoke(r.brain))
	before := jsbridge.LiveFuncs()
	list := r.exports.Call("messageAll", programtest.Eval(here), programtest.Eval(`{}`))
	next := list.Call("next")
	r.asked(1)
	r.await(list.Call("return"))
	if !r.brain.Get("pending").Get("aborted").Bool() {
		t.Error("the request goes on")
	}
	r.refused(next, "aborted")
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks, %d before", got, before)
	}
}

func TestTheConsoleGetsEachWarningOnce(t *testing.T) {
	console := programtest.Eval(`(() => {
		const { warn } = console, heard = []
		console.warn = (text) => heard.push(text)
		return { heard, restore: () => { console.warn = warn } }
	})()`)
	defer console.Call("restore")
	clear(warned) // of other tests, and of this one with -count
	for _, name := range []string{"genieUrl", "genieUrl", "ovpUrl", "genieUrl"} {
		warn(fault.New(fault.InsecureTransport, name+" uses http"))
	}
	expect.Equal(t, text(console.Get("heard")), `["agentruntime: genieUrl uses http","agentruntime: ovpUrl uses http"]`, "heard")
}
