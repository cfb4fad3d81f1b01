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
