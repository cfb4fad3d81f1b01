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
	p.Call(&got, "many.js", "fiftySessionsInOnePage")
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
