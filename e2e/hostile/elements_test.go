package hostile

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// elements is how many sequences TestElementsAfterAnyOrder runs, unless AGENTRUNTIME_ORDERS is set to
// another number.
const elements = 12

const (
	elementsInPage = 12
	elementsAtOnce = 12
)

// TestElementsAfterAnyOrder does with the elements what visitors and pages do, in random orders, at first
// while the service and its links have faults: every call settles with a documented code, no text that the
// visitor typed is lost, every button has a name, the phase is that of the session, a text or a start after
// all succeeds, and nothing is left of a removed element.
func TestElementsAfterAnyOrder(t *testing.T) {
	count := number(t, "AGENTRUNTIME_ORDERS", elements)
	seed := number(t, "AGENTRUNTIME_ORDERS_SEED", int(time.Now().UnixNano()%1_000_000))
	first := number(t, "AGENTRUNTIME_ORDERS_FROM", 0)
	t.Logf("repeat with AGENTRUNTIME_ORDERS_SEED=%d", seed)
	for from := first; from < first+count; from += elementsInPage {
		to := min(from+elementsInPage, first+count)
		t.Run(fmt.Sprint(from), func(t *testing.T) { inElements(t, seed, from, to) })
	}
}

// inElements runs the sequences of one page.
func inElements(t *testing.T, seed, from, to int) {
	o := unlimited()
	o.Recovery = 8 * time.Second
	h, p := openPageAt(t, o)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource")
	p.Allow("agentruntime: <agent-")
	p.Allow("requestFullscreen")
	p.Allow("WebGL") // a browser without a graphics card draws blurred pictures with it
	p.Do(nil, fmt.Sprintf(`
		const {runElements} = await import("`+folder+`elements.js")
		await load()
		const init = await arrive()
		globalThis.before = await holdings()
		const calm = new Promise((resolve) => { globalThis.calm = resolve })
		globalThis.running = runElements(%d, %d, %d, %d, init, calm)`, seed, from, to, elementsAtOnce))
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
	h.AwaitNoSessions(h.Context())
}
