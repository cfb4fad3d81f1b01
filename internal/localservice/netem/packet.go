package netem

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pion/transport/v4/deadline"
)

// PacketConn returns c as it looks at the near end of the link. A nil link returns c itself.
func PacketConn(c net.PacketConn, l *Link) net.PacketConn {
	if l == nil {
		return c
	}
	p := &packets{PacketConn: c}
	p.route.Store(l)
	p.in = inbound{route: &p.route, packets: true, deadline: deadline.New(), read: c.ReadFrom, limit: c.SetReadDeadline}
	return p
}

// packets is a net.PacketConn whose datagrams take the link's time, if they arrive at all.
type packets struct {
	net.PacketConn
	route route
	in    inbound

	mu   sync.Mutex
	out  *delayQueue
	shut bool
}

func (c *packets) ReadFrom(p []byte) (int, net.Addr, error) {
	return c.in.readFrom(p)
}

// WriteTo returns when the packet is under way; it may be lost there.
func (c *packets) WriteTo(p []byte, addr net.Addr) (int, error) {
	if c.route.perfect() {
		return c.PacketConn.WriteTo(p, addr)
	}
	out, err := c.outbound()
	if err == nil {
		err = out.put(unit{data: slices.Clone(p), addr: addr}, nil)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *packets) outbound() (*delayQueue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		return nil, net.ErrClosed
	}
	if c.out == nil {
		link := c.route.Load()
		c.out = newDelayQueue(link, &c.route, true)
		link.start(func() { c.deliver(c.out) })
	}
	return c.out, nil
}

func (c *packets) deliver(out *delayQueue) {
	for {
		u, err := out.take(nil)
		if err != nil {
			return
		}
		_, _ = c.PacketConn.WriteTo(u.data, u.addr) // a packet that can't be sent is a lost packet
	}
}

// Close loses what is under way.
func (c *packets) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	if c.out != nil {
		c.out.close(net.ErrClosed)
	}
	err := c.PacketConn.Close()
	c.in.close()
	return err
}

func (c *packets) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *packets) SetReadDeadline(t time.Time) error {
	return c.in.setDeadline(t)
}
