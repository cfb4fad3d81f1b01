// Package netem emulates bad networks: it delays, throttles, loses and cuts the traffic of the connections that are wrapped
// with it.
//
// A [Link] holds the [Conditions]; they can be replaced at any time and act on connections that are already open. [Listener] wraps
// what a server accepts (streams), [PacketConn] wraps a datagram socket. All that they carry passes a queue, in which it waits for
// its time of arrival.
//
// The conditions act on each connection, and on each direction of it, separately: a delay of 80 ms is 160 ms for a round trip, and a
// bandwidth of 1 Mbit/s is what each connection has, not what they share. Order is always kept; jitter changes only the time.
//
// The package is independent of what the bytes mean.
package netem

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conditions describe one direction of a link. The zero value is a perfect link.
type Conditions struct {
	// Delay is how long each byte or packet travels.
	Delay time.Duration
	// Jitter is the most that is added to Delay, uniformly distributed.
	Jitter time.Duration
	// Loss is the share of packets that are lost, 0 to 1. Streams lose nothing: their transport would retransmit the bytes.
	Loss float64
	// Bandwidth is in bits per second; 0 means no limit.
	Bandwidth int64
	// Cut stops everything: packets are lost, streams stop until Cut is false again.
	Cut bool
}

// Link is a network path whose conditions can be changed while connections use it. Its methods may be called concurrently.
type Link struct {
	state atomic.Pointer[state]

	mu     sync.Mutex // guards closed against tasks.Add
	closed bool
	tasks  sync.WaitGroup

	ctx    context.Context // ends with Close; a field because no call owns it
	cancel context.CancelFunc
}

// route is the link of a connection, which [Redirect] may replace.
type route struct{ atomic.Pointer[Link] }

// conditions returns the conditions of the link that the connection is on.
func (r *route) conditions() Conditions { return r.Load().Conditions() }

// state is one setting of the conditions; changed is closed when the next one replaces it.
type state struct {
	Conditions
	changed chan struct{}
}

// New returns a link with the conditions c.
func New(c Conditions) *Link {
	l := &Link{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.state.Store(&state{Conditions: c, changed: make(chan struct{})})
	return l
}

// Set replaces the conditions. What is already travelling keeps its time of arrival, unless the link is cut.
func (l *Link) Set(c Conditions) {
	old := l.state.Swap(&state{Conditions: c, changed: make(chan struct{})})
	close(old.changed)
}

// Conditions returns the conditions set last.
func (l *Link) Conditions() Conditions {
	return l.state.Load().Conditions
}

// Close ends every connection, drops what is under way, and returns when all goroutines of the link are gone. A connection that is
// wrapped afterwards can't be used. Close may be called more than once.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.tasks.Wait()
}

// start runs task on a goroutine that Close waits for, unless the link is closed already.
func (l *Link) start(task func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.tasks.Go(task)
	}
}

// Listener returns ln with every accepted connection wrapped by [Conn]. A nil link returns ln itself.
func Listener(ln net.Listener, l *Link) net.Listener {
	if l == nil {
		return ln
	}
	return &listener{Listener: ln, link: l}
}

type listener struct {
	net.Listener
	link *Link
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Conn(c, l.link), nil
}
