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

import (
	"encoding/json"
	"errors"
)

// Kind is the kind of an [Event].
type Kind string

// The kinds of events.
const (
	// Connected: the handshake is complete; in a server's Session only after a
	// recovery. What the client had kept to be sent is sent before.
	Connected Kind = "Connected"
	// Disconnected: a connection that was up has ended, for Reason.
	Disconnected Kind = "Disconnected"
	// ConnectError: one attempt to connect has failed, with Err. A [RefusedError]
	// is final, everything else is tried again as the options say.
	ConnectError Kind = "ConnectError"
	// Reconnecting: attempt number Attempt to connect again begins.
	Reconnecting Kind = "Reconnecting"
	// ReconnectFailed: the last attempt has failed. Nothing follows.
	ReconnectFailed Kind = "ReconnectFailed"
	// Message: the event Name has come in.
	Message Kind = "Message"
)

// Reason is why a connection has ended, as named in the official libraries.
type Reason string

// Reasons that a client sees (wire-protocol §1.9.4). After the first two and
// ParseError the client does not connect again.
const (
	ServerDisconnect Reason = "io server disconnect" // the server has sent a disconnect packet
	ClientDisconnect Reason = "io client disconnect" // Close was called
	PingTimeout      Reason = "ping timeout"         // no ping within the server's interval and time-out
	TransportClose   Reason = "transport close"      // the socket was closed
	TransportError   Reason = "transport error"      // the socket failed
	ForcedClose      Reason = "forced close"         // Reconnect was called
	ParseError       Reason = "parse error"          // the peer has broken the protocol or a bound
)

// Reasons that only a server's Session sees, besides PingTimeout, TransportClose,
// TransportError and ParseError.
const (
	ClientNamespaceDisconnect Reason = "client namespace disconnect" // the client has sent a disconnect packet
	ServerNamespaceDisconnect Reason = "server namespace disconnect" // Close was called or Serve returned
	ServerShuttingDown        Reason = "server shutting down"        // Server.Close was called
)

// Event is what has happened on a connection.
type Event struct {
	Kind Kind
	// Name and Args belong to Message. Args has the server's recovery offset as
	// one string more, when recovery is on.
	Name string
	Args Args
	// Reply answers a Message that asked for an acknowledgement; it is nil for
	// others. It may be called once, from any goroutine.
	Reply func(args ...any) error
	// Recovered belongs to Connected: id and state are those from before the
	// drop, and what was missed follows.
	Recovered bool
	// Reason belongs to Disconnected.
	Reason Reason
	// Err belongs to ConnectError, and to Disconnected where it says more than
	// Reason.
	Err error
	// Attempt belongs to Reconnecting and counts from 1 since the last connection.
	Attempt int
}

// Errors of calls, and details of a Disconnected event.
var (
	// ErrClosed: the connection is over.
	ErrClosed = errors.New("socketio: connection closed")
	// ErrDisconnected: the socket was closed before the answer came, or a call
	// needs one and there is none.
	ErrDisconnected = errors.New("socketio: disconnected")
	// ErrBufferFull: more is waiting to be sent than the options allow.
	ErrBufferFull = errors.New("socketio: send buffer full")
	// ErrSlowConsumer: Events was not read for too long.
	ErrSlowConsumer = errors.New("socketio: events were not taken in time")
	// ErrReplied: Reply was called twice.
	ErrReplied = errors.New("socketio: already acknowledged")
)

// RefusedError is a server's answer to a handshake it does not accept. A server
// returns one from Authorize to send Data along.
type RefusedError struct {
	Message string
	Data    json.RawMessage // nil when the server gave none
}

// Error returns the server's message.
func (e *RefusedError) Error() string { return "socketio: refused: " + e.Message }
