//go:build js && wasm

package page

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

const here = `{token: "t", genieUrl: "https://brain.example"}`

func TestATurnWithoutASession(t *testing.T) {
	r := newRig(t)
	before := jsbridge.LiveFuncs()
	stream := r.exports.Call("converse", eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", threadId: "th-0", requestVars: {a: 1}}`))
	next := stream.Call("next")
	if got, want := text(r.asked(1).Get("body")), `{"userMessage":"Hi","sse":false,"threadId":"th-0","request_vars":{"a":1}}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	r.say(hello)
	if got := r.await(next).Get("value").Get("content").String(); got != "Hello" {
		t.Errorf("first %s", got)
	}
	r.await(stream.Call("return"))
	once := r.exports.Call("converseOnce", nil, eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi"}`))
	r.asked(2)
	r.answer()
	if got := r.await(once).Get("text").String(); got != "Hello world" {
		t.Errorf("turn %s", got)
	}
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks, %d before", got, before)
	}
}

func TestErrorSegmentsOfASingleTurn(t *testing.T) {
	r := newRig(t)
	ask := func(on string, n int) (turn any, refused string) {
		once := r.exports.Call("converseOnce", nil, eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", onErrorSegment: "`+on+`"}`))
		r.asked(n)
		r.say(hello)
		r.say(`{type: "error", content: "the model is down", threadId: "th-1"}`)
		r.brain.Call("close")
		v, err := settled(once)
		if err != nil {
			return nil, codeOf(err)
		}
		return v.Get("text").String() + "; " + v.Get("errors").Index(0).Get("content").String(), ""
	}
	if _, got := ask("throw", 1); got != "stream_error" {
		t.Errorf("throw: %s", got)
	}
	if got, _ := ask("return", 2); got != "Hello; the model is down" {
		t.Errorf("return: %v", got)
	}
	r.refused(r.exports.Call("converseOnce", nil, eval(`{token: "t", genieUrl: "https://brain.example", userMessage: "Hi", onErrorSegment: "warn"}`)), "bad_request")
	r.refused(r.exports.Call("converseOnce", nil, eval(`{token: "t", kind: "admin", userMessage: "Hi"}`)), "wrong_token_scope")
	if got := code(r.exports.Call("converse", eval(`{userMessage: "Hi"}`))); got != "bad_request" {
		t.Errorf("without a token: %q", got)
	}
}

func TestAVisitorsLists(t *testing.T) {
	r := newRig(t)
	r.brain.Set("reply", eval(`(brain) => ({body}) => brain.json({totalCount: 3, objects:
		["a", "b", "c"].slice((body.pager.pageIndex - 1) * body.pager.pageSize).slice(0, body.pager.pageSize).map((id) => ({id, title: "T" + id, extra: 1}))})`).Invoke(r.brain))
	list := r.await(r.exports.Call("threadList", nil, eval(here), eval(`{filter: {orderBy: "-createdAt"}, pager: {pageSize: 2}}`)))
	if got := text(list); got != `{"totalCount":3,"objects":[{"id":"a","title":"Ta","extra":1},{"id":"b","title":"Tb","extra":1}]}` {
		t.Errorf("list %s", got)
	}
	before := jsbridge.LiveFuncs()
	all := r.exports.Call("threadAll", eval(here), eval(`{pager: {pageSize: 2}}`))
	var ids string
	for {
		next := r.await(all.Call("next"))
		if next.Get("done").Bool() {
			break
		}
		ids += next.Get("value").Get("id").String()
	}
	r.await(all.Call("return"))
	if ids != "abc" {
		t.Errorf("all are %s", ids)
	}
	if got := jsbridge.LiveFuncs(); got != before {
		t.Errorf("%d callbacks, %d before", got, before)
	}
	if n := r.brain.Get("requests").Length(); n != 3 {
		t.Errorf("%d requests", n)
	}
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
		{`{token: "t", kind: "ticket"}`, "assistantStatus", `{}`, "bad_request"},
		{`{}`, "assistantStatus", `{}`, "bad_request"},
	} {
		r.refused(r.exports.Call(c.method, nil, eval(c.access), eval(c.args)), c.want)
	}
	all := r.exports.Call("threadAll", eval(widget), eval(`{}`))
	r.refused(all.Call("next"), "wrong_token_scope")
	r.await(all.Call("return"))
	if n := r.brain.Get("requests").Length(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
