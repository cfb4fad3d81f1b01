package avatar

import (
	"strconv"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// cycles is how many sessions are made, connected and ended, five at a time.
const cycles = 50

// holdings are the counts of the page's and the program's resources.
type holdings struct {
	Peers, Sockets, Contexts, Microphones, Timers, Listeners int
	Sessions, Callbacks, Goroutines                          int
}

// exceeds reports whether any count is larger than before. The Go runtime has one timer or
// none.
func (h holdings) exceeds(before holdings) bool {
	return h.Peers > before.Peers || h.Sockets > before.Sockets || h.Contexts > before.Contexts || h.Microphones > before.Microphones ||
		h.Timers > max(1, before.Timers) || h.Listeners > before.Listeners || h.Sessions > before.Sessions ||
		h.Callbacks > before.Callbacks || h.Goroutines > before.Goroutines
}

func TestNothingIsLeftAfterFiftySessions(t *testing.T) {
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	var got struct{ Before, After holdings }
	start := time.Now()
	p.Do(&got, `
		const {diagnostics, load} = await import("/js/dist/index.js")
		await load()
		const cycle = async (i) => {
			const talk = await open({
				agent: i % 2 ? "silent" : "audio",
				videoEl: i % 2 ? document.createElement("video") : null,
				micStartMode: i % 5 ? "deferred" : "immediate",
			})
			await talk.session.connect()
			if (i % 5 === 0) await talk.until("micStarted")
			talk.session.disconnect()
			await talk.session[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]()
		}
		const all = async () => ({...held(), ...await diagnostics()})
		const before = await all()
		for (let i = 0; i < `+strconv.Itoa(cycles)+`; i += 5) await Promise.all([0, 1, 2, 3, 4].map((k) => cycle(i + k)))
		await settled(async () => Object.entries(await all()).every(([name, n]) => n <= before[name]))
		return {before, after: await all()}`)
	t.Logf("%d sessions in %v; held before %+v", cycles, time.Since(start).Round(time.Second), got.Before)
	if got.After.exceeds(got.Before) {
		t.Errorf("held after %+v\n     before %+v", got.After, got.Before)
	}
	h.AwaitNoSessions(h.Context())
}

// Fifty faults, ten for each of five sessions: resources that a repair or a rebuild creates
// replace the earlier ones.
func TestNothingIsLeftAfterFiftyFaults(t *testing.T) {
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	type state struct {
		Threads []string
		Held    holdings
	}
	var before state
	p.Do(&before, `
		const {diagnostics} = await import("/js/dist/index.js")
		globalThis.all = async () => ({...held(), ...await diagnostics()})
		globalThis.talks = await Promise.all([0, 1, 2, 3, 4].map(() => open({agent: "silent", videoEl: document.createElement("video")})))
		for (const talk of talks) {
			await talk.session.connect()
			await talk.until("mediaReady")
		}
		globalThis.before = await all()
		return {threads: talks.map(({session}) => session.threadId), held: before}`)
	for i := range 10 {
		p.Do(nil, `globalThis.from = talks.map(({now}) => now)`)
		for _, thread := range before.Threads {
			if i%5 == 4 {
				h.Control("/sessions/"+thread+"/kill-media", nil)
				continue
			}
			if i%2 == 1 {
				h.Control("/recovery", map[string]any{"refuseNext": true})
			}
			h.Control("/sessions/"+thread+"/drop", nil)
		}
		event := "reconnected"
		if i%5 == 4 {
			event = "mediaRecovered"
		}
		p.Do(nil, `await Promise.all(talks.map((talk, i) => talk.until("`+event+`", undefined, from[i])))`)
	}
	var after holdings
	p.Do(&after, `
		await settled(async () => Object.entries(await all()).every(([name, n]) => n <= before[name]))
		return all()`)
	if after.exceeds(before.Held) {
		t.Errorf("held after %+v\n     before %+v", after, before.Held)
	}
	p.Do(nil, `for (const {session} of talks) session.disconnect()`)
}
