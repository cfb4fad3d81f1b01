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

// holdings is what the page and the program hold.
type holdings struct {
	Peers, Sockets, Contexts, Microphones, Timers, Listeners int
	Sessions, Callbacks, Goroutines                          int
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
	after, before := got.After, got.Before
	// The program's own clock keeps one timer or none.
	after.Timers, before.Timers = max(0, after.Timers-1), max(0, before.Timers-1)
	if after != before {
		t.Errorf("held after %+v\n     before %+v", got.After, got.Before)
	}
	if sessions := h.Sessions(h.Context()); len(sessions) != 0 {
		t.Errorf("the service still has %d sessions", len(sessions))
	}
}
