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

// linger is how long a closed stream may go on delivering beyond the time of arrival of its last byte, as a kernel does for a closed
// socket. It bounds what a peer that stops reading can hold.
const linger = time.Second

// errDrained is queued behind the last byte by Close, errHalfClosed by CloseWrite.
var (
	errDrained    = errors.New("netem: drained")
	errHalfClosed = errors.New("netem: half closed")
)

// Conn returns the stream c as it looks at the near end of the link. A nil link returns c itself.
func Conn(c net.Conn, l *Link) net.Conn {
	if l == nil {
		return c
	}
	s := &stream{Conn: c, deadline: deadline.New()}
	s.route.Store(l)
	s.in = inbound{
		route: &s.route, deadline: deadline.New(), limit: c.SetReadDeadline,
		read: func(p []byte) (int, net.Addr, error) {
			n, err := c.Read(p)
			return n, nil, err
		},
	}
	return s
}

// Redirect moves a connection that [Conn] has wrapped to another link. What is under way keeps its time of arrival. Other
// connections stay as they are.
func Redirect(c net.Conn, l *Link) {
	s, ok := c.(*stream)
	if !ok || s.route.Swap(l) == l {
		return
	}
	s.mu.Lock()
	out := s.out
	s.mu.Unlock()
	s.in.mu.Lock()
	in := s.in.queue
	s.in.mu.Unlock()
	for _, queue := range []*delayQueue{in, out} {
		if queue != nil {
			signal(queue.filled) // its consumer has to look at the new conditions
		}
	}
}

// stream is a net.Conn whose writes and reads take the link's time.
type stream struct {
	net.Conn
	route route
	in    inbound

	writing sync.Mutex // one writer at a time

	mu        sync.Mutex
	out       *delayQueue
	shut      bool
	lingering *time.Timer        // runs while a closed stream delivers its last bytes
	deadline  *deadline.Deadline // of writes
}

func (s *stream) Read(p []byte) (int, error) {
	n, _, err := s.in.readFrom(p)
	return n, err
}

// Write returns when the bytes are under way, which is before they arrive. A failure to deliver them is the error of a later Write.
func (s *stream) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	out, err := s.outbound()
	if err != nil {
		return 0, err
	}
	if out == nil {
		return s.Conn.Write(p)
	}
	size := readSize
	if s.route.conditions().Bandwidth > 0 {
		size = segment
	}
	for done := 0; done < len(p); done += size {
		piece := p[done:min(done+size, len(p))]
		if err := out.put(unit{data: slices.Clone(piece)}, s.deadline.Done()); err != nil {
			return done, err
		}
	}
	return len(p), nil
}

// outbound returns the queue that writes go to, starting it if the conditions ask for one; nil means to write directly.
func (s *stream) outbound() (*delayQueue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, net.ErrClosed
	}
	if s.out == nil && !s.route.perfect() {
		if err := s.Conn.SetWriteDeadline(time.Time{}); err != nil {
			return nil, err
		}
		link := s.route.Load()
		out := newDelayQueue(link, &s.route, false)
		link.start(func() { s.deliver(out) })
		s.out = out
	}
	return s.out, nil
}

// deliver writes what has travelled until the stream is closed or can't be written.
func (s *stream) deliver(out *delayQueue) {
	stop := context.AfterFunc(out.ctx, func() { _ = s.Conn.Close() }) // ends a write that the peer doesn't read
	defer stop()
	for {
		u, err := out.take(nil)
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
			out.close(err)
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
	half, ok := s.Conn.(closeWriter)
	if !ok {
		return errors.ErrUnsupported
	}
	out, err := s.outbound()
	if err != nil {
		return err
	}
	if out == nil {
		return half.CloseWrite()
	}
	return out.put(unit{err: errHalfClosed}, nil)
}

// Close ends reading and writing at once; bytes that are under way are still delivered.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return net.ErrClosed
	}
	s.shut = true
	if s.out == nil {
		err := s.Conn.Close()
		s.in.close()
		return err
	}
	s.in.close()
	s.lingering = time.AfterFunc(time.Until(s.out.arrivesBy())+linger, func() { _ = s.Conn.Close(); s.out.close(net.ErrClosed) })
	if s.out.put(unit{err: errDrained}, nil) != nil {
		s.lingering.Stop()
		return s.Conn.Close()
	}
	return nil
}

func (s *stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

func (s *stream) SetReadDeadline(t time.Time) error {
	return s.in.setDeadline(t)
}

func (s *stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline.Set(t)
	if s.out != nil {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}
