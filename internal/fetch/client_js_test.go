//go:build js && wasm

package fetch

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// eval runs a function body of JavaScript.
func eval(t *testing.T, body string) js.Value {
	t.Helper()
	return js.Global().Get("Function").New(body).Invoke()
}

// pageFetch replaces the page's fetch for one test.
func pageFetch(t *testing.T, body string) {
	t.Helper()
	own := js.Global().Get("fetch")
	js.Global().Set("fetch", eval(t, "return (url, init) => {"+body+"}"))
	t.Cleanup(func() { js.Global().Set("fetch", own) })
}

// TestSendStartsBeforeItReturns is what a pagehide listener relies on.
func TestSendStartsBeforeItReturns(t *testing.T) {
	js.Global().Set("calls", eval(t, "return []"))
	defer js.Global().Delete("calls")
	pageFetch(t, `calls.push([url, init]); return Promise.resolve(new Response("{}"))`)
	body, err := JSON(map[string]string{"id": "t-1"})
	must.Do(t, err)
	finished := make(chan error, 1)
	var during int
	callback := jsbridge.FuncOf(func(js.Value, []js.Value) any {
		New().Send(&Request{URL: "https://brain.example/x", Header: Header{"authorization": "KS abc"}, Body: body}, func(_ int, err error) {
			finished <- err
		})
		during = js.Global().Get("calls").Length()
		return nil
	})
	defer callback.Release()
	callback.Invoke()
	if during != 1 {
		t.Fatalf("%d requests were started inside the callback, want 1", during)
	}
	if err := <-finished; err != nil {
		t.Error(err)
	}
	got := eval(t, `const [url, i] = calls[0];
		return JSON.stringify([url, i.method, i.keepalive, i.credentials, i.redirect, i.cache, i.referrerPolicy,
			i.headers, new TextDecoder().decode(i.body), String(i.signal)])`).String()
	const want = `["https://brain.example/x","POST",true,"omit","error","no-store","strict-origin",` +
		`{"content-type":"application/json","authorization":"KS abc"},"{\"id\":\"t-1\"}","undefined"]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOddFetchesOfThePage(t *testing.T) {
	for name, body := range map[string]string{
		"throws":           `throw new TypeError("blocked")`,
		"rejects":          `return Promise.reject(new TypeError("blocked"))`,
		"rejects nothing":  `return Promise.reject(undefined)`,
		"gives nothing":    `return undefined`,
		"gives a string":   `return "reply"`,
		"getter throws":    `return {get status() { throw new Error("no") }}`,
		"no headers":       `return {status: 200, headers: undefined}`,
		"headers of null":  `return {status: 200, headers: [null]}`,
		"headers of text":  `return {status: 200, headers: ["ab"]}`,
		"half a header":    `return {status: 200, headers: [["a"]]}`,
		"headers of marks": `return {status: 200, headers: [[Symbol("a"), 1n]]}`,
		"a bigint status":  `return {status: 5n, headers: new Headers()}`,
		"no stream reader": `return {status: 200, headers: new Headers(), body: {}}`,
	} {
		t.Run(name, func(t *testing.T) {
			pageFetch(t, body)
			_, err := New().Do(t.Context(), &Request{URL: "https://x.example/a"})
			unanswered := name == "throws" || strings.HasPrefix(name, "rejects")
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.NetworkError || f.Retryable != unanswered ||
				strings.Contains(f.Detail, "online") != unanswered || strings.Contains(f.Detail, "connect-src") != unanswered {
				t.Errorf("Do: %v", err)
			}
			if strings.HasPrefix(name, "no stream") {
				return // Send doesn't look at the body
			}
			sent := make(chan error, 1)
			New().Send(&Request{URL: "https://x.example/a"}, func(_ int, err error) { sent <- err })
			expect.Error(t, <-sent, fault.NetworkError, "Send")
		})
	}
}

func TestOddStreamsOfThePage(t *testing.T) {
	for name, read := range map[string]string{
		"text chunk":    `return {done: false, value: "text"}`,
		"no chunk":      `return {done: false}`,
		"nothing":       `return undefined`,
		"throws":        `throw new Error("no")`,
		"rejects":       `return Promise.reject(new Error("no"))`,
		"getter throws": `return {get done() { throw new Error("no") }}`,
		"bigint end":    `return {done: 5n}`,
	} {
		t.Run(name, func(t *testing.T) {
			pageFetch(t, `return {status: 200, headers: new Headers(), body: {getReader: () => ({read() {`+read+`}})}}`)
			resp := must.Get(New().Do(t.Context(), &Request{URL: "https://x.example/a"}))(t)
			if _, err := io.ReadAll(resp.Body); !errors.Is(err, fault.NetworkError) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestCallbacksAreReleased counts what is left after every way a request can
// end.
func TestCallbacksAreReleased(t *testing.T) {
	base := serverURL(t)
	before := jsbridge.LiveFuncs()
	c := New()

	get(t, c, &Request{URL: base + "/echo"})
	get(t, c, &Request{URL: base + "/status?code=204"})
	if _, err := c.Do(t.Context(), &Request{URL: "http://127.0.0.1:1/"}); err == nil {
		t.Error("nobody there, but no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := c.Do(ctx, &Request{URL: base + "/wait?id=never"}); err != context.Canceled {
		t.Error(err)
	}
	for _, id := range []string{"leave-by-close", "leave-by-cancel"} {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := c.Do(ctx, &Request{URL: base + "/stream?id=" + id})
		must.Do(t, err)
		if id == "leave-by-close" {
			resp.Body.Close()
		} else {
			cancel()
		}
		wait(t, c, base, id+"-gone")
		cancel()
	}
	sent := make(chan error, 1)
	c.Send(&Request{URL: base + "/echo"}, func(_ int, err error) { sent <- err })
	if err := <-sent; err != nil {
		t.Error(err)
	}

	// The callbacks of an aborted wait are released a few turns of the event
	// loop later, when its promise settles.
	must.Wait(t, "the release of all callbacks", func() bool { return jsbridge.LiveFuncs() == before })
}
