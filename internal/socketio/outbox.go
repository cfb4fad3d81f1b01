package socketio

import (
	"math"
	"sync"
)

type outboxState int

const (
	outboxOpen      outboxState = iota
	outboxClosed                // what was put in is still to be written
	outboxDiscarded             // nothing is
)

// outbox is the bounded queue between a link's owner, who never waits, and its
// writer, who waits for the socket.
type outbox struct {
	mu     sync.Mutex
	frames []frame
	bytes  int
	limit  int
	state  outboxState
	wake   chan struct{}
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1)}
}

// put queues all frames of one packet, or none when they don't fit. A packet
// larger than the limit fits when nothing else waits.
func (o *outbox) put(frames ...frame) bool { return o.add(frames, o.limit) }

// force queues frames whatever waits: heartbeats and handshakes, which are
// small, and what another bound has let through.
func (o *outbox) force(frames ...frame) { o.add(frames, math.MaxInt) }

func (o *outbox) add(frames []frame, limit int) bool {
	size := 0
	for _, f := range frames {
		size += len(f.data)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outboxOpen || o.bytes > 0 && size > limit-o.bytes {
		return false
	}
	o.frames = append(o.frames, frames...)
	o.bytes += size
	o.signal()
	return true
}

// take waits for frames or the end of the queue. What it returns still counts
// against the limit until the next call, because it is being written.
func (o *outbox) take() ([]frame, outboxState) {
	o.mu.Lock()
	o.bytes = 0
	for _, f := range o.frames {
		o.bytes += len(f.data)
	}
	for len(o.frames) == 0 && o.state == outboxOpen {
		o.mu.Unlock()
		<-o.wake
		o.mu.Lock()
	}
	defer o.mu.Unlock()
	frames := o.frames
	o.frames = nil
	return frames, o.state
}

func (o *outbox) close(discard bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = outboxClosed
	if discard {
		o.state, o.frames = outboxDiscarded, nil
	}
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
