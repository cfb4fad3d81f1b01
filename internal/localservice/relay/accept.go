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

// acceptor tracks the TCP connections of the server, because pion's server doesn't close them.
type acceptor struct {
	mu   sync.Mutex
	open map[net.Conn]bool // nil once closed
}

func newAcceptor() *acceptor {
	return &acceptor{open: map[net.Conn]bool{}}
}

func (a *acceptor) wrap(ln net.Listener) net.Listener {
	return &listener{Listener: ln, acceptor: a}
}

func (a *acceptor) add(c net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		return false
	}
	a.open[c] = true
	return true
}

func (a *acceptor) remove(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, c)
}

func (a *acceptor) close() {
	a.mu.Lock()
	open := a.open
	a.open = nil
	a.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
}

type listener struct {
	net.Listener
	acceptor *acceptor
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.acceptor.add(c) {
			return &conn{Conn: c, acceptor: l.acceptor, frames: frameReader{r: bufio.NewReader(c)}, patience: greeting}, nil
		}
		_ = c.Close()
	}
}

// conn is a TCP connection with deadlines, whose Read returns one whole TURN message.
type conn struct {
	net.Conn
	acceptor *acceptor
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
	c.acceptor.remove(c.Conn)
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
