package socketio

import (
	"encoding/json"
	"errors"
)

// Kind says what an [Event] is.
type Kind int

// The kinds of events.
const (
	// Connected: the handshake is complete; on a server's Conn only after a
	// recovery. Emits buffered by the client have been sent before.
	Connected Kind = iota + 1
	// Disconnected: a connection that was up has ended, for Reason.
	Disconnected
	// ConnectError: one attempt to connect has failed, with Err. A [RefusedError]
	// is final, everything else is tried again as the options say.
	ConnectError
	// Reconnecting: attempt number Attempt to connect again begins.
	Reconnecting
	// ReconnectFailed: the last attempt has failed. Nothing follows.
	ReconnectFailed
	// Message: the peer has sent the event Name.
	Message
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Connected:
		return "Connected"
	case Disconnected:
		return "Disconnected"
	case ConnectError:
		return "ConnectError"
	case Reconnecting:
		return "Reconnecting"
	case ReconnectFailed:
		return "ReconnectFailed"
	case Message:
		return "Message"
	}
	return "unknown"
}

// Reason says why a connection has ended, in the words of the official
// libraries.
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

// Reasons that only a server's Conn sees, besides PingTimeout, TransportClose,
// TransportError and ParseError.
const (
	ClientNamespaceDisconnect Reason = "client namespace disconnect" // the client has sent a disconnect packet
	ServerNamespaceDisconnect Reason = "server namespace disconnect" // Close was called or Serve returned
	ServerShuttingDown        Reason = "server shutting down"        // Server.Close was called
)

// Event is one thing that happened on a connection, in order.
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
	// Err says more: on ConnectError always, on Disconnected where there is more
	// to say.
	Err error
	// Attempt belongs to Reconnecting and counts from 1.
	Attempt int
}

// Direction says which way an event that a Tap sees has gone.
type Direction string

// The two directions.
const (
	Incoming Direction = "in"
	Outgoing Direction = "out"
)

// Tap sees every event of a connection for debugging, in both directions and
// in order: incoming ones before they are on the Events channel, outgoing ones
// as they are handed to the socket or, by a server, kept for a recovery. Handshakes with their tokens, and
// acknowledgements, don't pass it. It runs on the connection's own goroutine:
// it must return at once and must not call methods of the connection.
type Tap func(dir Direction, name string, args Args)

// Errors of calls, and details of a Disconnected event.
var (
	// ErrClosed: the connection is over.
	ErrClosed = errors.New("socketio: connection closed")
	// ErrDisconnected: the socket went away before the answer came, or there was
	// none for something that needs one.
	ErrDisconnected = errors.New("socketio: disconnected")
	// ErrBufferFull: more is waiting to be sent than the options allow.
	ErrBufferFull = errors.New("socketio: send buffer full")
	// ErrSlowConsumer: Events was full for too long.
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

const (
	// maxPendingEvents and maxPendingBytes bound what waits for the reader of
	// Events. Beyond them the socket is not read.
	maxPendingEvents = 256
	maxPendingBytes  = 4 << 20
)

// eventQueue hands events over without making the owner wait. Only the owner
// uses it; the user of the package has the channel's other end.
type eventQueue struct {
	// ch holds one event, so that finish finds room for the last one.
	ch      chan Event
	pending []Event
	bytes   int
}

func newEventQueue() eventQueue { return eventQueue{ch: make(chan Event, 1)} }

func (q *eventQueue) push(ev Event) {
	q.pending = append(q.pending, ev)
	q.bytes += ev.Args.size()
}

// head returns what a select may send: the channel is nil when nothing waits.
func (q *eventQueue) head() (chan<- Event, Event) {
	if len(q.pending) == 0 {
		return nil, Event{}
	}
	return q.ch, q.pending[0]
}

// sent removes the head.
func (q *eventQueue) sent() {
	q.bytes -= q.pending[0].Args.size()
	q.pending[0] = Event{} // let its arguments go
	if q.pending = q.pending[1:]; len(q.pending) == 0 {
		q.pending = nil
	}
}

func (q *eventQueue) full() bool {
	return len(q.pending) >= maxPendingEvents || q.bytes >= maxPendingBytes
}

// finish closes the channel. Given a last event, it drops what nobody has taken
// so that this one is certain to be seen.
func (q *eventQueue) finish(last *Event) {
	if last != nil {
		select {
		case <-q.ch:
		default:
		}
		q.ch <- *last
	}
	q.pending = nil
	close(q.ch)
}
