package hostile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
)

// orders is how many sequences TestNothingIsLeftAfterAnyOrder runs, unless AGENTRUNTIME_ORDERS is
// set to another number; with -short a tenth.
const orders = 500

const (
	ordersInPage = 250 // a test of a page has a time limit
	ordersAtOnce = 16
)

// underFaults is whether the service and its links have faults while a page runs the sequences from that
// number on: during every second page.
func underFaults(from int) bool { return from/ordersInPage%2 == 1 }

// TestNothingIsLeftAfterAnyOrder calls all methods of the three sessions in random orders, with random
// arguments, signals and devices, and ends each session: every call settles with a documented code, no
// track of a microphone is live, and no peer, socket, timer, listener, callback or goroutine is left. Some
// of it happens while the service and its links have faults.
func TestNothingIsLeftAfterAnyOrder(t *testing.T) {
	total := counts{map[string]int{}, map[string]int{}, map[string]int{}}
	count := inPages(t, orders, ordersInPage, func(t *testing.T, seed, from, to int) { inOrders(t, seed, from, to, total) })
	t.Logf("measured: %d sequences, connected %v; the calls came to %v", count, total.Connected, total.Outcomes)
	for method, n := range total.Called {
		if n == 0 && count >= orders {
			t.Errorf("%s was never called", method)
		}
	}
}

// inPages runs sequences, some in each page, and returns how many: AGENTRUNTIME_ORDERS of them, from number
// AGENTRUNTIME_ORDERS_FROM on, which are drawn from AGENTRUNTIME_ORDERS_SEED. It calls run for each page.
func inPages(t *testing.T, count, inPage int, run func(t *testing.T, seed, from, to int)) int {
	t.Helper()
	count = number(t, "AGENTRUNTIME_ORDERS", count)
	if testing.Short() {
		count /= 10
	}
	seed := number(t, "AGENTRUNTIME_ORDERS_SEED", int(time.Now().UnixNano()%1_000_000))
	first := number(t, "AGENTRUNTIME_ORDERS_FROM", 0)
	t.Logf("repeat with AGENTRUNTIME_ORDERS_SEED=%d", seed)
	for from := first; from < first+count; from += inPage {
		to := min(from+inPage, first+count)
		t.Run(fmt.Sprint(from), func(t *testing.T) { run(t, seed, from, to) })
	}
	return count
}

// openForOrders opens a page at a service that lets one visitor have many sessions, which outlive their
// socket for as long as recovery says.
func openForOrders(t *testing.T, recovery time.Duration) (server, *pagetest.Page) {
	t.Helper()
	none := quota.Limit{Token: -1, Address: -1}
	h, p := openPageAt(t, localservice.Options{Recovery: recovery, MaxCalls: 1000, Quotas: localservice.Quotas{
		Calls: none, Peers: none, Offers: none, Sockets: none, Relay: none, Threads: none, Turns: none,
	}})
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource")
	return h, p
}

// counts are how often a call came to each outcome, each method was called, and each kind of session was
// connected.
type counts struct{ Outcomes, Called, Connected map[string]int }

// inOrders runs the sequences of one page, and adds to total.
func inOrders(t *testing.T, seed, from, to int, total counts) {
	recovery, connects := time.Duration(0), 0.4
	if underFaults(from) {
		recovery, connects = 8*time.Second, 0.9
	}
	h, p := openForOrders(t, recovery)
	// A call without a result that was made before the runtime was there, and which then can't take effect.
	p.Allow("the session is idle, not connected")
	p.Allow("AgentError: the session is failed")
	var got struct {
		counts
		Faults, Left, Live []string
		Granted            map[string]int
	}
	start := time.Now()
	p.Do(nil, fmt.Sprintf(`
		const {replaceDevices, runOrders} = await import("`+folder+`orders.js")
		await load()
		const service = await arrive()
		const devices = await replaceDevices()
		const before = await holdings()
		globalThis.orders = {devices, before, running: runOrders(%d, %d, %d, %d, %g, service, devices)}`, seed, from, to, ordersAtOnce, connects))
	if underFaults(from) {
		h.disturb(seed + from)
	}
	p.Do(&got, `
		const {devices, before, running} = globalThis.orders
		const ran = await running
		const after = await left(before)
		const {granted} = devices
		const live = granted.filter(({track}) => track.readyState === "live").map(({sequence, manner}) => "of sequence " + sequence + ", " + manner)
		devices.close()
		return {...ran, left: after, live, granted: tally(granted.map(({manner}) => manner))}`)
	t.Logf("sequences %d to %d: %v, devices that were granted: %v", from, to-1, time.Since(start).Round(time.Second), got.Granted)
	for _, fault := range slices.Concat(got.Faults, got.Left) {
		t.Error(fault)
	}
	for _, track := range got.Live {
		t.Error("a live track ", track)
	}
	if len(got.Granted) == 0 && to-from == ordersInPage {
		t.Error("no device was granted")
	}
	for _, pair := range [][2]map[string]int{{total.Outcomes, got.Outcomes}, {total.Called, got.Called}, {total.Connected, got.Connected}} {
		for what, n := range pair[1] {
			pair[0][what] += n
		}
	}
	h.AwaitNoSessions(h.Context())
}
