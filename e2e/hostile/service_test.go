package hostile

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

// secret is a token in the platform's format, which must not appear in any output.
const secret = "djJ8NTUwMXxob3N0aWxlLXRlc3QtdG9rZW4tMDEyMzQ1Njc4OWFiY2RlZg"

const (
	ndjson = "application/x-ndjson"
	good   = `{"type":"text","content":"Hello ","threadId":"t","messageId":"m"}` + "\n" + `{"type":"text","content":"wörld 😀"}` + "\n"
)

// liar responds to a turn in the way that the turn's text selects.
func liar(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if r.Method == http.MethodOptions {
		return
	}
	body, _ := io.ReadAll(r.Body)
	reply := func(status int, contentType, text string) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "KS ")
	asked := func(text string) bool { return strings.Contains(string(body), `"userMessage":"`+text) }
	switch {
	case asked("html"):
		reply(200, "text/html", "<!doctype html>\n<p>"+token+"\n")
	case asked("204"):
		w.WriteHeader(204)
	case asked("octets"):
		reply(200, "application/octet-stream", good)
	case asked("empty"):
		reply(200, "text/plain", "")
	case asked("json"):
		reply(200, "application/json", "{\n\"type\":\"text\",\"content\":\"one\"}")
	case asked("hidden"):
		reply(200, "application/json", `{"status":403,"detail":"KS `+token+`"}`)
	case asked("long"):
		reply(200, ndjson, `{"type":"text","content":"`+strings.Repeat("x", 2<<20)+`"}`+"\n"+good)
	case asked("deep"):
		reply(200, ndjson, `{"type":"tool","content":["f",{"a":`+strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)+"}]}\n"+good)
	case asked("error"):
		reply(200, ndjson, good+`{"type":"error","content":"KS `+token+` failed"}`+"\n")
	case asked("refused"):
		reply(200, ndjson, `{"type":"error","content":"No permission for thread t"}`+"\n")
	case asked("status"):
		status := 0
		fmt.Sscanf(string(body[strings.Index(string(body), "status ")+7:]), "%d", &status)
		reply(status, "application/json", `{"detail":"no, `+token+`","ks":"`+token+`","__proto__":{"x":1}}`)
	case asked("gzip"):
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", ndjson)
		z := gzip.NewWriter(w)
		io.WriteString(z, good)
		z.Close()
	case asked("redirect") && !strings.HasPrefix(r.URL.Path, "/other"):
		http.Redirect(w, r, "/other/assistant/converse", http.StatusTemporaryRedirect)
	case asked("loop"):
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	case asked("cors"):
		w.Header().Del("Access-Control-Allow-Origin")
		reply(200, ndjson, good)
	case asked("never"):
		<-r.Context().Done()
	case asked("hang"):
		reply(200, ndjson, good)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case asked("cut"):
		w.Header().Set("Content-Length", fmt.Sprint(len(good)))
		reply(200, ndjson, good[:rand.IntN(len(good))])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	default:
		reply(200, ndjson, good)
	}
}

// setUp opens a page that talks to liar.
func setUp(t *testing.T) *pagetest.Page {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(liar))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	// A server of its own: the local service's pages may not connect to a stranger.
	pages := httptest.NewServer(http.FileServer(http.Dir("../..")))
	t.Cleanup(pages.Close)
	p := pagetest.Open(t, pages.URL+"/e2e/hostile/testdata/")
	for _, text := range []string{"local or private host", "Failed to load resource", "CORS policy", "redirect"} {
		p.Allow(text) // what the browser says of the service
	}
	p.Prelude = fmt.Sprintf(`
		const a = await import("/js/dist/chat.js")
		const secret = %q
		const access = {token: secret, genieUrl: %q, crossTabPresence: false, brainStallMs: 100, sessionCompleteOnEnd: false}
		const errorCode = (e) => e instanceof a.AgentError ? e.code : "untyped: " + e
		const all = (e) => [e.message, e.stack, JSON.stringify(e), String(e.cause?.message), JSON.stringify(e.body), JSON.stringify(e.headers), JSON.stringify({...e})].join()
	`, secret, server.URL)
	return p
}

func TestRepliesOfALiarBecomeTypedErrors(t *testing.T) {
	t.Parallel()
	p := setUp(t)
	want := map[string]string{
		"html": "stream_error", "204": "server_error", "octets": "Hello wörld 😀", "empty": "server_error", "json": "one",
		"hidden": "api_exception", "long": "stream_error", "deep": "stream_error", "error": "stream_error", "refused": "thread_access_denied",
		"status 500": "server_error", "status 403": "forbidden", "status 429": "rate_limited", "status 401": "unauthorized",
		"gzip": "Hello wörld 😀", "redirect": "network_error", "loop": "network_error", "cors": "network_error", "cut": "network_error", "fine": "Hello wörld 😀",
	}
	var got map[string]string
	var leaks []string
	p.Do(&struct {
		Got   *map[string]string
		Leaks *[]string
	}{&got, &leaks}, `
		const said = []
		const session = new a.ChatSession({...access, logger: (...line) => said.push(JSON.stringify(line)), onAuditEvent: (e) => said.push(JSON.stringify(e)),
			onResponse: (r) => said.push(JSON.stringify(r))})
		for (const name of ["error", "warning", "stateChange", "ended", "turnStarted", "brainStalled"]) session.on(name, (e) => said.push(JSON.stringify(e) + (e instanceof Error ? all(e) : "")))
		await session.connect()
		const got = {}, leaks = []
		for (const name of `+"`html|204|octets|empty|json|hidden|long|deep|error|refused|status 500|status 403|status 429|status 401|gzip|redirect|loop|cors|cut|fine`"+`.split("|")) {
			try {
				got[name] = (await session.sendText(name)).text
			} catch (e) {
				got[name] = errorCode(e)
				if (all(e).includes(secret)) leaks.push(name + " " + all(e))
			}
		}
		leaks.push(...said.filter((line) => line.includes(secret)))
		await session.dispose()
		return {got, leaks}`)
	for name, want := range want {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	for _, leak := range leaks {
		t.Errorf("the token is in %.400s", leak)
	}
}

func TestAStormOfAbortsLeavesNothing(t *testing.T) {
	t.Parallel()
	p := setUp(t)
	var got struct {
		Codes         map[string]int
		Text          string
		Before, After map[string]int
		Stalled       int
	}
	p.Do(&got, `
		await a.load()
		const before = await a.diagnostics()
		const session = new a.ChatSession(access)
		let stalled = 0
		session.on("brainStalled", () => stalled++)
		await session.connect()
		const silence = new AbortController()
		const silent = session.sendText("never", {signal: silence.signal}).catch(errorCode)
		await new Promise((resolve) => session.on("brainStalled", resolve))
		silence.abort()
		await silent
		const codes = {}
		const asks = ["never", "hang", "fine", "cut"]
		for (let i = 0; i < 500; i++) {
			const stop = new AbortController()
			const ask = asks[Math.floor(Math.random() * asks.length)]
			const how = i % 4
			const turn = how < 2
				? session.sendText(ask, {signal: stop.signal}).then(() => "text", errorCode)
				: (async () => {
						try {
							for await (const _ of session.streamText(ask, {signal: stop.signal})) if (how === 3) break
							return "text"
						} catch (e) { return errorCode(e) }
					})()
			if (how > 0 || i % 8) setTimeout(() => stop.abort(), Math.random() * 10)
			else stop.abort()
			const code = await turn
			codes[code] = (codes[code] ?? 0) + 1
		}
		session.streamText("never") // never looped over
		const twice = session.streamText("fine")
		for await (const _ of twice);
		for await (const _ of twice) throw new Error("a loop that is over goes on")
		const middle = session.streamText("hang")
		await middle.next()
		const rest = [middle.next(), middle.next()].map((p) => p.catch(errorCode))
		await rest[0]
		const {text} = await (async () => { await middle.return(); return session.sendText("fine") })()
		await session.dispose()
		const until = performance.now() + 5000
		let after
		do {
			await new Promise((resolve) => setTimeout(resolve, 20))
			after = await a.diagnostics()
		} while (JSON.stringify(after) !== JSON.stringify(before) && performance.now() < until)
		return {codes, text, before, after, stalled}`)
	for code := range got.Codes {
		if code != "text" && code != "aborted" && code != "network_error" {
			t.Errorf("%s: %d times", code, got.Codes[code])
		}
	}
	if got.Text != "Hello wörld 😀" || got.Stalled == 0 || fmt.Sprint(got.Before) != fmt.Sprint(got.After) {
		t.Errorf("%+v", got)
	}
}

// Whatever a page passes, it gets an error of the package, and nothing is sent.
func TestAnythingIsRefusedWithATypedError(t *testing.T) {
	t.Parallel()
	p := setUp(t)
	var got []string
	p.Do(&got, `
		const thrower = {get signal() { throw new Error("getter") }, get token() { throw new Error("getter") }, get id() { throw new Error("getter") }}
		const revoked = Proxy.revocable({}, {})
		revoked.revoke()
		const session = new a.ChatSession({...access})
		await session.connect()
		let requests = 0
		const original = globalThis.fetch
		globalThis.fetch = (...args) => {
			if (!/\.rest-\w+\.wasm$/.test(args[0])) requests++ // the second part of the program may come
			return original(...args)
		}
		const v = a.visitor(access)
		const things = {number: 5, null: null, text: "x", thrower, revoked: revoked.proxy, symbol: Symbol("s"), bigint: 5n, signal: {signal: 5}}
		const calls = {
			ChatSession: (x) => new a.ChatSession(x === revoked.proxy ? {...access, kickoff: x} : x),
			visitor: (x) => a.visitor(x),
			converse: (x) => a.converse(x),
			converseOnce: (x) => a.converseOnce(x),
			sendText: (x) => typeof x === "string" ? session.sendText(" ") : session.sendText(x),
			sendTextOptions: (x) => typeof x === "number" || typeof x === "string" || typeof x === "bigint" || typeof x === "symbol" || x === null ? session.sendText("") : session.sendText("", x),
			streamText: (x) => typeof x === "string" ? session.streamText("").next() : session.streamText(x).next(),
			respondToTool: (x) => session.respondToTool(x, x),
			setDynamicPrompt: (x, kind) => session.setDynamicPrompt(kind === "signal" || kind === "null" ? [x] : x), // null clears it
			updateRequestVars: (x, kind) => session.updateRequestVars(kind === "signal" ? 5 : x),
			setToken: (x) => session.setToken(typeof x === "string" ? "" : x),
			onToolCall: (x) => session.onToolCall(x, x),
			onOAuthRequired: (x) => session.onOAuthRequired(x),
			get: (x) => v.threads.get(typeof x === "string" ? "" : x),
			getOptions: (x) => v.threads.get("", x),
			list: (x, kind) => v.threads.list(kind === "null" || kind === "signal" || kind === "thrower" ? {filter: x ?? 5} : x),
			rename: (x) => v.threads.rename("", x),
			feedback: (x) => v.feedback.add(x, x),
		}
		const wrong = []
		for (const [name, call] of Object.entries(calls)) {
			for (const [kind, thing] of Object.entries(things)) {
				let outcome = "nothing"
				try { await call(thing, kind) } catch (e) { outcome = errorCode(e) }
				if (outcome === "nothing" || outcome.startsWith("untyped")) wrong.push(name + " " + kind + ": " + outcome)
			}
		}
		if (requests) wrong.push(requests + " requests")
		globalThis.fetch = original
		await session.dispose()
		return wrong`)
	for _, wrong := range got {
		t.Error(wrong)
	}
}
