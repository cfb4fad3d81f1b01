package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestAWorkerConnectsWithoutANetwork(t *testing.T) {
	h, p := open(t)
	var got struct {
		Said []string
		Held struct{ Sessions, Peers, Sockets int }
	}
	p.Call(&got, "warmup.js", "aWorkerConnectsWithoutANetwork")
	expect.List(t, got.Said, []string{"started", "connected"}, "the worker said")
	if got.Held.Sessions != 0 || got.Held.Peers != 0 || got.Held.Sockets != 0 {
		t.Errorf("the page holds %+v", got.Held)
	}
	if requests, sockets := h.Count("POST", "/"), h.Count("GET", "/socket.io/"); requests != 0 || sockets != 0 {
		t.Errorf("%d requests, %d sockets", requests, sockets)
	}
	expect.Equal(t, len(h.Sessions(h.Context())), 0, "the service has sessions")
}
