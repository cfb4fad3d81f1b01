package loader

import (
	"io"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// The page's own variables with the names that wasm_exec.js uses are unchanged, whatever
// they are: an element's id, a declared variable, a polyfill, an accessor.
func TestPageKeepsItsOwnGlobals(t *testing.T) {
	p := newSite(t, `<form id="fs"></form>
		<script>
			var path = "mine"
			globalThis.process = {env: {MODE: "test"}}
			Object.defineProperty(globalThis, "Go", {get: () => "game", configurable: false})
		</script>`, "").page(t)
	var same bool
	p.Do(&same, `
		const look = () => [fs instanceof HTMLFormElement, path, process.env.MODE, Go, Object.keys(process).join(),
			JSON.stringify(Object.getOwnPropertyDescriptors(globalThis).path), "fs" in Object.getOwnPropertyDescriptors(globalThis)].join()
		const before = look()
		await a.load()
		return before === look() && before.startsWith("true,mine,test,game,env")`)
	if !same {
		t.Error("the page's globals have changed")
	}
}

func TestLoadFailuresNameAddressAndCause(t *testing.T) {
	s := newSite(t, "", "")
	s.file("/page.wasm", "text/html", []byte("<!doctype html>"))
	s.file("/empty.wasm", "application/wasm", []byte("\x00asm\x01\x00\x00\x00"))
	s.mux.HandleFunc("/cut.wasm", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/wasm")
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("\x00asm\x01\x00\x00\x00"))
	})
	s.mux.HandleFunc("/busy.wasm", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "busy", http.StatusServiceUnavailable)
	})
	old := must.Get(buildWasm(probeDir, "0.0.1"))(t)
	s.file("/old.wasm", "application/wasm", old)
	p := s.page(t)
	p.Allow("Failed to load resource") // says Chromium itself
	p.Allow("reading 'buffer'")        // says wasm_exec.js of the empty program
	for _, test := range []struct {
		url       string
		texts     []string
		status    int
		retryable bool
	}{
		{"/missing.wasm", []string{"/missing.wasm", "HTTP 404", "wasmUrl"}, 404, false},
		{"/busy.wasm", []string{"/busy.wasm", "HTTP 503"}, 503, true},
		{"/page.wasm", []string{"/page.wasm", `"text/html"`, "not a WebAssembly file"}, 0, false},
		{"/cut.wasm", []string{"/cut.wasm"}, 0, true},
		{"/empty.wasm", []string{"not agentruntime"}, 0, false},
		{"/old.wasm", []string{"0.0.1", "deploy both together"}, 0, false},
		{"http://127.0.0.1:1/x.wasm", []string{"http://127.0.0.1:1/x.wasm", "cannot be fetched"}, 0, true},
		{"http://", []string{"wasmUrl must be a URL"}, 0, false},
		{small, []string{"not agentruntime.wasm", "avatarSession"}, 0, false},
	} {
		t.Run(test.url, func(t *testing.T) {
			var got rejection
			p.Do(&got, `return failure(a.load({wasmUrl: "`+test.url+`"}))`)
			got.want(t, fault.LoadFailed, test.texts...)
			if got.Status != test.status || got.Retryable != test.retryable {
				t.Errorf("status %d, retryable %v; want %d, %v", got.Status, got.Retryable, test.status, test.retryable)
			}
		})
	}
	p.Do(nil, `await a.load()`) // a failed load does not prevent the next one
}

func TestContentSecurityPolicy(t *testing.T) {
	const base = "default-src 'self'; script-src 'self'"
	t.Run("strict", func(t *testing.T) {
		var got rejection
		newSite(t, "", base).page(t).Do(&got, `return failure(a.load())`)
		got.want(t, fault.LoadFailed, "Content Security Policy", "'wasm-unsafe-eval'")
	})
	t.Run("with wasm-unsafe-eval", func(t *testing.T) {
		p := newSite(t, "", base+" 'wasm-unsafe-eval'").page(t)
		p.Do(nil, `
			await (await import("/a/chat.js")).load()
			await a.load()`)
	})
}

// Of many loads at once, one of which is given up, there is one download.
func TestRuntimeIsLoadedOnce(t *testing.T) {
	s := newSite(t, "", "")
	p := s.page(t)
	var got rejection
	p.Do(&got, `
		const controller = new AbortController()
		const cancelled = failure(a.load({signal: controller.signal}))
		const others = Promise.all([a.load(), a.load(), failure(a.appInit({token: "t", region: "moon"}))])
		controller.abort()
		const result = await cancelled
		await others
		await a.load()
		return result`)
	got.want(t, fault.Aborted)
	expect.Equal(t, s.count("/a/agentruntime.wasm"), 1, "how often fetched")
}

func TestTwoCopiesLiveSideBySide(t *testing.T) {
	p := newSite(t, "", "").page(t)
	var codes []string
	p.Do(&codes, `
		const b = await import("/b/index.js")
		await Promise.all([a.load(), b.load()])
		const moon = {token: "t", region: "moon"} // the program refuses it
		const both = [await failure(a.appInit(moon)), await failure(b.appInit(moon))]
		await a.dispose()
		const rest = await failure(b.appInit(moon))
		return [...both, rest].map((e) => e.code + " " + e.real)`)
	want := []string{"bad_request true", "bad_request false", "bad_request false"}
	if !slices.Equal(codes, want) {
		t.Errorf("got %q, want %q", codes, want)
	}
}

// The program is not sent before appInit was requested, and its own requests are those.
func TestAppInitRunsDuringTheDownload(t *testing.T) {
	s := newSite(t, "", "")
	asked := make(chan struct{})
	json := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(text))
	}
	var requests []http.Header
	s.mux.HandleFunc("POST /api/service/session/action/startWidgetSession", func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != "format=1&widgetId=0_a-b" {
			t.Errorf("%q, %v", body, err)
		}
		requests = append(requests, r.Header)
		json(w, `{"ks":"widget-token"}`)
	})
	s.mux.HandleFunc("POST /v1/application/appInit", func(w http.ResponseWriter, r *http.Request) {
		defer close(asked)
		requests = append(requests, r.Header)
		if r.Header.Get("Authorization") != "KS widget-token" {
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		json(w, `{"partnerId":5501,"ks":"conversation","conversationManagerUrl":"https://talk.example",
			"srsBaseUrl":"https://media.example","turnServerUrl":"turn.example","avatars":[{"id":"av-1"}],"widgetConfig":{"a":[1]}}`)
	})
	program := http.StripPrefix("/a/", http.FileServer(http.Dir(dist)))
	s.mux.HandleFunc("/a/chat.wasm", func(w http.ResponseWriter, r *http.Request) {
		<-asked
		program.ServeHTTP(w, r)
	})
	p := s.page(t)
	p.Allow("local or private host")
	const call = `return a.appInit({widgetId: "0_a-b", agenticUrl: new URL("/v1", location), genieUrl: "https://genie.example/", ovpUrl: location.origin + "/api/", keepToken: false})`
	var got, again map[string]any
	p.Do(&got, call)
	if got["ks"] != "conversation" || got["kind"] != "widget" {
		t.Errorf("got %v", got)
	}
	expect.Len(t, requests, 2, "requests")
	// What the program sends itself has the same headers.
	asked = make(chan struct{})
	p.Do(&again, call) // the program is there
	if !reflect.DeepEqual(got, again) {
		t.Errorf("by the program alone %v, before %v", again, got)
	}
	if len(requests) != 4 || !reflect.DeepEqual(requests[:2], requests[2:]) {
		t.Errorf("begun early: %v; by the program: %v", requests[:2], requests[2:])
	}
}

// The worker that compiles saves time, and nothing depends on it: neither where its file is missing, nor where it is not
// allowed, nor where it says nothing.
func TestLoadNeedsNoWorker(t *testing.T) {
	t.Parallel()
	p := newSite(t, "", "").page(t)
	p.Allow("Failed to load resource")
	p.Do(nil, `
		Object.defineProperty(navigator, "hardwareConcurrency", { value: 4 }) // with two cores there is no worker
		for (const Without of [
			class extends Worker { constructor() { super("/none.js") } },
			class { constructor() { throw new DOMException("no", "SecurityError") } },
			class { postMessage() {} },
		]) {
			globalThis.Worker = Without
			await a.load({program: "chat"})
			await a.dispose()
		}`)
}
