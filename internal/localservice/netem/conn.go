package netem

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// linger is how long a closed stream may go on delivering beyond the time of arrival of its last byte, as a kernel does for a closed
// socket. It bounds what a peer that stops reading can hold.
const linger = time.Second

// errDrained is queued behind the last byte by Close, errHalfClosed by CloseWrite.
var (
	errDrained    = errors.New("link: drained")
	errHalfClosed = errors.New("link: half closed")
)

// Conn returns the stream c as it looks at the near end of the link. A nil link returns c itself.
func Conn(c net.Conn, l *Link) net.Conn {
	if l == nil {
		return c
	}
	s := &stream{Conn: c, link: l}
	s.in = inbound{
		link: l, limit: c.SetReadDeadline,
		read: func(p []byte) (int, net.Addr, error) {
			n, err := c.Read(p)
			return n, nil, err
		},
	}
	return s
}

// stream is a net.Conn whose writes and reads take the link's time.
type stream struct {
	net.Conn
	link *Link
	in   inbound

	writing sync.Mutex // one writer at a time

	mu       sync.Mutex
	out      *lane
	shut     bool
	patience *time.Timer // runs while a closed stream delivers its last bytes
	deadline deadline
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
	if s.link.Conditions().Bandwidth > 0 {
		size = segment
	}
	for done := 0; done < len(p); done += size {
		piece := p[done:min(done+size, len(p))]
		if err := out.put(unit{data: clone(piece)}, s.deadline.wait()); err != nil {
			return done, err
		}
	}
	return len(p), nil
}

// outbound returns the lane that writes go to, starting it if the conditions ask for one; nil means to write directly.
func (s *stream) outbound() (*lane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, net.ErrClosed
	}
	if s.out == nil && !s.link.perfect() {
		if err := s.Conn.SetWriteDeadline(time.Time{}); err != nil {
			return nil, err
		}
		out := newLane(s.link, false)
		s.link.start(func() { s.deliver(out) })
		s.out = out
	}
	return s.out, nil
}

// deliver writes what has travelled until the stream is closed or can't be written.
func (s *stream) deliver(out *lane) {
	stop := context.AfterFunc(s.link.ctx, func() { _ = s.Conn.Close() }) // ends a write that the peer doesn't read
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
	_ = s.Conn.Close() // nobody is left to tell
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.patience != nil {
		s.patience.Stop()
	}
}

// closeWriter is what TCP connections have beyond net.Conn.
type closeWriter interface{ CloseWrite() error }

// CloseWrite tells the peer, after the last byte, that no more will come. net/http needs it to let a refused upload read its answer.
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
	s.patience = time.AfterFunc(time.Until(s.out.arrivesBy())+linger, func() { _ = s.Conn.Close(); s.out.close(net.ErrClosed) })
	if s.out.put(unit{err: errDrained}, nil) != nil {
		s.patience.Stop()
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
	s.deadline.set(t)
	if s.out != nil {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}
