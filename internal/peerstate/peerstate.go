// Package peerstate reports the connection states of a peer in their order. pion calls its handler on a new goroutine for each change, so
// that the calls for two changes close together may be in the other order.
package peerstate

import (
	"sync"

	"github.com/pion/webrtc/v4"
)

// Watch calls changed, one call at a time, after the connection state of pc has changed. The state is the one that pc has at the time of
// the call: a state that lasted a moment may be left out, and the last call has the last state.
func Watch(pc *webrtc.PeerConnection, changed func(webrtc.PeerConnectionState)) {
	pc.OnConnectionStateChange(handler(webrtc.PeerConnectionStateNew, pc.ConnectionState, changed))
}

func handler[S comparable](last S, current func() S, changed func(S)) func(S) {
	var mu sync.Mutex
	return func(S) {
		mu.Lock()
		defer mu.Unlock()
		if state := current(); state != last {
			last = state
			changed(state)
		}
	}
}
