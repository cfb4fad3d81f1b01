package avatar

import (
	"strconv"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// cycles is how often a session is made, connected and ended.
const cycles = 50

// holdings is what the page and the program hold.
type holdings struct {
	Peers, Sockets, Contexts, Microphones, Timers, Listeners int
	Sessions, Callbacks, Goroutines                          int
}

func TestNothingIsLeftAfterFiftySessions(t *testing.T) {
	h := newHouse(t, localservice.Options{})
	p := h.page()
	// The first sessions may load and warm up what stays.
	var got struct{ Before, During, After holdings }
	start := time.Now()
	p.run(&got, `
		const {diagnostics} = await import("/js/dist/index.js")
		const video = document.getElementById("video")
		const cycle = async (i) => {
			const talk = await open({
				agent: i % 2 ? "silent" : "audio",
				videoEl: i % 2 ? video : null,
				micStartMode: i % 5 ? "deferred" : "immediate",
			})
			await talk.session.connect()
			if (i % 5 === 0) await talk.until("micStarted")
			talk.session.disconnect()
			await talk.until("sessionCompleted")
			await talk.session[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]()
		}
		const all = () => ({...held(), ...diagnostics()})
		await cycle(0)
		await cycle(1)
		const quiet = () => {
			const now = all()
			return now.peers + now.sockets + now.contexts + now.microphones === 0
		}
		await settled(quiet)
		const before = all()
		let during
		for (let i = 0; i < `+strconv.Itoa(cycles)+`; i++) await cycle(i)
		await settled(() => quiet() && Object.entries(all()).every(([name, n]) => n <= before[name]))
		return {before, after: all()}`)
	t.Logf("%d sessions in %v; held before %+v", cycles, time.Since(start).Round(time.Second), got.Before)
	if got.After != got.Before {
		t.Errorf("held after %+v\n     before %+v", got.After, got.Before)
	}
	h.control("/capacity", map[string]any{}) // the service still answers
	if sessions := h.Sessions(h.ctx); len(sessions) != 0 {
		t.Errorf("the service still has %d sessions", len(sessions))
	}
}
