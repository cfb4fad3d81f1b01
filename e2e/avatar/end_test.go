package avatar

import (
	"slices"
	"testing"
)

const connected = `
	globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
	await talk.session.connect()
	await talk.until("transcript", ({type}) => type === "final")
	return talk.session.threadId`

func TestDisconnectTellsTheService(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var thread string
	p.Do(&thread, connected)
	var got struct {
		States []string
		Ended  []string
		Sent   struct {
			Reason string
			Sent   bool
		}
		Src bool
	}
	p.Call(&got, "end.js", "disconnectTellsTheService")
	if !slices.Equal(got.States, []string{"disconnecting", "disconnected"}) || !slices.Equal(got.Ended, []string{"disconnect"}) {
		t.Errorf("states %q, ended %q", got.States, got.Ended)
	}
	if got.Sent.Reason != "disconnect" || !got.Sent.Sent {
		t.Errorf("sessionCompleted %+v", got.Sent)
	}
	h.AwaitSessionCompleted(thread)
	h.AwaitUnsubscribe()
	if n := h.Count("POST", "/thread/session_completed"); n != 1 {
		t.Errorf("the service was told %d times", n)
	}
}

// A page in the back-forward cache may be restored, so its transports are not closed
// (protocol §8.8).
func TestPageLeftBehindTellsTheService(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var thread string
	p.Do(&thread, connected)
	if err := p.Navigate(p.Context(), "about:blank"); err != nil {
		t.Fatal(err)
	}
	h.AwaitSessionCompleted(thread)
}

func TestHiddenPageCompletesAfterItsGrace(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var thread string
	p.Do(&thread, `
		globalThis.talk = await open({agent: "silent", hiddenGraceMs: 300, videoEl: document.getElementById("video")})
		await talk.session.connect()
		await talk.until("transcript", ({type}) => type === "final")
		return talk.session.threadId`)
	if err := p.SetHidden(p.Context(), true); err != nil {
		t.Fatal(err)
	}
	h.AwaitSessionCompleted(thread)
	if err := p.SetHidden(p.Context(), false); err != nil {
		t.Fatal(err)
	}
	var got struct{ Reason, State, Answer string }
	p.Do(&got, `
		const {reason} = await talk.until("sessionCompleted")
		await talk.session.speak("My name is Ada.")
		const {text: answer} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"))
		return {reason, state: talk.session.state, answer}`)
	if got.Reason != "hidden_grace" || got.State != "connected" {
		t.Errorf("%+v", got)
	}
}
