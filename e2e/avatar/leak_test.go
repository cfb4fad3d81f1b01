package avatar

import "testing"

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

// Fifty faults, ten for each of five sessions: resources that a repair or a rebuild creates
// replace the earlier ones.
func TestNothingIsLeftAfterFiftyFaults(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	type state struct {
		Threads []string
		Held    holdings
	}
	var before state
	p.Call(&before, "leak.js", "fiveSessions")
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
