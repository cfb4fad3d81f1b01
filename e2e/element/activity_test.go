package element

import (
	"testing"
)

// From the idle element to the end of a conversation nothing jumps, in a large window and on a phone.
func TestNothingJumps(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	for _, size := range [][2]int64{{1280, 800}, {360, 740}, {740, 360}} {
		p.SetSize(size[0], size[1])
		for _, modes := range []string{"face", "face text"} {
			p.Do(nil, `
				globalThis.element?.remove()
				await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
				globalThis.shifts = []
				globalThis.observer?.disconnect()
				globalThis.observer = new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({value, sources}) => ({value, what: sources.map(({node}) => node?.outerHTML?.slice(0, 60))}))))
				observer.observe({type: "layout-shift"})
				captions.length = 0
				await place("agent-avatar", {microphone: "none", modes: "`+modes+`"})
				globalThis.stage = () => { const {width, height, top} = find("[part=stage]").getBoundingClientRect(); return [width, height, top].map(Math.round).join(" ") }
				globalThis.before = stage()`)
			p.Do(nil, `await element.start(); await until(() => seen("video") && !seen("[part=poster]"))
				await until(() => captions.length > 0)
				await element.send("My name is Ada."); await until(() => find("[aria-live=polite]").textContent.includes("Ada"))`)
			var got struct {
				Shift            float64
				What             []any
				Before, Now, End string
			}
			p.Do(&got, `
				const now = stage()
				element.end()
				await until(() => element.phase === "ended")
				await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 100)))
				return {shift: shifts.reduce((sum, {value}) => sum + value, 0), what: shifts, before, now, end: stage()}`)
			if got.Shift > 0.02 || got.Now != got.Before || got.End != got.Before {
				t.Errorf("%v, %s: layout shift %.3f (%v), stage %s, then %s, then %s", size, modes, got.Shift, got.What, got.Before, got.Now, got.End)
			}
			t.Logf("%v, %s: layout shift %.4f", size, modes, got.Shift)
		}
	}
}

// Ten times a second, what the element says of the agent is compared with the events of its
// session and with the level of the voice, over an opening, a typed turn, a barge-in, a turn with
// a tool, a lost connection, and the end of the microphone.
func TestTheStateIsTrue(t *testing.T) {
	h, p := open(t)
	p.Allow("Failed to load resource")
	p.Call(nil, "activity.js", "theStateIsTrue")
	// What it has said since the last call counts too: some of it lasts a moment.
	says := func(activity string) {
		t.Helper()
		p.Call(nil, "activity.js", "says", activity)
	}
	press(p, "start")
	says("speaking")
	says("muted")
	p.Do(nil, `await element.send("Save a note: call back tomorrow")`)
	says("thinking")
	says("speaking")
	says("muted")
	press(p, "microphone")
	p.Do(nil, `element.send("Tell me a long story.")`)
	says("speaking")
	says("hearing") // the browser's microphone speaks into the story
	p.Do(nil, `element.session.mute()`)
	says("muted")
	h.Control("/sessions/newest/drop", nil)
	p.Do(nil, `await until(() => element.session.state !== "connected"); await until(() => element.session.state === "connected")`)
	p.Do(nil, `await element.send("What can you do?")`)
	says("speaking")
	press(p, "end")
	var got struct {
		Wrong []any
		Seen  map[string]int
		Count int
	}
	// A sample may fall between an event and what it changes; two in a row may not.
	p.Call(&got, "activity.js", "activityIsTrue")
	if len(got.Wrong) > 0 {
		t.Errorf("%d of %d samples are wrong, such as %v", len(got.Wrong), got.Count, got.Wrong[0])
	}
	t.Logf("%d samples: %v", got.Count, got.Seen)
}
