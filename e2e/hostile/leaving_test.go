package hostile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
)

// phase is the outcome of a session that was in a phase of its life (phases in
// testdata/hostile.js).
type phase struct {
	Thread, State, Call string
	Ends, Completions   []string
}

// wantEnds checks the reports of ends that the service received: one for each thread of the phases
// in reasons.
func wantEnds(t *testing.T, h server, phases map[string]phase, reasons map[string]string) {
	t.Helper()
	all := 0
	for name, p := range phases {
		want := 0
		if reasons[name] != "" {
			want = 1
			all++
			h.AwaitSessionCompleted(p.Thread)
		}
		n := 0
		for _, body := range h.completions() {
			if strings.Contains(body, `"`+p.Thread+`"`) {
				n++
			}
		}
		if n != want || p.Thread == "" {
			t.Errorf("%s: received %d times the end of %q, want %d", name, n, p.Thread, want)
		}
	}
	expect.Len(t, h.completions(), all, "received ends")
}

// leave opens sessions in every phase, runs the script happens, and returns the outcome of
// each session.
func leave(t *testing.T, happens string) (server, *pagetest.Page, map[string]phase) {
	t.Helper()
	h, p := openPage(t)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource") // an offer whose session ended before the answer
	var got map[string]phase
	p.Do(&got, `
		globalThis.sessions = await phases()
		const page = (event, persisted) => dispatchEvent(new PageTransitionEvent(event, {persisted}))
		const alive = ["connecting", "quiet", "in a turn", "switching", "with a face", "back in text"].map((name) => sessions.all[name])
		const heard = () => Promise.all(alive.map((talk) => talk.until("sessionCompleted")))
		`+happens+`
		return aftermath(sessions)`)
	return h, p, got
}

// over are the phases in which the end was reported before the page was left, with the
// reasons.
var over = map[string]string{"disconnected": "disconnect", "disposed": "disconnect"}

// alive returns the expected reasons by phase: those of over, and reason for the phases that were
// not over.
func alive(reason string) map[string]string {
	reasons := maps.Clone(over)
	for _, name := range []string{"connecting", "quiet", "in a turn", "switching", "with a face", "back in text"} {
		reasons[name] = reason
	}
	return reasons
}

// check compares the ends that the sessions reported with the reasons.
func check(t *testing.T, phases map[string]phase, reasons map[string]string) {
	t.Helper()
	for name, p := range phases {
		var want []string
		if r := reasons[name]; r != "" {
			want = []string{r}
		}
		expect.List(t, p.Completions, want, "%s: completions", name)
	}
}

// A tab that is closed reports the end of each conversation that has begun and is not over, once, with requests
// that outlive it.
func TestATabIsClosedInEveryPhase(t *testing.T) {
	t.Parallel()
	reasons := alive("pagehide")
	var h server
	var got map[string]phase
	pagetest.CloseUntilReported(t, func() (*pagetest.Server, *pagetest.Page, []string) {
		var p *pagetest.Page
		h, p, got = leave(t, `
			const threads = {}
			for (const [name, {session, completions}] of Object.entries(sessions.all)) threads[name] = {thread: session.threadId ?? "", completions}
			return threads`)
		var threads []string
		for name := range reasons {
			threads = append(threads, got[name].Thread)
		}
		return h.Server, p, threads
	})
	wantEnds(t, h, got, reasons)
	h.AwaitNoSessions(h.Context())
}

// comeBack continues every session of a restored page, and ends it; two of them end with the page.
const comeBack = `
	const {all, open} = sessions
	const back = {}
	for (const name of ["connecting", "switching"]) await open[name]
	all["in a turn"].session.disconnect()
	for (const name of ["idle", "quiet", "switching", "with a face", "back in text", "connecting"]) {
		const {session} = all[name]
		if (name === "idle") await session.connect()
		back[name] = await within(outcome(() => session.sendText("What is my name?")))
		if (!["quiet", "with a face"].includes(name)) session.disconnect()
	}
	dispatchEvent(new PageTransitionEvent("pagehide", {persisted: false}))
	for (const name of ["quiet", "with a face"]) if (all[name].ends.length === 0) await all[name].until("ended")
	await Promise.all(Object.values(all).map(({session}) => session.dispose()))
	return {back, after: await aftermath(sessions)}`

// A page in the back-forward cache reports the end at once, because it may never be restored;
// when it is, every session continues, and the service gets no second report (protocol §8.8, §8.9).
func TestAPageComesBackFromTheCacheInEveryPhase(t *testing.T) {
	t.Parallel()
	h, p, got := leave(t, `
		page("pagehide", true)
		page("pagehide", true)
		await heard()
		page("pageshow", true)
		sessions.open["in a turn"] = undefined // it goes on`)
	reasons := alive("pagehide_bfcache")
	check(t, got, reasons)
	for name, p := range got {
		expect.Equal(t, slices.Contains([]string{"left open", "disconnected", "disposed"}, name), (len(p.Ends) > 0), "%s: ends %q", name, p.Ends)
	}
	var back struct {
		Back  map[string]string
		After map[string]phase
	}
	p.Do(&back, comeBack)
	for name, answer := range back.Back {
		if answer != "Your name is Sam." && answer != "true" {
			t.Errorf("%s: the page came back, and a turn came to %q", name, answer)
		}
	}
	for _, name := range []string{"quiet", "with a face"} {
		expect.List(t, back.After[name].Ends, []string{"pagehide"}, "%s: ends when the page is left", name)
	}
	reasons["idle"] = "disconnect"
	check(t, back.After, reasons)
	wantEnds(t, h, back.After, reasons)
	h.AwaitNoSessions(h.Context())
}
