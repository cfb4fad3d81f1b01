package netem

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pion/transport/v4/deadline"
)

const (
	// linger is how long a closed stream may go on delivering beyond the time of arrival of its last byte, as a kernel does for a closed
	// socket. It bounds what a peer that stops reading can hold.
	linger = time.Second
	// streamBuffer is the most, in bytes, that is read from a stream or written to it at once.
	streamBuffer = 8 << 10
)

// errDrained is queued behind the last byte by Close, errHalfClosed by CloseWrite.
var (
	errDrained    = errors.New("netem: drained")
	errHalfClosed = errors.New("netem: half closed")
)

// Conn returns the stream c as it looks at the near end of the link.
func Conn(c net.Conn, l *Link) net.Conn {
	s := &stream{Conn: c, readDeadline: deadline.New(), writeDeadline: deadline.New()}
	s.route.Store(l)
	s.in, s.out = newDelayQueue(l.ctx, &s.route, false), newDelayQueue(l.ctx, &s.route, false)
	l.start(func() {
		s.in.fill(streamBuffer, func(p []byte) (int, net.Addr, error) {
			n, err := c.Read(p)
			return n, nil, err
		})
	})
	l.start(s.deliver)
	return s
}

// Redirect moves a connection that [Conn] has wrapped to another link. What is under way keeps its time of arrival. Other
// connections stay as they are.
func Redirect(c net.Conn, l *Link) {
	if s, ok := c.(*stream); ok && s.route.Swap(l) != l {
		signal(s.in.filled) // the consumers have to look at the new conditions
		signal(s.out.filled)
	}
}

// stream is a net.Conn whose writes and reads take the link's time.
type stream struct {
	net.Conn
	route                       route
	in, out                     *delayQueue
	readDeadline, writeDeadline *deadline.Deadline

	reading sync.Mutex // one reader at a time
	rest    []byte     // what the last reader had no room for
	writing sync.Mutex // one writer at a time

	mu        sync.Mutex
	shut      bool
	lingering *time.Timer // runs while a closed stream delivers its last bytes
}

func (s *stream) Read(p []byte) (int, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if len(s.rest) == 0 {
		u, err := s.in.receive(s.readDeadline.Done())
		if err != nil {
			return 0, err
		}
		s.rest = u.data
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Write returns when the bytes are under way, which is before they arrive. A failure to deliver them is the error of a later Write.
func (s *stream) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.isShut() {
		return 0, net.ErrClosed
	}
	size := streamBuffer
	if s.route.conditions().Bandwidth > 0 {
		size = segment
	}
	done := 0
	for piece := range slices.Chunk(p, size) {
		if err := s.out.put(unit{data: slices.Clone(piece)}, s.writeDeadline.Done()); err != nil {
			return done, err
		}
		done += len(piece)
	}
	return done, nil
}

func (s *stream) isShut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut
}

// deliver writes what has travelled until the stream is closed or can't be written.
func (s *stream) deliver() {
	stop := context.AfterFunc(s.out.ctx, func() { _ = s.Conn.Close() }) // ends a read, and a write that the peer doesn't read
	defer stop()
	for {
		u, err := s.out.take(nil)
		if err == nil {
			err = u.err
		}
		if err == nil {
			_, err = s.Conn.Write(u.data)
		}
		if errors.Is(err, errHalfClosed) {
			if half, ok := s.Conn.(closeWriter); ok {
				err = half.CloseWrite()
			}
		}
		if err != nil {
			s.out.close(err)
			break
		}
	}
	_ = s.Conn.Close() // the error of the write counts
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lingering != nil {
		s.lingering.Stop()
	}
}

// closeWriter is what TCP connections have beyond net.Conn.
type closeWriter interface{ CloseWrite() error }

// CloseWrite closes the sending direction after the last byte. net/http needs it to let a refused upload read its answer.
func (s *stream) CloseWrite() error {
	if s.isShut() {
		return net.ErrClosed
	}
	return s.out.put(unit{err: errHalfClosed}, nil)
}

// Close ends reading and writing at once; bytes that are under way are still delivered.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return net.ErrClosed
	}
	s.shut = true
	s.in.close(net.ErrClosed)
	s.lingering = time.AfterFunc(time.Until(s.out.arrivesBy())+linger, func() { _ = s.Conn.Close(); s.out.close(net.ErrClosed) })
	if s.out.put(unit{err: errDrained}, nil) != nil { // nothing is delivered any more
		s.lingering.Stop()
		_ = s.Conn.Close()
	}
	return nil
}

func (s *stream) SetDeadline(t time.Time) error {
	s.readDeadline.Set(t)
	s.writeDeadline.Set(t)
	return nil
}

func (s *stream) SetReadDeadline(t time.Time) error {
	s.readDeadline.Set(t)
	return nil
}

func (s *stream) SetWriteDeadline(t time.Time) error {
	s.writeDeadline.Set(t)
	return nil
}
