package socketio

import (
	"fmt"
	"slices"
	"time"
)

// maxStall bounds how long a connection stays unread because nothing is received from
// Events. It is below the usual ping time-out (20 s), so that the other side does not
// time out first.
const maxStall = 10 * time.Second

// endpoint is the common part of a Client and a Session. Except for the channels, it is
// used by the owner goroutine only.
type endpoint struct {
	calls chan func()   // run on the owner goroutine
	done  chan struct{} // closed when the owner has returned

	events eventQueue
	conn   *connection // nil while there is none
	paused bool        // conn is not read, because events is full
	stall  *time.Timer // maxStall, runs while paused
}

// newEndpoint returns an endpoint whose connection is not read while events of more than
// maxBytes wait to be received.
func newEndpoint(maxBytes int) endpoint {
	return endpoint{
		calls:  make(chan func()),
		done:   make(chan struct{}),
		events: eventQueue{ch: make(chan Event, 1), limit: maxBytes},
		stall:  stoppedTimer(),
	}
}

// stoppedTimer returns a timer that is started by Reset.
func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// do runs f on the owner goroutine and waits for it; false means that the
// owner has ended and f was not run.
func (e *endpoint) do(f func()) bool {
	ran := make(chan struct{})
	select {
	case e.calls <- func() { f(); close(ran) }:
		<-ran
		return true
	case <-e.done:
		return false
	}
}

// doErr is do for a function that may fail.
func (e *endpoint) doErr(f func() error) error {
	err := ErrClosed
	e.do(func() { err = f() })
	return err
}

// newEvent encodes an event on the caller's goroutine.
func newEvent(name string, values []any) (packet, error) {
	p := packet{typ: typeEvent, id: noID, name: name}
	if slices.Contains(reservedNames, name) {
		return p, fmt.Errorf("socketio: %q is a reserved event name", name)
	}
	var err error
	p.args, p.attachments, err = encodeArgs(values)
	return p, err
}

// receive handles a received event.
func (e *endpoint) receive(p packet) {
	ev := Event{Kind: Message, Name: p.name, Args: p.args}
	if p.id != noID {
		ev.Reply = e.replier(e.conn, p.id)
	}
	e.events.push(ev)
}

// replier returns the function that acknowledges one event, on the connection
// on which the event was received.
func (e *endpoint) replier(conn *connection, id int64) func(...any) error {
	return func(values ...any) error {
		args, attachments, err := encodeArgs(values)
		if err != nil {
			return err
		}
		return e.doErr(func() error {
			if e.conn != conn {
				return ErrDisconnected
			}
			ack := packet{typ: typeAck, id: id, args: args, attachments: attachments}
			if !conn.out.offer(ack.encode()...) {
				return ErrBufferFull
			}
			return nil
		})
	}
}

// input returns the channel to receive packets from: nil while there is no
// connection or while events is full. resumed is true when reading begins again
// after a pause, in which a heartbeat may have been missed.
func (e *endpoint) input() (in <-chan received, resumed bool) {
	paused := e.conn != nil && e.events.full()
	switch {
	case paused && !e.paused:
		e.stall.Reset(maxStall)
	case !paused && e.paused:
		e.stall.Stop()
		resumed = e.conn != nil
	}
	e.paused = paused
	if e.conn == nil || paused {
		return nil, resumed
	}
	return e.conn.in, resumed
}

const (
	// maxPendingEvents and, for a client, maxPendingBytes bound the events that were not
	// yet received from Events. Beyond them the socket is not read.
	maxPendingEvents = 256
	maxPendingBytes  = 4 << 20
)

// eventQueue keeps events until they are received from Events, so that the owner never
// blocks. It is used by the owner only.
type eventQueue struct {
	// ch has a buffer of one event, so that finish can send the last one without blocking.
	ch      chan Event
	pending []Event
	bytes   int
	limit   int // of bytes
}

func (q *eventQueue) push(ev Event) {
	q.pending = append(q.pending, ev)
	q.bytes += ev.Args.Size()
}

// head returns the channel and the event for a select; the channel is nil when there is no
// event.
func (q *eventQueue) head() (chan<- Event, Event) {
	if len(q.pending) == 0 {
		return nil, Event{}
	}
	return q.ch, q.pending[0]
}

// sent removes the head.
func (q *eventQueue) sent() {
	q.bytes -= q.pending[0].Args.Size()
	q.pending[0] = Event{} // so that its arguments can be freed
	q.pending = q.pending[1:]
}

func (q *eventQueue) full() bool {
	return len(q.pending) >= maxPendingEvents || q.bytes >= q.limit
}

// finish closes the channel. If last is not nil, it replaces the events that were not yet
// received.
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
