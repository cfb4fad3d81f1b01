package localservice_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// TestPushReachesALiveSocket (service.md, Threads: delivered).
func TestPushReachesALiveSocket(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{}, "silent")
	admin := adminToken(t, c.info)
	push := func() (reply struct{ Delivered bool }) {
		t.Helper()
		call(t, "KS "+admin, c.info.GenieURL+"/thread/push", map[string]any{"id": c.thread, "content": "Your table is ready."}, &reply)
		return reply
	}
	if !push().Delivered {
		t.Error("not delivered")
	}
	got := c.until("stvFinishedTalking")
	if names(got)[0] != "agent_start_speech" || got[len(got)-1].text("agentContent") != "Your table is ready." {
		t.Errorf("events %v, said %q", names(got), got[len(got)-1].text("agentContent"))
	}
	index(t, got, "agent_end_turn")
	c.control("end", nil)
	c.until("disconnect io server disconnect")
	if push().Delivered {
		t.Error("delivered after the socket was closed")
	}
}
