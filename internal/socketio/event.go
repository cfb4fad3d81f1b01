// Package socketio implements Engine.IO 4 and Socket.IO 5 over WebSocket, as a
// client (in a web page and natively, from the same source) and as a server (native
// only). It supports the default namespace: auth and query, text and binary
// events, acknowledgements, heartbeats, reconnection and connection-state recovery
// (protocol §1.6–1.9).
//
// [Client] dials, reconnects and reports through one channel of [Event]s.
// [Server] is an http.Handler that runs one function per [Session]. Arguments stay
// raw JSON ([Args]) until the receiver decodes them.
//
// The state of a client and of a session is owned by one goroutine each, the owner. Two
// more goroutines serve each connection: one reads, one writes. The owner never waits for
// the caller: when events are not received in time, the connection is not read for a
// while and then aborted, so memory stays bounded and Emit never waits for the receiver
// of Events.
//
// The package is responsible for framing, time limits of the transport and the replay
// after a lost connection. It contains no event's name or meaning, and must not import
// the runtime or the local service.
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
	// recovery. The events that a client has kept are sent before it.
	Connected Kind = "Connected"
	// Disconnected: a connection that was up has ended, for Reason.
	Disconnected Kind = "Disconnected"
	// ConnectError: one attempt to connect has failed, with Err. A [RefusedError]
	// is final; after other errors the client tries again as its options specify.
	ConnectError Kind = "ConnectError"
	// Reconnecting: attempt number Attempt to connect again begins.
	Reconnecting Kind = "Reconnecting"
	// ReconnectFailed: the last attempt has failed. No event follows.
	ReconnectFailed Kind = "ReconnectFailed"
	// Message: the event Name was received.
	Message Kind = "Message"
)

// Reason is why a connection has ended, with the names of the official libraries.
type Reason string

// Reasons in a client's events (protocol §1.9.4). After the first two and
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

// Reasons in the events of a server's Session only. It also uses PingTimeout,
// TransportClose, TransportError and ParseError.
const (
	ClientNamespaceDisconnect Reason = "client namespace disconnect" // the client has sent a disconnect packet
	ServerNamespaceDisconnect Reason = "server namespace disconnect" // Close was called or Serve returned
	ServerShuttingDown        Reason = "server shutting down"        // Server.Close was called
)

// Event reports something that happened on a connection.
type Event struct {
	Kind Kind
	// Name and Args are set for Message. With recovery, the last element of Args is the
	// server's recovery offset, a string.
	Name string
	Args Args
	// Reply acknowledges a Message that asked for an acknowledgement; it is nil for
	// others. It is called once, from any goroutine.
	Reply func(args ...any) error
	// Recovered is set for Connected: the session has the same id and state as before
	// the connection was lost, and the missed events follow.
	Recovered bool
	// Reason is set for Disconnected.
	Reason Reason
	// Err is set for ConnectError, and for Disconnected if it adds information to
	// Reason.
	Err error
	// Attempt is set for Reconnecting and counts from 1 since the last connection.
	Attempt int
}

// Errors of calls, and details of a Disconnected event.
var (
	// ErrClosed: the connection is over.
	ErrClosed = errors.New("socketio: connection closed")
	// ErrDisconnected: the connection was lost before the reply, or the call
	// needs a connection and there is none.
	ErrDisconnected = errors.New("socketio: disconnected")
	// ErrBufferFull: more is waiting to be sent than the options allow.
	ErrBufferFull = errors.New("socketio: send buffer full")
	// ErrSlowConsumer: Events was not read for too long.
	ErrSlowConsumer = errors.New("socketio: events were not taken in time")
)

// RefusedError is a server's refusal of a handshake. The function Authorize of a server
// returns it to send Data to the client.
type RefusedError struct {
	Message string
	Data    json.RawMessage // nil when the server sent none
}

// Error returns the server's message.
func (e *RefusedError) Error() string { return "socketio: refused: " + e.Message }
