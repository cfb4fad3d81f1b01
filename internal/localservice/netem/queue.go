package netem

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// queueLimit bounds the bytes that travel in one direction of one connection. Beyond it, a stream's writer waits, as it would for
	// a full socket buffer; a packet is lost.
	queueLimit = 256 << 10
	// maxQueueing is how long a packet waits at most for the packets before it to be clocked out; routers drop at about this point.
	maxQueueing = 500 * time.Millisecond
	// segment is the size in bytes in which a stream is clocked out when bandwidth is limited: an Ethernet frame's worth.
	segment = 1460
)

// unit is one packet, one piece of a stream, or (with err set) the end of a stream.
type unit struct {
	data []byte
	addr net.Addr // packets only
	err  error
	due  time.Time
}

// delayQueue is one direction of one connection: a queue whose units become available when the link has carried them.
// It has one producer and one consumer.
type delayQueue struct {
	ctx     context.Context // of the link that runs the connection's goroutines
	route   *route          // to the conditions
	packets bool            // lose units instead of waiting

	mu    sync.Mutex
	queue []unit
	size  int
	taken bool      // the consumer works on a unit: it has not called take again
	clear time.Time // when the last unit is clocked out
	last  time.Time // when the last unit arrives

	filled chan struct{} // a unit was put
	freed  chan struct{} // a unit was taken

	closeOnce sync.Once
	closed    chan struct{}
	cause     error // why the queue was closed; set before closed is closed
}

func newDelayQueue(ctx context.Context, r *route, packets bool) *delayQueue {
	return &delayQueue{
		ctx: ctx, route: r, packets: packets,
		filled: make(chan struct{}, 1), freed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// close drops what is under way; put and take return cause from now on.
func (l *delayQueue) close(cause error) {
	l.closeOnce.Do(func() {
		l.cause = cause
		close(l.closed)
	})
}

// fill puts what it reads into the queue until read fails, and queues that error behind the data.
func (l *delayQueue) fill(size int, read func([]byte) (int, net.Addr, error)) {
	buf := make([]byte, size)
	for {
		n, addr, err := read(buf)
		if n > 0 || l.packets && err == nil {
			if l.put(unit{data: slices.Clone(buf[:n]), addr: addr}, nil) != nil {
				return
			}
		}
		if err != nil {
			_ = l.put(unit{err: err}, nil) // fails only when the queue is closed
			return
		}
	}
}

// receive is take for a queue that fill feeds: after the error that ended the reading, every later call returns that error too.
func (l *delayQueue) receive(expired <-chan struct{}) (unit, error) {
	u, err := l.take(expired)
	if err == nil && u.err != nil {
		err = u.err
		l.close(err)
	}
	return u, err
}

// put hands u to the link. A stream waits for room until expired is closed; a packet is lost when there is none. The data must not be
// changed afterwards.
func (l *delayQueue) put(u unit, expired <-chan struct{}) error {
	select {
	case <-l.closed:
		return l.cause
	case <-l.ctx.Done():
		return net.ErrClosed
	default:
	}
	for !l.enqueue(u) {
		if err := l.wait(l.freed, 0, nil, expired); err != nil {
			return err
		}
	}
	return nil
}

// enqueue adds u to the queue, or loses it. It returns false only if the queue of a stream is full.
func (l *delayQueue) enqueue(u unit) bool {
	c := l.route.conditions()
	if l.packets && u.err == nil && (c.Cut || rand.Float64() < c.Loss) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if u.err == nil && l.size > 0 && l.size+len(u.data) > queueLimit {
		return l.packets
	}
	now := time.Now()
	start := now
	if l.clear.After(now) {
		start = l.clear
	}
	if l.packets && start.Sub(now) > maxQueueing {
		return true
	}
	if c.Bandwidth > 0 {
		start = start.Add(time.Duration(float64(len(u.data)*8) / float64(c.Bandwidth) * float64(time.Second)))
	}
	l.clear = start
	u.due = start.Add(c.Delay)
	if c.Jitter > 0 {
		u.due = u.due.Add(rand.N(c.Jitter))
	}
	if u.due.Before(l.last) {
		u.due = l.last
	}
	l.last = u.due
	l.queue = append(l.queue, u)
	l.size += len(u.data)
	signal(l.filled)
	return true
}

// take waits for the next unit to arrive, until expired is closed.
func (l *delayQueue) take(expired <-chan struct{}) (unit, error) {
	for {
		u, ok, wait, changed := l.dequeue()
		if ok {
			return u, nil
		}
		if err := l.wait(l.filled, wait, changed, expired); err != nil {
			return unit{}, err
		}
	}
}

// wait returns nil when the queue is to be checked again: after ready or changed, or after d unless that is 0.
func (l *delayQueue) wait(ready <-chan struct{}, d time.Duration, changed, expired <-chan struct{}) error {
	var arrival <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		arrival = timer.C
	}
	select {
	case <-arrival:
	case <-ready:
	case <-changed:
	case <-expired:
		return os.ErrDeadlineExceeded
	case <-l.closed:
		return l.cause
	case <-l.ctx.Done():
		return net.ErrClosed
	}
	return nil
}

// dequeue returns the first unit if it has arrived; otherwise how long that will take (0: not before something is put or the
// conditions change) and the channel that is closed when the conditions change.
func (l *delayQueue) dequeue() (u unit, ok bool, wait time.Duration, changed <-chan struct{}) {
	st := l.route.Load().state.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = false
	if st.Cut {
		if l.packets {
			l.dropPackets()
		} else {
			return unit{}, false, 0, st.changed
		}
	}
	if len(l.queue) == 0 {
		return unit{}, false, 0, st.changed
	}
	if wait = time.Until(l.queue[0].due); wait > 0 {
		return unit{}, false, wait, st.changed
	}
	u = l.queue[0]
	l.queue[0] = unit{}
	l.queue = l.queue[1:]
	l.size -= len(u.data)
	l.taken = true
	signal(l.freed)
	return u, true, 0, nil
}

// idle returns whether the consumer has finished with every unit that was put, so that what passes the queue by overtakes nothing.
func (l *delayQueue) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == 0 && !l.taken
}

// dropPackets loses what is under way, but keeps the end of the stream.
func (l *delayQueue) dropPackets() {
	kept := l.queue[:0]
	for _, u := range l.queue {
		if u.err != nil {
			kept = append(kept, u)
		}
	}
	clear(l.queue[len(kept):])
	l.queue, l.size = kept, 0
}

// arrivesBy returns when the last unit that was put arrives.
func (l *delayQueue) arrivesBy() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
