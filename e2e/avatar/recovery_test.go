package avatar

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

const remembers = `
	const from = talk.now
	await talk.session.speak("What is my name?")
	const {text} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Your name"), from)`

// TestDroppedSocketIsRecovered: the connection is lost twice. First the service recovers its session, then it has lost that, and
// the session is rebuilt on the same thread. What the page had the visitor say at the beginning is said once.
func TestDroppedSocketIsRecovered(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var thread string
	p.Do(&thread, `
		globalThis.talk = await open({agent: "silent", kickoff: "My name is Ada.", videoEl: document.getElementById("video")})
		await talk.session.connect()
		await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice to meet you, Ada."))
		return talk.session.threadId`)
	before := h.OnlySession().ID
	h.Control("/sessions/newest/drop", nil)
	var got struct {
		States []string
		Text   string
	}
	p.Do(&got, `
		await talk.until("reconnected", ({recovered}) => recovered)`+remembers+`
		return {states: talk.all("stateChange").map(({state}) => state), text}`)
	expect.Equal(t, got.Text, "Your name is Ada.", "the agent said")
	if s := h.OnlySession(); s.ID != before || !s.Recovered {
		t.Errorf("the service has session %s (recovered %v), it was %s", s.ID, s.Recovered, before)
	}
	expect.List(t, got.States, []string{"preparing", "connecting", "connected", "reconnecting", "connected"}, "states")

	h.Control("/recovery", map[string]any{"refuseNext": true})
	h.Control("/sessions/newest/drop", nil)
	var rebuilt struct {
		Text, Thread string
		Picture      seen
		Peers        int
		Shown        []string
		Sent         bool
	}
	p.Do(&rebuilt, `
		await talk.until("reconnected", ({recovered}) => !recovered)
		const {session} = talk
		const seen = {picture: await picture(session.videoEl), peers: held().peers}
		session.pause()
		await session.resume()`+remembers+`
		return {...seen, text, thread: session.threadId, shown: talk.texts("user"), sent: session.kickoff.sent}`)
	if rebuilt.Text != "Your name is Ada." || rebuilt.Thread != thread {
		t.Errorf("the agent said %q on thread %s, which was %s", rebuilt.Text, rebuilt.Thread, thread)
	}
	rebuilt.Picture.want(t)
	if s := h.OnlySession(); s.ID == before || s.ThreadID != thread {
		t.Errorf("the service has session %s on thread %s", s.ID, s.ThreadID)
	}
	expect.Equal(t, rebuilt.Peers, 2, "peers are open")
	asked := []string{"What is my name?", "What is my name?"}
	if !slices.Equal(rebuilt.Shown, asked) || !rebuilt.Sent {
		t.Errorf("the visitor sees %q as their own words; sent %v", rebuilt.Shown, rebuilt.Sent)
	}
	expect.List(t, h.UserMessages(thread), append([]string{"My name is Ada."}, asked...), "the service was asked")
}
