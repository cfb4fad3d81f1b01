package netem

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/pion/transport/v4/deadline"
)

// largestDatagram is the most, in bytes, that is read at once.
const largestDatagram = 64 << 10

// PacketConn wraps c so that its packets travel over the link. A nil link returns c itself.
func PacketConn(c net.PacketConn, l *Link) net.PacketConn {
	if l == nil {
		return c
	}
	p := &packets{PacketConn: c, deadline: deadline.New()}
	p.route.Store(l)
	p.in, p.out = newDelayQueue(l.ctx, &p.route, true), newDelayQueue(l.ctx, &p.route, true)
	l.start(func() { p.in.fill(largestDatagram, c.ReadFrom) })
	l.start(p.deliver)
	return p
}

// packets is a net.PacketConn whose datagrams are delayed by the link, or lost.
type packets struct {
	net.PacketConn
	route    route
	in, out  *delayQueue
	deadline *deadline.Deadline // of reads
}

// ReadFrom truncates a datagram that doesn't fit, as a socket does.
func (c *packets) ReadFrom(p []byte) (int, net.Addr, error) {
	u, err := c.in.receive(c.deadline.Done())
	return copy(p, u.data), u.addr, err
}

// WriteTo returns when the packet is queued or, on a perfect link where no packet waits, sent. A queued packet may still be lost.
func (c *packets) WriteTo(p []byte, addr net.Addr) (int, error) {
	if c.route.conditions() == (Conditions{}) && c.out.idle() {
		return c.PacketConn.WriteTo(p, addr) // all media are sent here: avoid the goroutine of the queue
	}
	if err := c.out.put(unit{data: slices.Clone(p), addr: addr}, nil); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *packets) deliver() {
	stop := context.AfterFunc(c.out.ctx, func() { _ = c.PacketConn.Close() }) // unblocks a read
	defer stop()
	for {
		u, err := c.out.take(nil)
		if err != nil {
			return
		}
		_, _ = c.PacketConn.WriteTo(u.data, u.addr) // a packet that can't be sent is a lost packet
	}
}

// Close drops the packets that are under way.
func (c *packets) Close() error {
	c.in.close(net.ErrClosed)
	c.out.close(net.ErrClosed)
	return c.PacketConn.Close()
}

func (c *packets) SetDeadline(t time.Time) error {
	c.deadline.Set(t)
	return c.SetWriteDeadline(t)
}

func (c *packets) SetReadDeadline(t time.Time) error {
	c.deadline.Set(t)
	return nil
}
