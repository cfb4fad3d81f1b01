//go:build js && wasm

package media

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall/js"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
)

// serverURL returns the address of the service that TestInChromium runs.
func serverURL(t *testing.T) string {
	t.Helper()
	u := os.Getenv(serverVariable)
	if u == "" {
		t.Skip("needs a service beside the page: run by the native TestInChromium")
	}
	return u
}

// call does a request to the service and decodes its reply.
func call(t *testing.T, method, path string, in, out any) {
	t.Helper()
	r := &fetch.Request{Method: method, URL: serverURL(t) + path}
	if in != nil {
		body := must.Get(fetch.JSON(in))(t)
		// As plain text there is no preflight.
		r.Body = fetch.Bytes("text/plain", body.Data)
	}
	resp := must.Get(fetch.New().Do(testContext(t), r))(t)
	data, err := fetch.ReadAll(resp, 0)
	if err != nil || !resp.OK() {
		t.Fatalf("%s %s: %d %s %v", method, path, resp.Status, data, err)
	}
	must.Do(t, json.NewDecoder(bytes.NewReader(data)).Decode(out))
}

// requests lists what the service was asked about a stream.
func requests(t *testing.T, part string) []string {
	t.Helper()
	var all, some []string
	call(t, "GET", "/test/requests", nil, &all)
	for _, r := range all {
		if method, path, _ := strings.Cut(r, " "); strings.Contains(path, part) {
			some = append(some, method)
		}
	}
	return some
}

// newStream returns the address of a new stream.
func newStream(t *testing.T) (url string) {
	t.Helper()
	call(t, "GET", "/test/stream", nil, &url)
	return url
}

// eval runs a function body of JavaScript.
func eval(t *testing.T, body string, args ...any) js.Value {
	t.Helper()
	names := []any{"a", "b", "c"}[:len(args)]
	return must.Get(jsbridge.Invoke(js.Global().Get("Function").New(append(names, body)...), args...))(t)
}

// replace puts value in the place of a property for one test.
func replace(t *testing.T, object js.Value, name string, value any) {
	t.Helper()
	undo := eval(t, `
		const own = Object.getOwnPropertyDescriptor(a, b);
		Object.defineProperty(a, b, {configurable: true, writable: true, value: c});
		return () => { if (own) Object.defineProperty(a, b, own); else delete a[b]; }`, object, name, value)
	t.Cleanup(func() { undo.Invoke() })
}

// newElement is a media element in the page that counts what is done to it.
func newElement(t *testing.T, kind string, muted bool) js.Value {
	t.Helper()
	el := eval(t, `
		const el = document.createElement(a), set = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "srcObject");
		el.muted = b; el.plays = 0; el.writes = 0;
		Object.defineProperty(el, "srcObject", {get() { return set.get.call(el) }, set(v) { if (v) el.writes++; set.set.call(el, v) }});
		el.play = () => { el.plays++; return HTMLMediaElement.prototype.play.call(el) };
		document.body.append(el);
		return el`, kind, muted)
	t.Cleanup(func() { el.Call("remove") })
	return el
}

// loader stands in for the one in js/src/core/program.ts, whose function expect it has.
const loader = `return {AgentError: class extends Error {}, expect: (promise, kind) => (taken) => {
	if (taken) return;
	const close = kind === "microphone" ? s => s.getTracks().forEach(t => t.stop()) : p => p?.stop?.();
	Promise.resolve(promise).then(close).catch(() => {});
}}`

// newPageEngine makes an engine of this page. When the test ends, everything must be
// gone: callbacks, and peers.
func newPageEngine(t *testing.T, change func(*Config)) *Engine {
	t.Helper()
	live := jsbridge.LiveFuncs()
	peers := eval(t, `
		const made = [], own = RTCPeerConnection;
		window.RTCPeerConnection = function(...args) { const pc = new own(...args); made.push(pc); return pc };
		return {restore() { window.RTCPeerConnection = own }, open: () => made.filter(pc => pc.signalingState !== "closed").length}`)
	jsbridge.SetLoader(eval(t, loader))
	transport := fetch.New()
	cfg := Config{HTTPClient: fetch.As(transport), AllowPrivateHosts: true}
	call(t, "GET", "/test/ice", nil, &cfg.ICEServers)
	cfg.OnPanic = func(err error) { t.Error(err) }
	if change != nil {
		change(&cfg)
	}
	p := New(cfg)
	t.Cleanup(func() {
		p.Close()
		peers.Call("restore")
		must.Wait(t, "the end of all peers", func() bool { return peers.Call("open").Int() == 0 })
		must.Wait(t, "the release of all callbacks", func() bool { return jsbridge.LiveFuncs() <= live })
	})
	return p
}

// watch subscribes to a new stream and waits until it is playable.
func watch(t *testing.T, p *Engine, j *journal) (d *Subscriber, url string, size Picture) {
	t.Helper()
	url = newStream(t)
	d = p.NewSubscriber(j.notify)
	t.Cleanup(d.Close)
	ctx := testContext(t)
	must.Do(t, d.Subscribe(ctx, url))
	size = must.Get(d.Playable(ctx, false))(t)
	return d, url, size
}

// await waits for a promise of JavaScript, also while the test ends.
func await(t *testing.T, promise js.Value) js.Value {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, limit)
	defer cancel()
	return must.Get(jsbridge.Await(ctx, promise))(t)
}

var background = context.Background()
