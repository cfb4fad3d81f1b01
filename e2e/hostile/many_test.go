package hostile

import (
	"strings"
	"testing"
)

// TestFiftySessionsInOnePage connects fifty conversations at the same time, half of them with picture
// and voice, more than a browser gives sockets or decoders to. Each connects or fails with a code;
// after their ends nothing is left, and the next one works.
func TestFiftySessionsInOnePage(t *testing.T) {
	h, p := openPage(t)
	p.Allow("WebSocket is closed before the connection is established")
	p.Allow("Failed to load resource")
	p.Allow("Too many active WebMediaPlayers")
	var got struct {
		Outcomes map[string]int
		Left     []string
		Answer   string
	}
	p.Do(&got, `
		await load()
		const before = await holdings()
		const talks = await Promise.all(Array.from({length: 50}, (_, i) => agentOf({mode: i % 2 ? "avatar" : "chat"})))
		const outcomes = await Promise.all(talks.map(({session}) => within(outcome(() => session.connect()), 90_000)))
		await Promise.all(talks.map(({session}, i) => i % 3 ? session.dispose() : (session.disconnect(), session.dispose())))
		const after = await left(before)
		const next = await chatOf()
		await next.session.connect()
		await next.session.sendText("My name is Sam.")
		const {text} = await next.session.sendText("What is my name?")
		await next.session.dispose()
		return {outcomes: tally(outcomes), left: after, answer: text}`)
	t.Logf("outcomes %v", got.Outcomes)
	for outcome := range got.Outcomes {
		if outcome == "pending" || outcome == "internal_error" || strings.HasPrefix(outcome, "untyped") {
			t.Errorf("connecting came to %s", outcome)
		}
	}
	if got.Outcomes["undefined"] < 25 || got.Answer != "Your name is Sam." {
		t.Errorf("%d of 50 connected; the next answers %q", got.Outcomes["undefined"], got.Answer)
	}
	for _, left := range got.Left {
		t.Error("left: ", left)
	}
	h.AwaitNoSessions(h.Context())
}
