package peerstate

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

// TestCallsInTheOtherOrder: two changes close together, whose calls come in the other order.
func TestCallsInTheOtherOrder(t *testing.T) {
	state := "new"
	var states []string
	changed := handler("new", func() string { return state }, func(state string) { states = append(states, state) })
	state = "connected"
	changed("connected")
	changed("connecting")
	state = "closed"
	changed("closed")
	expect.List(t, states, []string{"connected", "closed"}, "states")
}
