package socketio

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

// transport is one WebSocket, or a test's stand-in for one.
type transport interface {
	// Read waits for the next message. io.EOF means that the peer has closed.
	Read() (message, error)
	Write(message) error
	// Close does the closing handshake; it may wait for the peer for a bounded time.
	Close() error
	// Abort ends the WebSocket at once, and unblocks Read and Write.
	Abort()
}

// message is one WebSocket message.
type message struct {
	binary bool
	data   []byte
}

// errTooBig is the error of a transport's Read for a message above the limit.
var errTooBig = fmt.Errorf("%w: message too big", errProtocol)

// flushTimeout bounds how long a connection that is being closed may wait for a peer
// that doesn't read.
const flushTimeout = 3 * time.Second

// connection is a transport with the two goroutines that read and write it. It
// belongs to one owner at a time, which receives from in.
type connection struct {
	t       transport
	in      chan received
	out     *sendQueue
	ended   bool          // close or abort was called; used by the owner only
	quit    chan struct{} // closed by close and abort: in is no longer received from
	written chan struct{} // closed when the writer has nothing left to write
	wg      *sync.WaitGroup
}

// newConnection starts serving t. Its goroutines, counted in wg, end after close
// or abort; then t is closed. At most limit bytes wait to be written. If complete is not
// nil, it is called by the reading goroutine whenever a packet has been read with all of
// its attachments, and when reading ends.
func newConnection(t transport, limit int, wg *sync.WaitGroup, complete func()) *connection {
	c := &connection{
		t: t, in: make(chan received), out: newSendQueue(limit),
		quit: make(chan struct{}), written: make(chan struct{}), wg: wg,
	}
	if complete == nil {
		complete = func() {}
	}
	wg.Go(func() { c.read(complete) })
	wg.Go(c.write)
	return c
}

// close writes the queued messages, and then closes the transport.
func (c *connection) close() {
	if !c.end(false) {
		return
	}
	c.wg.Go(func() {
		limit := time.NewTimer(flushTimeout)
		defer limit.Stop()
		select {
		case <-c.written:
		case <-limit.C:
			c.t.Abort()
		}
	})
}

// abort ends the connection without a closing handshake.
func (c *connection) abort() {
	if c.end(true) {
		c.wg.Go(c.t.Abort) // natively it may wait for the transport's own goroutines
	}
}

func (c *connection) end(discard bool) bool {
	if c.ended {
		return false
	}
	c.ended = true
	close(c.quit)
	c.out.close(discard)
	return true
}

// read decodes messages until the transport fails, the peer breaks the protocol
// or the connection ends.
func (c *connection) read(complete func()) {
	var d decoder
	defer complete()
	for {
		var in received
		m, err := c.t.Read()
		if err == nil {
			in, err = d.decode(m)
		}
		if err == nil && in.engine == 0 {
			continue // attachments are missing
		}
		if err == nil && d.pending == nil { // a heartbeat may come between a packet and its attachments
			complete()
		}
		in.err = err
		select {
		case c.in <- in:
		case <-c.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// write sends what is queued and closes the transport at the end.
func (c *connection) write() {
	defer close(c.written)
	for {
		messages, state := c.out.take()
		for _, m := range messages {
			if err := c.t.Write(m); err != nil {
				c.t.Abort() // read reports the error
				return
			}
		}
		switch state {
		case queueDiscarded:
			return
		case queueClosed:
			_ = c.t.Close() // fails when the peer has disconnected, which has the same effect
			return
		}
	}
}

// disconnectReason returns the reason for the end of a transport, and the error
// if it adds information to the reason.
func disconnectReason(err error) (Reason, error) {
	switch {
	case errors.Is(err, errProtocol):
		return ParseError, err
	case errors.Is(err, io.EOF):
		return TransportClose, nil
	}
	return TransportError, err
}

type queueState int

const (
	queueOpen      queueState = iota
	queueClosed               // the queued messages are still written
	queueDiscarded            // the queued messages are dropped
)

// sendQueue is the bounded queue between a connection's owner, which never waits,
// and its writer, which waits for the transport.
type sendQueue struct {
	limit int

	mu       sync.Mutex
	changed  sync.Cond
	messages []message
	bytes    int
	state    queueState
}

func newSendQueue(limit int) *sendQueue {
	q := &sendQueue{limit: limit}
	q.changed.L = &q.mu
	return q
}

// offer queues all messages of one packet, or none when they don't fit. A packet
// larger than the limit fits when nothing else waits.
func (q *sendQueue) offer(messages ...message) bool { return q.add(messages, q.limit) }

// push queues messages regardless of the limit. It is for heartbeats and handshakes, which
// are small, and for messages that another limit already bounds.
func (q *sendQueue) push(messages ...message) { q.add(messages, math.MaxInt) }

func (q *sendQueue) add(messages []message, limit int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := bytesOf(messages)
	if q.state != queueOpen || q.bytes > 0 && size > limit-q.bytes {
		return false
	}
	q.messages = append(q.messages, messages...)
	q.bytes += size
	q.changed.Signal()
	return true
}

// take waits for messages or the end of the queue. The returned messages count against the
// limit until the next call, because they are being written.
func (q *sendQueue) take() ([]message, queueState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes = bytesOf(q.messages)
	for len(q.messages) == 0 && q.state == queueOpen {
		q.changed.Wait()
	}
	messages := q.messages
	q.messages = nil
	return messages, q.state
}

func (q *sendQueue) close(discard bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state = queueClosed
	if discard {
		q.state, q.messages = queueDiscarded, nil
	}
	q.changed.Signal()
}

func bytesOf(messages []message) int {
	n := 0
	for _, m := range messages {
		n += len(m.data)
	}
	return n
}
