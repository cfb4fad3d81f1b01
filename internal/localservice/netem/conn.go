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
	// socket. It bounds how long a peer that stops reading can keep the connection.
	linger = time.Second
	// streamBuffer is the most, in bytes, that is read from a stream or written to it at once.
	streamBuffer = 8 << 10
)

// errDrained is queued behind the last byte by Close, errHalfClosed by CloseWrite.
var (
	errDrained    = errors.New("netem: drained")
	errHalfClosed = errors.New("netem: half closed")
)

// Conn wraps the stream c so that its bytes travel over the link.
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
		signal(s.in.filled) // wake the consumers, because the conditions have changed
		signal(s.out.filled)
	}
}

// stream is a net.Conn whose writes and reads are delayed by the link.
type stream struct {
	net.Conn
	route                       route
	in, out                     *delayQueue
	readDeadline, writeDeadline *deadline.Deadline

	reading sync.Mutex // one reader at a time
	rest    []byte     // data that did not fit into the buffer of the last Read
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

// Write returns when the bytes are queued, which is before they arrive. A failure to deliver them is the error of a later Write.
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

// deliver writes the data that has arrived, until the stream is closed or a write fails.
func (s *stream) deliver() {
	stop := context.AfterFunc(s.out.ctx, func() { _ = s.Conn.Close() }) // unblocks a read, and a write to a peer that doesn't read
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
			if half, ok := s.Conn.(interface{ CloseWrite() error }); ok { // TCP has it
				err = half.CloseWrite()
			}
		}
		if err != nil {
			s.out.close(err)
			break
		}
	}
	_ = s.Conn.Close() // the error of the write is the one that is reported
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lingering != nil {
		s.lingering.Stop()
	}
}

// CloseWrite closes the sending direction after the last byte. net/http needs it so that a client whose upload was refused can read the
// response.
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
