// Package socketio speaks Engine.IO 4 and Socket.IO 5 over WebSocket, as a
// client (in a web page and natively, from one source) and as a server (native
// only). It covers the default namespace: auth and query, text and binary
// events, acknowledgements, heartbeats, reconnection and connection-state recovery
// (wire-protocol §1.6–1.9).
//
// [Client] dials, reconnects and reports through one channel of [Event]s.
// [Server] is an http.Handler that runs one function per [Session]. Arguments stay
// raw JSON ([Args]) until the receiver asks for a type.
//
// A client and a session are each one goroutine that owns their state. Two more
// serve each connection: one reads, one writes. The owner never waits for the user
// of the package: a reader of Events that is slow holds back the connection for a
// moment and then loses it, so memory stays bounded and Emit never waits for
// Events.
//
// The package owns framing, time limits of the transport and what is replayed
// after a drop. It contains no event's name or meaning, and must not import the
// runtime or the local service.
package socketio
