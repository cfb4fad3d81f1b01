package avatar

import (
	"testing"

	"github.com/chromedp/cdproto/page"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestAFrozenPageIsSilentAndComesBack: Chromium freezes a page in the background. The microphone is closed before,
// and is started again when the page runs again, in the same conversation, with a new socket.
func TestAFrozenPageIsSilentAndComesBack(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: hears})
	p := openPage(h)
	p.Allow("Page entered Back-Forward Cache") // the browser closes its socket
	p.Do(nil, `
		globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
		const {session} = talk
		await session.connect()
		await session.startMic()
		await talk.until("micStarted")
		globalThis.from = talk.now
		document.addEventListener("freeze", () => { globalThis.frozenWith = held().microphones }) // after the session's own
		globalThis.resumed = new Promise((resolve) => document.addEventListener("resume", resolve))`)
	freeze := func(state page.SetWebLifecycleStateState) {
		t.Helper()
		must.Get(browsertest.Call(p.Context(), p.Page, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state}))(t)
	}
	p.SetHidden(true)
	freeze(page.SetWebLifecycleStateStateFrozen)
	freeze(page.SetWebLifecycleStateStateActive)
	p.SetHidden(false)
	var got struct {
		FrozenWith, Live int
		Answer, State    string
	}
	p.Call(&got, "lifecycle.js", "comesBack")
	if got.FrozenWith != 0 || got.Live != 1 {
		t.Errorf("%d microphones in the frozen page, %d afterwards", got.FrozenWith, got.Live)
	}
	expect.Equal(t, got.State, "connected", "the agent said %q, state", got.Answer)
}

// TestTheClockMayJump: the clock of a computer is set, or was wrong while it slept. Limits are measured
// with a clock that does not jump, so that the conversation goes on.
func TestTheClockMayJump(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var got struct {
		State  string
		Events []string
		Spoken []string
		Sent   bool
	}
	p.Call(&got, "lifecycle.js", "theClockMayJump")
	if got.State != "connected" || len(got.Events) != 0 || len(got.Spoken) != 3 || !got.Sent {
		t.Errorf("%+v", got)
	}
	for i, name := range []string{"Ada", "Bob", "Cleo"} {
		if want := "Nice to meet you, " + name + ". I'll remember your name."; i < len(got.Spoken) && got.Spoken[i] != want {
			t.Errorf("the agent said %q, want %q", got.Spoken[i], want)
		}
	}
	h.AwaitNoSessions(h.Context())
}
