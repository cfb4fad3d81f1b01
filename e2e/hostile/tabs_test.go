package hostile

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

// doubleCloses is how many pairs of tabs are closed, unless AGENTRUNTIME_DOUBLE_CLOSES is set
// to another number.
const doubleCloses = 8

// TestTabsThatGoTogetherReportTheEndOnce closes two tabs with one thread, in the same moment or
// the second as soon as it has received the bye of the first, or kills one and closes the
// other at once: the service never receives two reports of a thread, and receives one when the
// second has heard of the end of the first. Of tabs that end together it may receive none; the
// service then ends the idle thread itself (TestIdleThreadIsCompletedOnce).
func TestTabsThatGoTogetherReportTheEndOnce(t *testing.T) {
	n := number(t, "AGENTRUNTIME_DOUBLE_CLOSES", doubleCloses)
	var reported [2]int // of tabs that end together, and one after the other
	cut := 0
	for done := 0; done < n; {
		// A few at a time, because a test of a page has a time limit.
		h, p := openPage(t)
		threads := map[string]int{} // to the way
		for range min(4, n-done) {
			if thread, whole := goTogether(h, p, done%4); whole {
				threads[thread] = done % 4
				done++
			} else {
				cut++
			}
		}
		if cut > n {
			t.Fatal("this machine is too busy: the browser ends most tabs before they have handled it")
		}
		ends := strings.Join(h.completions(), "\n")
		for thread, way := range threads {
			reports := strings.Count(ends, `"`+thread+`"`)
			if reports > 1 || reports == 0 && way == inTurn {
				t.Errorf("%d reports of the end of %s, in way %d", reports, thread, way)
			}
			reported[way/inTurn] += reports
		}
	}
	t.Logf("measured: %d pairs of tabs: the end of %d was reported, of which %d had ended together; %d others were ended by the browser before they had handled it",
		n, reported[0]+reported[1], reported[0], cut)
}

// inTurn is the way in which the second tab ends after it has received the bye of the first.
const inTurn = 3

// goTogether opens two tabs with one thread and ends them in one of four ways. It returns
// the thread when the tabs have handled their ends. Chromium ends a tab half a second after the
// request to close it, even if its page has not handled that yet; in that case whole is false.
func goTogether(h server, p *pagetest.Page, way int) (thread string, whole bool) {
	one, two := p.NewTab(h.URL+folder), p.NewTab(h.URL+folder)
	one.Call(&thread, "tabs.js", "firstTab")
	two.Call(nil, "tabs.js", "secondTab", thread)
	closed := 2
	switch way {
	case 1:
		one.Crash()
		two.CloseTab()
		closed = 1
	case 2:
		two.Crash()
		one.CloseTab()
		closed = 1
	case inTurn:
		one.CloseTab()
		two.Do(nil, "await gone")
		two.CloseTab()
		if h.Reported(thread) {
			return thread, true
		}
	default:
		var going sync.WaitGroup
		going.Go(one.CloseTab)
		going.Go(two.CloseTab)
		going.Wait()
	}
	p.Do(&whole, fmt.Sprintf(`
		const handled = () => Object.keys(localStorage).filter((key) => key.startsWith("handled " + %q)).length === %d
		const change = new Promise((resolve) => addEventListener("storage", () => handled() && resolve(true)))
		return handled() || Promise.race([change, new Promise((resolve) => setTimeout(resolve, 2000, false))])`, thread, closed))
	return thread, whole
}
