package avatar

import (
	"slices"
	"testing"
)

func TestAWorkerConnectsWithoutANetwork(t *testing.T) {
	h, p := open(t)
	var got struct {
		Said []string
		Held struct{ Sessions, Peers, Sockets int }
	}
	p.Call(&got, "warmup.js", "aWorkerConnectsWithoutANetwork")
	if want := []string{"started", "connected"}; !slices.Equal(got.Said, want) {
		t.Errorf("the worker said %q, want %q", got.Said, want)
	}
	if got.Held.Sessions != 0 || got.Held.Peers != 0 || got.Held.Sockets != 0 {
		t.Errorf("the page holds %+v", got.Held)
	}
	if requests, sockets := h.Count("POST", "/"), h.Count("GET", "/socket.io/"); requests != 0 || sockets != 0 {
		t.Errorf("%d requests, %d sockets", requests, sockets)
	}
	if n := len(h.Sessions(h.Context())); n != 0 {
		t.Errorf("the service has %d sessions", n)
	}
}
