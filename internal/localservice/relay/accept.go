package relay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// greeting is how long a TCP connection may take to send its first message, idle how long it may stay silent later. TURN clients
	// refresh permissions every five minutes.
	greeting = 10 * time.Second
	idle     = 10 * time.Minute
	// writeStall is how long a client may leave a full connection unread.
	writeStall = 10 * time.Second
)

var errFrame = errors.New("relay: not a TURN message")

// group is what is open and has to be closed with the server; pion's server closes neither TCP connections nor relayed addresses.
type group[T interface {
	comparable
	io.Closer
}] struct {
	mu     sync.Mutex
	open   map[T]bool
	closed bool
}

// add reports whether the group takes c.
func (g *group[T]) add(c T) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	if g.open == nil {
		g.open = map[T]bool{}
	}
	g.open[c] = true
	return true
}

// remove reports whether c was in the group.
func (g *group[T]) remove(c T) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	had := g.open[c]
	delete(g.open, c)
	return had
}

// close closes all members, and refuses new ones.
func (g *group[T]) close() {
	g.mu.Lock()
	open := g.open
	g.open, g.closed = nil, true
	g.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
}

type listener struct {
	net.Listener
	conns *group[net.Conn]
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.conns.add(c) {
			return &conn{Conn: c, conns: l.conns, frames: frameReader{r: bufio.NewReader(c)}, patience: greeting}, nil
		}
		_ = c.Close()
	}
}

// conn is a TCP connection with deadlines, whose Read returns one whole TURN message.
type conn struct {
	net.Conn
	conns    *group[net.Conn]
	frames   frameReader
	patience time.Duration
}

func (c *conn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	c.patience = idle
	return c.frames.Read(p)
}

func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeStall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		_ = c.Close() // half a message may have been written: nothing after it could be understood
	}
	return n, err
}

func (c *conn) Close() error {
	c.conns.remove(c.Conn)
	return c.Conn.Close()
}

// frameReader splits a TCP stream into TURN messages (RFC 8656 §12.5 and RFC 8489 §6.2.2). pion does so too, but adds lengths in 16 bits:
// a length field near 65535 overflows to a message of no bytes, which pion then reads in an endless loop.
type frameReader struct {
	r *bufio.Reader
}

// Sizes of the framing, in bytes.
const (
	frameLengthEnd    = 4  // type or channel number, then length: in both kinds of message
	stunHeader        = 20 // what a STUN length doesn't count
	channelHeader     = 4
	channelPadding    = 4 // a channel message is padded to a multiple of this
	firstChannel      = 0x4000
	lastChannel       = 0x7FFF
	largestSTUNPrefix = 0x3FFF
)

// Read reads one message into p. A message larger than p is an error.
func (f *frameReader) Read(p []byte) (int, error) {
	head, err := f.r.Peek(frameLengthEnd)
	if err != nil {
		return 0, err
	}
	kind, size := binary.BigEndian.Uint16(head), int(binary.BigEndian.Uint16(head[2:]))
	switch {
	case kind <= largestSTUNPrefix:
		size += stunHeader
	case kind >= firstChannel && kind <= lastChannel:
		size = channelHeader + (size+channelPadding-1)/channelPadding*channelPadding
	default:
		return 0, errFrame
	}
	if size > len(p) {
		return 0, errFrame
	}
	return io.ReadFull(f.r, p[:size])
}
