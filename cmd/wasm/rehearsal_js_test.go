//go:build js && wasm

package main

import (
	"syscall/js"
	"testing"
)

// rehearse is what js/src/rehearse.ts passes.
const rehearse = `{token: "rehearsal", conversationManagerUrl: "https://rehearsal.invalid", iceTransportPolicy: "relay",
	micStartMode: "deferred", pageLifecycleAware: false, networkAware: false, logger: () => {},
	idle: async () => { globalThis.slices = (globalThis.slices ?? 0) + 1 }}`

func TestARehearsalConnectsAndEnds(t *testing.T) {
	r := newRig(t)
	s := r.make(openRehearsal, eval(rehearse))
	if _, err := s.later("connect", nil); err != nil {
		t.Fatal(err)
	}
	if got := s.now("properties").Get("state").String(); got != "connected" {
		t.Errorf("state %q", got)
	}
	// The opening, the handshake, the join, the request for a session and for capacity, and
	// the two messages of the microphone.
	if n := js.Global().Get("slices").Int(); n < 7 {
		t.Errorf("%d idle moments, want 7 or more", n)
	}
	if _, err := s.later("dispose", nil); err != nil {
		t.Fatal(err)
	}
	if n := r.program.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
