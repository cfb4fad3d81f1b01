package netem

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pion/transport/v4/deadline"
)

// readSize is the most that is read from a wrapped connection at once: the largest datagram.
const readSize = 64 << 10

// inbound is the reading half of a wrapped connection. It reads directly until the conditions matter for the first time; from then on
// a goroutine reads ahead into a queue, because only so several pieces can travel at once.
type inbound struct {
	route   *route
	packets bool
	read    func([]byte) (int, net.Addr, error)
	limit   func(time.Time) error // the wrapped connection's SetReadDeadline

	reading sync.Mutex // one reader at a time
	rest    unit       // of a stream: what the last reader had no room for

	mu       sync.Mutex
	queue    *delayQueue
	shut     bool
	deadline *deadline.Deadline
}

func (in *inbound) readFrom(p []byte) (int, net.Addr, error) {
	in.reading.Lock()
	defer in.reading.Unlock()
	if len(in.rest.data) > 0 {
		return in.deliver(p, in.rest)
	}
	l, err := in.travelled()
	if err != nil {
		return 0, nil, err
	}
	if l == nil {
		n, addr, err := in.read(p)
		if err != nil || in.route.perfect() {
			return n, addr, in.explain(err)
		}
		// The conditions came while we waited: what was read has yet to travel.
		if l, err = in.start(); err == nil {
			err = l.put(unit{data: slices.Clone(p[:n]), addr: addr}, nil)
		}
		if err != nil {
			return 0, nil, err
		}
		l.link.start(func() { in.readAhead(l) })
	}
	u, err := l.take(in.deadline.Done())
	if err == nil {
		err = u.err
	}
	if err != nil {
		if u.err != nil {
			l.close(u.err) // an end stays the end for every later reader
		}
		return 0, nil, err
	}
	return in.deliver(p, u)
}

// deliver copies u to the reader. A datagram that doesn't fit is cut off, as by a socket.
func (in *inbound) deliver(p []byte, u unit) (int, net.Addr, error) {
	n := copy(p, u.data)
	in.rest = unit{}
	if !in.packets && n < len(u.data) {
		in.rest = unit{data: u.data[n:], addr: u.addr}
	}
	return n, u.addr, nil
}

// travelled returns the queue that reads come from, starting it if the conditions ask for one; nil means to read directly.
func (in *inbound) travelled() (*delayQueue, error) {
	in.mu.Lock()
	l := in.queue
	in.mu.Unlock()
	if l != nil || in.route.perfect() {
		return l, nil
	}
	l, err := in.start()
	if err == nil {
		l.link.start(func() { in.readAhead(l) })
	}
	return l, err
}

// start makes the queue. The wrapped connection's own deadline is lifted, because reading ahead must not fail by it.
func (in *inbound) start() (*delayQueue, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.shut {
		return nil, net.ErrClosed
	}
	in.queue = newDelayQueue(in.route.Load(), in.route, in.packets)
	return in.queue, in.limit(time.Time{})
}

func (in *inbound) readAhead(l *delayQueue) {
	stop := context.AfterFunc(l.ctx, in.interrupt)
	defer stop()
	buf := make([]byte, readSize)
	for {
		n, addr, err := in.read(buf)
		if n > 0 || (in.packets && err == nil) {
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

func (in *inbound) setDeadline(t time.Time) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.shut {
		return net.ErrClosed
	}
	in.deadline.Set(t)
	if in.queue != nil {
		return nil
	}
	return in.limit(t)
}

// close ends readers and the goroutine that reads ahead, also while the wrapped connection stays open a little longer.
func (in *inbound) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.shut {
		return
	}
	in.shut = true
	if in.queue != nil {
		in.queue.close(net.ErrClosed)
	}
	in.interrupt()
}

// interrupt ends a read of the wrapped connection.
func (in *inbound) interrupt() {
	_ = in.limit(time.Unix(1, 0)) // fails only on a connection that is closed already
}

// explain turns the time-out by which close ends a direct read into net.ErrClosed.
func (in *inbound) explain(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.shut {
		return net.ErrClosed
	}
	return err
}
