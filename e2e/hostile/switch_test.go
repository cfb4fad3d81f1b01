package hostile

import (
	"slices"
	"testing"
)

// codes are the possible outcomes of a call while the conversation's mode is switched.
var codes = []string{"undefined", "true", "false", "text", "aborted", "invalid_state"}

// Whatever listeners call, and however fast a page calls it, every call settles, and
// the conversation goes on.
func TestHammeredSwitchesLeaveAWorkingConversation(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource") // an offer whose session ended before the answer
	var got struct {
		Outcomes       map[string]int
		Text, Spoken   string
		Listeners      map[string]int
		Modes, GivenUp int
		Left, Ends     []string
		State          string
	}
	p.Do(&got, `
		await load()
		const before = await holdings()
		const talk = await agentOf()
		const {session} = talk
		const calls = []
		const call = (f) => {
			const settled = within(outcome(f)).then((o) => o.includes(" ") ? "text" : o)
			calls.push(settled)
			return settled
		}
		const other = () => session.mode === "chat" ? "avatar" : "chat"
		const inTime = (ms) => AbortSignal.timeout(ms)
		await session.connect()
		await session.sendText("My name is Sam.")

		// Listeners that call back, each up to ten times: of the session and of each transport.
		const listeners = {}
		let over = false
		const meddle = (source, name) => (payload) => {
			const key = source + " " + name
			const n = listeners[key] = (listeners[key] ?? 0) + 1
			if (over || n > 10) return
			call(() => session.switchMode(n % 2 ? other() : session.mode))
			call(() => session.sendText(key + " " + n, n % 3 ? {signal: inTime(n * 20)} : undefined))
			call(() => session.switchMode(other(), {signal: inTime(n)}))
			call(() => session.connect())
			call(() => session.updateRequestVars({[name]: n}))
			call(() => session.transport.sendText?.("inside " + n, {signal: inTime(5)}) ?? session.transport.interrupt())
			call(() => session.respondToTool("nothing", {}).then(({ok}) => ok))
			if (n === 5) throw new Error("a listener on purpose")
		}
		for (const name of ["stateChange", "transportChanged", "modeChanged", "transcript", "turnStart", "turnEnd", "responsePending", "mediaReady", "error"]) {
			session.on(name, meddle("session", name))
		}
		session.on("transportChanged", ({transport}) => {
			for (const name of ["stateChange", "transcript", "ended"]) transport.on(name, meddle("transport", name))
		})

		call(() => session.switchMode("avatar"))
		for (let i = 0; i < 100; i++) {
			const stop = new AbortController()
			if (i % 10 === 3) stop.abort()
			call(() => session.switchMode(i % 2 ? "avatar" : "chat", {signal: i % 3 ? stop.signal : undefined}))
			if (i % 4 === 0) call(() => session.sendText("rapid " + i, {signal: stop.signal}))
			if (i % 5 === 0) setTimeout(() => stop.abort(), i)
		}
		for (let i = 0; i < 100; i++) await call(() => session.switchMode(other(), {signal: i % 3 ? inTime(1) : AbortSignal.abort()}))
		over = true
		const outcomes = []
		while (calls.length > 0) outcomes.push(...await Promise.all(calls.splice(0)))

		// Switches that are given up, each a little later than the one before, and some
		// that are not, however busy the machine is.
		let givenUp = 0
		for (let i = 0; i < 25; i++) {
			const mode = other()
			if (await within(outcome(() => session.switchMode(mode, {signal: i % 5 === 4 ? undefined : inTime(12 * i)}))) === "aborted") givenUp++
			else if (session.mode !== mode) givenUp = -Infinity
		}

		// The conversation is where it was left, and goes on in both modes.
		const state = session.state
		const to = async (mode) => { while (session.mode !== mode) await within(outcome(() => session.switchMode(mode))) }
		await to("chat")
		const {text} = await session.sendText("What is my name?")
		await to("avatar")
		const heard = new Promise((resolve) => session.on("avatarStopTalking", ({text}) => text.includes("name is") && resolve(text)))
		await session.sendText("What is my name?")
		const spoken = await within(heard)
		const {ends} = talk
		await session.dispose()
		return {
			outcomes: tally(outcomes), text, spoken, state, ends, givenUp,
			listeners, modes: talk.all("modeChanged").length, left: await left(before),
		}`)
	t.Logf("%d switches, %d given up; calls %v; listeners %v", got.Modes, got.GivenUp, got.Outcomes, got.Listeners)
	for code, n := range got.Outcomes {
		if !slices.Contains(codes, code) {
			t.Errorf("%d calls came to %q", n, code)
		}
	}
	if got.GivenUp < 5 || got.Modes < 5 {
		t.Errorf("%d switches, %d given up", got.Modes, got.GivenUp)
	}
	if got.State != "connected" || got.Text != "Your name is Sam." || got.Spoken != "Your name is Sam." || len(got.Ends) != 0 {
		t.Errorf("afterwards %+v", got)
	}
	for _, left := range got.Left {
		t.Error("left: ", left)
	}
	h.AwaitNoSessions(h.Context())
	if ends := h.completions(); len(ends) != 1 {
		t.Errorf("the reported ends are %q", ends)
	}
}

// A listener may end the session at any moment of a switch: each call settles, and the
// listeners and the service receive one end each.
func TestDisconnectInEveryListenerOfASwitch(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource") // an offer whose session ended before the answer
	var got struct {
		Sessions []struct {
			When, State, Asked, Switched, Again string
			Ends, Completions                   []string
		}
		Left []string
	}
	p.Do(&got, `
		await load()
		const before = await holdings()
		const moments = {
			"there, switching": ["stateChange", ({state}) => state === "switching"],
			"there, transport": ["transportChanged", ({mode}) => mode === "avatar"],
			"there, connecting": ["transport stateChange", ({state}) => state === "connecting"],
			"there, opened": ["transport serverConnected", () => true],
			"there, connected": ["transport stateChange", ({state}) => state === "connected"],
			"there, mode": ["modeChanged", ({mode}) => mode === "avatar"],
			"there, ready": ["mediaReady", () => true],
			"there, end of the old": ["old ended", () => true],
			"back, transport": ["transportChanged", ({mode}) => mode === "chat"],
			"back, mode": ["modeChanged", ({mode}) => mode === "chat"],
			"back, answer": ["turnStart", () => true],
		}
		const run = async ([when, [event, fits]], i) => {
			const talk = await agentOf()
			const {session} = talk
			await session.connect()
			await session.sendText("My name is Sam.")
			if (when.startsWith("back")) await session.switchMode("avatar")
			let gone
			const act = (payload) => {
				if (!fits(payload)) return
				session.disconnect({reason: "first"})
				session.disconnect({reason: "second"})
				if (i % 2) gone = session.dispose()
			}
			const [of, name] = event.includes(" ") ? event.split(" ") : ["session", event]
			if (of === "session") session.on(name, act)
			if (of === "old") session.transport.on(name, act)
			if (of === "transport") session.on("transportChanged", ({transport}) => transport.on(name, act))
			const switching = outcome(() => session.switchMode(when.startsWith("back") ? "chat" : "avatar"))
			const asked = outcome(() => session.sendText("What is my name?"))
			const switched = await within(switching)
			if (when.endsWith("opened") || when.endsWith("ready")) session.disconnect({reason: "first"}) // where that moment may never come
			const result = {when, asked: await within(asked), switched, again: await outcome(() => session.switchMode("chat"))}
			await (gone ?? session.dispose())
			return {...result, state: session.state, ends: talk.ends, completions: talk.completions}
		}
		const sessions = []
		const all = Object.entries(moments)
		for (let i = 0; i < all.length; i += 4) sessions.push(...await Promise.all(all.slice(i, i + 4).map((m, k) => run(m, i + k))))
		return {sessions, left: await left(before)}`)
	for _, s := range got.Sessions {
		if s.State != "closed" || !slices.Equal(s.Ends, []string{"first"}) {
			t.Errorf("%s: state %s, ends %q", s.When, s.State, s.Ends)
		}
		if !slices.Equal(s.Completions, []string{"first"}) {
			t.Errorf("%s: the service received: %q", s.When, s.Completions)
		}
		if s.Again != "invalid_state" && s.Again != "aborted" {
			t.Errorf("%s: a later switch came to %s", s.When, s.Again)
		}
		for _, o := range []string{s.Asked, s.Switched} {
			if !slices.Contains(codes, o) && o != "Your name is Sam." {
				t.Errorf("%s: %+v", s.When, s)
			}
		}
	}
	for _, left := range got.Left {
		t.Error("left: ", left)
	}
	h.AwaitNoSessions(h.Context())
	if ends := h.completions(); len(ends) != len(got.Sessions) {
		t.Errorf("received %d ends, want %d: %q", len(ends), len(got.Sessions), ends)
	}
}
