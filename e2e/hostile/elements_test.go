package hostile

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// elementsInPage is how many sequences run in one page, all at once. TestElementsAfterAnyOrder has one page,
// unless AGENTRUNTIME_ORDERS is set.
const elementsInPage = 8

// TestElementsAfterAnyOrder does with the elements what visitors and pages do, in random orders, at first
// while the service and its links have faults: every call settles with a documented code, no text that the
// visitor typed is lost, every button has a name, the phase is that of the session, a text or a start after
// all succeeds, and nothing is left of a removed element.
func TestElementsAfterAnyOrder(t *testing.T) {
	inPages(t, elementsInPage, elementsInPage, inElements)
}

// inElements runs the sequences of one page.
func inElements(t *testing.T, seed, from, to int) {
	h, p := openForOrders(t, 8*time.Second)
	p.Allow("agentruntime: <agent-")
	p.Allow("requestFullscreen")
	p.Allow("WebGL") // a browser without a graphics card draws blurred pictures with it
	p.Do(nil, fmt.Sprintf(`
		const {runElements} = await import("`+folder+`elements.js")
		await load()
		const init = await arrive()
		globalThis.before = await holdings()
		const calm = new Promise((resolve) => { globalThis.calm = resolve })
		globalThis.running = runElements(%d, %d, %d, init, calm)`, seed, from, to))
	h.disturb(seed + from)
	var got struct {
		Faults, Left []string
		Counts       map[string]int
	}
	// Listeners of a removed element end with it.
	p.Do(&got, `
		calm()
		const ran = await running
		return {...ran, left: (await left(before)).filter((what) => !what.includes(" listeners,"))}`)
	t.Logf("sequences %d to %d: %v", from, to-1, got.Counts)
	for _, fault := range slices.Concat(got.Faults, got.Left) {
		t.Error(fault)
	}
	if got.Counts["send after all"]+got.Counts["start after all"] == 0 && to-from == elementsInPage {
		t.Error("no element was used after all")
	}
	h.AwaitNoSessions(h.Context())
}
