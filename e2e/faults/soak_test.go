package faults

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/session"
)

var (
	soakTime = flag.Duration("soak", 20*time.Second, "how long the soak breaks things")
	sessions = flag.Int("sessions", 2, "native sessions of the soak")
	page     = flag.Bool("page", false, "have a page in headless Chromium beside them")
	seed     = flag.Uint64("seed", 1, "of the faults of the soak")
)

// talker is a native session that asks questions as long as the soak goes on.
type talker struct {
	*visitor
	asked []string
}

// talk asks questions until ctx ends, each when the last one was answered or has timed
// out.
func (k *talker) talk(ctx context.Context, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		text := fmt.Sprintf("What is %d of %d?", i, n)
		k.asked = append(k.asked, text)
		at := time.Now()
		if sent, err := k.Speak(ctx, text); !sent || err != nil {
			k.mu.Lock()
			k.refused = append(k.refused, text)
			over := k.Snapshot().State == avatar.Disconnected
			k.mu.Unlock()
			if over {
				return
			}
		}
		k.await(5*time.Second, func() bool { return k.answered(at) || ctx.Err() != nil })
	}
}

// TestSoak breaks the connection of several sessions at random. Afterwards each has
// a picture, and the service has each text once.
func TestSoak(t *testing.T) {
	s := startService(t, "-pages", "../..", "-max-calls", "256")
	began := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var talkers []*talker
	for range *sessions {
		v := enter(t, s.Info, 0, nil)
		must.Do(t, v.Connect(ctx))
		talkers = append(talkers, &talker{visitor: v})
	}
	var tab *browsertest.Page
	if *page {
		tab = openPage(t, s)
	}
	for n, k := range talkers {
		k.speaking.Go(func() { k.talk(ctx, n) })
	}

	broken, calm := context.WithTimeout(ctx, *soakTime)
	done := pagetest.Disturb(broken, t, s.Info, rand.New(rand.NewPCG(*seed, 0)), pagetest.Survivable, 4*time.Second)
	calm()
	repaired := time.Now()
	t.Logf("%d faults: %s", len(done), strings.Join(done, "; "))
	stop()

	for n, k := range talkers {
		k.speaking.Wait()
		k.mu.Lock()
		k.picture.from(repaired)
		k.mu.Unlock()
		alive := k.await(settles, func() bool {
			_, over := k.ended()
			return over || !k.picture.first.IsZero() && k.Snapshot().State == avatar.Connected
		})
		if err, over := k.ended(); !alive || over {
			t.Errorf("session %d has no picture after the last fault: %v, %s", n, err, k.story(k.events[0].at))
			continue
		}
		thread := k.Snapshot().ThreadID
		k.Disconnect(session.DisconnectOptions{})
		times := s.typed(thread)
		k.mu.Lock()
		reported := slices.Concat(k.unconfirmed, k.refused)
		k.mu.Unlock()
		for _, text := range k.asked {
			if found := times[text]; found > 1 || found == 0 && !slices.Contains(reported, text) {
				t.Errorf("session %d: %q is in the thread %d times; reported were %q", n, text, found, reported)
			}
		}
		t.Logf("session %d: %d turns, %d reported, longest time without picture %v", n, len(k.asked), len(reported), k.picture.longest(began, time.Now()).Round(100*time.Millisecond))
	}
	if tab != nil {
		checkPage(t, tab)
	}
}

// pause lets a fault last.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// openPage opens the example page of the service and starts its session.
func openPage(t *testing.T, s *service) *browsertest.Page {
	t.Helper()
	options := pagetest.WithVoice
	browser := must.Get(browsertest.Start(t.Context(), options))(t)
	t.Cleanup(browser.Close)
	tab := must.Get(browser.NewPage(t.Context(), s.Page))(t)
	t.Cleanup(tab.Close)
	must.Do(t, tab.Eval(t.Context(), awaitPage(`!document.getElementById("start").disabled`), nil))
	must.Do(t, tab.Click(t.Context(), "#start"))
	must.Do(t, tab.Eval(t.Context(), awaitPage(live), nil))
	return tab
}

// live is true while the page shows a live avatar.
const live = `document.getElementById("stage").dataset.state === "live"`

// awaitPage is a promise that is resolved when the condition holds.
func awaitPage(condition string) string {
	return `new Promise((resolve) => { const check = () => (` + condition + `) ? resolve(true) : requestAnimationFrame(check); check() })`
}

// checkPage waits for a picture in the page.
func checkPage(t *testing.T, tab *browsertest.Page) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settles)
	defer cancel()
	moving := `(async () => {
		await ` + awaitPage(live) + `
		await new Promise((resolve) => document.getElementById("video").requestVideoFrameCallback(resolve))
		return document.getElementById("status").textContent
	})()`
	var status string
	if err := tab.Eval(ctx, moving, &status); err != nil {
		_ = tab.Eval(t.Context(), `document.body.innerText`, &status)
		t.Errorf("the page has no picture after the last fault: %v: %s", err, status)
	}
	for _, m := range tab.Console() {
		if m.Type == browsertest.TypeException {
			t.Errorf("the page says %v", m)
		}
	}
}
