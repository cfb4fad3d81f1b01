// Package live is the service's side of live sessions: what happens on one
// control-plane socket from the handshake to the clean-up (protocol §2 to
// §8, as the server sees it).
//
// A [Session] is one goroutine that owns its state. The socket, the brain, the
// voice, the microphone, the timers and the control address send it messages;
// nothing else touches it. The [Hub] starts one per socket, lists them, and counts
// the slots for pictures and voices.
//
// Session logic is plain Go over small interfaces, and its tests run in virtual time.
// The package is independent of the framing of events, of media packets, of brains
// and voices, and of HTTP.
package live
