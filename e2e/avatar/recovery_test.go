package avatar

import (
	"testing"
)

const remembers = `
	const from = talk.now
	await talk.session.speak("What is my name?")
	const {text} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Your name"), from)`

const tellsName = `
	globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
	await talk.session.connect()
	await talk.session.speak("My name is Ada.")
	await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"))
	return talk.session.threadId`

func TestDroppedSocketIsRecovered(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.Do(nil, tellsName)
	before := h.OnlySession().ID
	h.Control("/sessions/newest/drop", nil)
	var got struct {
		States []string
		Text   string
		Peers  int
	}
	p.Do(&got, `
		await talk.until("reconnected", ({recovered}) => recovered)`+remembers+`
		return {states: talk.all("stateChange").map(({state}) => state), text, peers: watched.peers.length}`)
	if got.Text != "Your name is Ada." {
		t.Errorf("the agent said %q", got.Text)
	}
	if s := h.OnlySession(); s.ID != before || !s.Recovered {
		t.Errorf("the service has session %s (recovered %v), it was %s", s.ID, s.Recovered, before)
	}
	want := []string{"preparing", "connecting", "connected", "reconnecting", "connected"}
	if len(got.States) != len(want) {
		t.Errorf("states %q, want %q", got.States, want)
	}
}

func TestRefusedRecoveryIsRebuiltOnTheSameThread(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var thread string
	p.Do(&thread, tellsName)
	before := h.OnlySession().ID
	h.Control("/recovery", map[string]any{"refuseNext": true})
	h.Control("/sessions/newest/drop", nil)
	var got struct {
		Text, Thread string
		Picture      seen
		Peers        int
	}
	p.Do(&got, `
		await talk.until("reconnected", ({recovered}) => !recovered)`+remembers+`
		return {text, thread: talk.session.threadId, picture: await picture(talk.session.videoEl), peers: held().peers}`)
	if got.Text != "Your name is Ada." || got.Thread != thread {
		t.Errorf("the agent said %q on thread %s, which was %s", got.Text, got.Thread, thread)
	}
	got.Picture.want(t)
	if s := h.OnlySession(); s.ID == before || s.ThreadID != thread {
		t.Errorf("the service has session %s on thread %s", s.ID, s.ThreadID)
	}
	if got.Peers != 2 {
		t.Errorf("%d peers are open, want the picture's and the microphone's", got.Peers)
	}
}
