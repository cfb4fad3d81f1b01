package hostile

import (
	"slices"
	"testing"
)

// crashes are ways in which a page ends the program that it runs.
var crashes = map[string]struct {
	load, crash string   // options of load, and the script
	says        []string // on the console, beside what every page may say
}{
	// A page whose stack is full calls the program, at every depth until it is over.
	"a full stack": {
		load: `{onExit}`,
		crash: `
			for (let i = 0; i < 20; i++) session.state // what is compiled at the first call needs a stack too
			let over = false
			const dive = () => {
				try { dive() } catch {}
				if (!over) try { session.state; over = true } catch {}
			}
			dive()`,
		says: []string{"Maximum call stack"},
	},
	"no more memory": {
		load: `{onExit, wasmModule: await scarce("/js/dist/agentruntime.wasm", 512)}`,
		crash: `
			void outcome(() => session.sendText("x".repeat(100_000_000)))`,
		says: []string{"out of memory", "fatal error"},
	},
}

// The end of a program in the middle of turns is the end of every call, stream and
// session, and of the visitor's microphone; the next session has a new program.
func TestTheEndOfTheProgramIsTheEndOfEverythingInIt(t *testing.T) {
	t.Parallel()
	for name, c := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, p := openPage(t)
			p.Allow("WebSocket is closed before the connection is established")
			for _, text := range c.says {
				p.Allow(text)
			}
			var got struct {
				Open               map[string]string
				Exits              []int
				States             []string
				Errors, Ends       [][]string
				Before, Held, Gone map[string]int
				Late, Next         string
			}
			p.Do(&got, `
				const exits = []
				const onExit = (code) => exits.push(code)
				await load(`+c.load+`)
				const talk = await agentOf(), moving = await agentOf(), chat = await chatOf(), other = await chatOf()
				const all = [talk, moving, chat, other]
				const {session} = talk
				for (const {session} of all) await session.connect()
				await session.switchMode("avatar")
				await session.transport.startMic()
				const begun = chat.until("transcript", ({text}) => text.startsWith("I think"))
				const open = {
					"a turn": () => chat.session.sendText("Think about it"),
					"a turn behind it": () => chat.session.sendText("Hello"),
					"a stream": async () => { for await (const _ of other.session.streamText("Think about it")); },
					"a turn of no session": async () => { for await (const _ of converse({...await arrive(), userMessage: "Think about it"})); },
					"an event": async () => { await chat.session.next("turnEnd") },
					"a switch": async () => { await begun; await moving.session.switchMode("avatar") },
				}
				const results = Object.entries(open).map(async ([name, call]) => [name, await within(outcome(call))])
				await begun
				const before = held()
				`+c.crash+`
				const outcomes = Object.fromEntries(await Promise.all(results))
				const result = {
					open: outcomes, states: all.map(({session}) => session.state), ends: all.map(({ends}) => ends),
					errors: all.map((t) => t.all("error").map(errorCode)), held: held(), gone: await diagnostics(), before,
					late: await outcome(() => chat.session.sendText("Hello?")),
				}
				const next = await chatOf()
				await next.session.connect()
				const {text} = await next.session.sendText("My name is Sam.")
				await next.session.dispose()
				return {...result, next: text, exits}`)
			for name, o := range got.Open {
				want := "internal_error"
				if name == "an event" {
					want = "ended"
				}
				if o != want {
					t.Errorf("%s came to %s", name, o)
				}
			}
			if !slices.Equal(got.States, []string{"failed", "failed", "closed", "closed"}) || got.Late != "internal_error" {
				t.Errorf("states %q, a late turn came to %s", got.States, got.Late)
			}
			for i := range got.States {
				if !slices.Equal(got.Ends[i], []string{"internal_error"}) || !slices.Equal(got.Errors[i], []string{"internal_error"}) {
					t.Errorf("session %d emitted the ends %q and the errors %q", i, got.Ends[i], got.Errors[i])
				}
			}
			for _, what := range []string{"peers", "sockets", "microphones", "contexts"} {
				if got.Before[what] == 0 && what != "contexts" || got.Held[what] != 0 {
					t.Errorf("%d %s before, %d afterwards", got.Before[what], what, got.Held[what])
				}
			}
			if !slices.Equal(got.Exits, []int{2}) {
				t.Errorf("onExit was called with %v", got.Exits)
			}
			if got.Next != "Nice to meet you, Sam. I'll remember your name." {
				t.Errorf("the next program says %q", got.Next)
			}
			h.AwaitNoSessions(h.Context())
		})
	}
}

// An invalid result of a page's own fetch ends a turn with an error.
func TestAFetchThatGivesAnythingEndsTheTurn(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	p.Allow("panic: ")
	var got map[string][]string
	p.Do(&got, `
		await load()
		const chunk = (value) => {
			const left = [{done: false, value}]
			return {body: {getReader: () => ({read: async () => left.pop() ?? {done: true}, cancel: async () => {}})}}
		}
		const replies = {
			"no reply": () => 5, "a bigint status": () => ({status: 5n}), "a huge status": () => ({status: 1e300}), "a throw": () => { throw 5n },
			"a bigint for the end": (r) => ({body: {getReader: () => ({read: async () => ({done: 5n}), cancel: async () => {}})}}),
			"text": () => chunk("text"), "a negative length": () => chunk(Object.defineProperty(new Uint8Array(5), "length", {value: -7})),
			"a huge length": () => chunk(Object.defineProperty(new Uint8Array(5), "length", {value: 1e12})),
			"bytes that throw": () => chunk(new Proxy(new Uint8Array(5), {get() { throw new Error("proxy") }, getPrototypeOf() { throw new Error("proxy") }})),
			"a reader that throws": () => ({body: {getReader() { throw new Error("reader") }}}),
			"a body that is locked": () => ({body: new Response("x").body, locked: true}),
			"headers of anything": () => ({headers: [5n, Symbol("x")]}),
		}
		const {fetch} = globalThis
		const got = {}
		for (const [name, reply] of Object.entries(replies)) {
			const {session} = await chatOf()
			await session.connect()
			await session.sendText("My name is Sam.")
			globalThis.fetch = async (...args) => {
				const real = await fetch(...args)
				const own = reply(real)
				return typeof own === "object" ? {status: real.status, url: real.url, headers: real.headers, body: real.body, ...own} : own
			}
			const turn = outcome(() => session.sendText("What is my name?"))
			const behind = outcome(() => session.sendText("What is my name?"))
			got[name] = [await within(turn), await within(behind)]
			globalThis.fetch = fetch
			got[name].push(await outcome(() => session.dispose()))
		}
		return got`)
	for name, outcomes := range got {
		for _, o := range outcomes[:2] {
			if o != "network_error" && o != "server_error" && o != "stream_error" && o != "internal_error" && !(name == "a body that is locked") {
				t.Errorf("%s: %q", name, outcomes)
			}
		}
	}
}

// TestAMicrophoneGrantedAfterTheRuntimeIsClosed: the visitor answers the browser's question only after the
// page has ended the whole runtime.
func TestAMicrophoneGrantedAfterTheRuntimeIsClosed(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	var got struct{ Outcome, State string }
	p.Do(&got, `
		const {promise, resolve} = Promise.withResolvers()
		const media = navigator.mediaDevices
		const real = media.getUserMedia.bind(media)
		const question = Promise.withResolvers(), exit = Promise.withResolvers()
		media.getUserMedia = async () => { question.resolve(); await promise; return real({audio: true}) }
		await load({onExit: exit.resolve})
		const {session} = await agentOf({mode: "avatar"})
		await session.connect()
		const started = outcome(() => session.transport.startMic())
		await question.promise
		dispose()
		await exit.promise
		resolve()
		await settled(() => watched.microphones.length === 1)
		const [track] = watched.microphones
		await settled(() => track.readyState === "ended", 3000)
		return {outcome: await started, state: track.readyState}`)
	if got.Outcome != "invalid_state" || got.State != "ended" {
		t.Errorf("startMic came to %s; the track is %s", got.Outcome, got.State)
	}
}
