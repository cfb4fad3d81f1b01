// Package live is the service's side of live sessions: what happens on one
// control-plane socket from the handshake to the clean-up (wire-protocol §2 to
// §8, as the server sees it).
//
// A [Session] is one goroutine that owns its state. The socket, the brain, the
// voice, the ears, the timers and the control address send it messages; nothing
// else touches it. The [Hub] starts one per socket, knows who is there, and
// counts the slots for pictures and voices.
//
// Session logic is plain Go over small interfaces and runs in virtual time. The
// package must not know how a socket frames its events, how media is packed, how
// a brain thinks or a voice sounds, and nothing of HTTP.
package live
