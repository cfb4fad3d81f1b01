// Package socketio speaks Engine.IO 4 and Socket.IO 5 over WebSocket, as a
// client (in a web page and natively, from one source) and as a server (native
// only). It covers the default namespace: auth and query, text and binary
// events and acknowledgements in both directions, heartbeats, reconnection and
// connection-state recovery (wire-protocol §1.6–1.9).
//
// [Client] dials, reconnects and reports through one channel of [Event]s.
// [Server] is an http.Handler that runs one function per session with a [Conn].
// Arguments stay raw JSON ([Args]) until the receiver asks for a type.
//
// Each connection is one goroutine that owns its state. Two more serve the
// socket: one reads, one writes. The owner never waits for the user of the
// package: a reader of Events that is slow holds back the socket for a moment
// and then loses it, so memory stays bounded and Emit never waits for Events.
//
// The package owns framing, time limits of the transport and what is replayed
// after a drop. It must not know any event's name or meaning, and must not
// import the runtime or the local service.
//
// What differs in a page: a browser closes a WebSocket only with a handshake
// and only with code 1000 or 3000–4999, tells nothing about why a handshake
// failed, and never makes a writer wait. socket_js.go holds the page's own
// WebSocket behind the four methods of transport, socket_native.go
// github.com/coder/websocket.
package socketio
