package avatar

import (
	"context"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

const connected = `
	globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
	await talk.session.connect()
	await talk.until("transcript", ({type}) => type === "final")
	return talk.session.threadId`

func TestDisconnectTellsTheService(t *testing.T) {
	t.Parallel()
	h := newHouse(t, localservice.Options{})
	p := h.page()
	var thread string
	p.run(&thread, connected)
	var got struct {
		States []string
		Ended  []string
		Sent   struct {
			Reason string
			Sent   bool
		}
		Src bool
	}
	p.run(&got, `
		const from = talk.now
		talk.session.disconnect()
		const sent = await talk.until("sessionCompleted")
		talk.session.disconnect()
		return {
			states: talk.all("stateChange", from).map(({state}) => state),
			ended: talk.all("ended").map(({reason}) => reason),
			sent,
			src: document.getElementById("video").srcObject !== null,
		}`)
	if !slices.Equal(got.States, []string{"disconnecting", "disconnected"}) || !slices.Equal(got.Ended, []string{"disconnect"}) {
		t.Errorf("states %q, ended %q", got.States, got.Ended)
	}
	if got.Sent.Reason != "disconnect" || !got.Sent.Sent {
		t.Errorf("sessionCompleted %+v", got.Sent)
	}
	h.awaitCompletion(thread)
	h.awaitRelease()
	if n := h.count("POST", "/thread/session_completed"); n != 1 {
		t.Errorf("the service was told %d times", n)
	}
}

func TestClosedTabTellsTheService(t *testing.T) {
	t.Parallel()
	h := newHouse(t, localservice.Options{})
	p := h.page()
	var thread string
	p.run(&thread, connected)
	if err := p.leave(); err != nil {
		t.Fatal(err)
	}
	h.awaitCompletion(thread)
	h.awaitRelease()
}

// A page that goes into the back-forward cache may come back, so that its
// transports are left alone (wire-protocol §8.8).
func TestPageLeftBehindTellsTheService(t *testing.T) {
	t.Parallel()
	h := newHouse(t, localservice.Options{})
	p := h.page()
	var thread string
	p.run(&thread, connected)
	if err := p.Navigate(p.ctx, "about:blank"); err != nil {
		t.Fatal(err)
	}
	h.awaitCompletion(thread)
}

// leave closes the tab as a person does, so that the page hears of it.
func (p *page) leave() error {
	return p.Run(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdppage.Close, cdp.Empty{})
		return err
	}))
}

func TestHiddenPageCompletesAfterItsGrace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, localservice.Options{})
	p := h.page()
	var thread string
	p.run(&thread, `
		globalThis.talk = await open({agent: "silent", hiddenGraceMs: 300, videoEl: document.getElementById("video")})
		await talk.session.connect()
		await talk.until("transcript", ({type}) => type === "final")
		return talk.session.threadId`)
	if err := p.SetHidden(p.ctx, true); err != nil {
		t.Fatal(err)
	}
	h.awaitCompletion(thread)
	if err := p.SetHidden(p.ctx, false); err != nil {
		t.Fatal(err)
	}
	var got struct{ Reason, State, Answer string }
	p.run(&got, `
		const {reason} = await talk.until("sessionCompleted")
		await talk.session.speak("My name is Ada.")
		const {text: answer} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"))
		return {reason, state: talk.session.state, answer}`)
	if got.Reason != "hidden_grace" || got.State != "connected" {
		t.Errorf("%+v", got)
	}
}
