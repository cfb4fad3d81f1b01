package avatar

import "testing"

// A page in the back-forward cache may be restored, so its transports are not closed
// (protocol §8.8).
func TestPageLeftBehindTellsTheService(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var thread string
	p.Do(&thread, `
		globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
		await talk.session.connect()
		await talk.until("transcript", ({type}) => type === "final")
		return talk.session.threadId`)
	p.Navigate("about:blank")
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
	p.SetHidden(true)
	h.AwaitSessionCompleted(thread)
	p.SetHidden(false)
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
