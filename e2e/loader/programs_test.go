package loader

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

const (
	large = "/a/agentruntime.wasm"
	small = "/a/chat.wasm"
)

// serve has the site answer appInit.
func (s *site) serve() {
	s.file("POST /v1/application/appInit", "application/json", []byte(`{"partnerId":5501,"ks":"conversation","conversationManagerUrl":"https://talk.example",
		"srsBaseUrl":"https://media.example","turnServerUrl":"turn.example","avatars":[]}`))
}

// initWith calls appInit of the given module.
const initWith = `const init = async (module) =>
	(await module.appInit({token: "t", agenticUrl: location.origin + "/v1", genieUrl: "https://genie.example/"})).ks
`

func TestBothProgramsLiveAndEndTogether(t *testing.T) {
	p := newSite(t, "", "").page(t)
	var got struct {
		Globals  []string `json:"globals"`
		Exits    []string `json:"exits"`
		Held     []int    `json:"held"`
		Sessions int      `json:"sessions"`
	}
	p.Call(&got, "/testdata/programs.js", "bothLiveAndEnd")
	if len(got.Globals) != 0 || !slices.Equal(got.Exits, []string{"chat 0", "full 0"}) || got.Sessions != 1 {
		t.Errorf("new globals %q, exits %q, %d sessions", got.Globals, got.Exits, got.Sessions)
	}
	if h := got.Held; h[0] == 0 || h[1] <= h[0] || h[2] != 0 {
		t.Errorf("callbacks: %d of the chat program, %d of both, %d at the end", h[0], h[1], h[2])
	}
}

// A page whose host has only the full program may load it for text conversations too.
func TestWasmOptionsAreForTheProgramThatIsLoaded(t *testing.T) {
	s := newSite(t, "", "")
	s.serve()
	p := s.page(t)
	p.Allow("local or private host")
	p.Prelude = prelude + initWith + `const chat = await import("/a/chat.js");`
	p.Do(nil, `
		await chat.load({wasmUrl: "`+large+`"})
		await init(chat)
		await a.dispose()
		const wasmModule = await WebAssembly.compileStreaming(fetch("`+small+`"))
		await a.load({program: "chat", wasmModule})
		await init(chat)
		await a.dispose()
		await a.load({program: "chat", wasmModule})`)
	if n, m := s.count(small), s.count(large); n != 1 || m != 1 {
		t.Errorf("chat.wasm was fetched %d times, agentruntime.wasm %d times", n, m)
	}
}

func TestSmallProgramRunsInAWorker(t *testing.T) {
	s := newSite(t, "", "")
	s.file("/worker.js", "text/javascript", []byte(`
		import {ChatSession, dispose} from "/a/chat.js"
		import {AvatarSession} from "/a/index.js"
		const seen = []
		const session = new ChatSession({token: "t"})
		session.on("stateChange", ({state}) => seen.push(state))
		session.on("ended", ({reason}) => seen.push(reason))
		await session.connect()
		session.disconnect()
		await session.dispose()
		await new AvatarSession({token: "t"}).connect().catch((e) => seen.push(e.code, e.message))
		await dispose()
		postMessage(seen)`))
	p := s.page(t)
	var seen []string
	p.Do(&seen, `return new Promise((done, fail) => {
		const worker = new Worker("/worker.js", {type: "module"})
		worker.onmessage = ({data}) => done(data)
		worker.onerror = ({message}) => fail(new Error(message))
	})`)
	want := []string{
		"connected", "closed", "disconnect",
		"load_failed", "agentruntime.wasm needs a page: document is not defined. In Node.js and in workers import appInit and ChatSession from agentruntime/chat",
	}
	expect.List(t, seen, want, "the worker saw")
}
