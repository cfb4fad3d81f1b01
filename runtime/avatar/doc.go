// Package avatar is the live session: an agent with a face and a voice, that
// hears the visitor (session-api part A.1, wire-protocol §2 to §8).
//
// A [Session] is one serial queue that owns the session's state. The socket's
// reader, timers, peers, requests and callers hand it functions to run; nothing
// else touches the state, and there is no mutex around it. What callers may read
// at any time is a [Snapshot] that the queue publishes; what listeners hear is a
// second queue, so that a slow or re-entrant listener never holds the session up.
//
// The package knows the control plane and asks interfaces for media ([Media])
// and sockets ([Socket]). It must not import syscall/js, and must not know
// whether it runs in a page.
package avatar
