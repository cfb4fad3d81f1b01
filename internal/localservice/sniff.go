package localservice

import (
	"bufio"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
)

const (
	// sniffTimeout is how long a client may take to say what it wants.
	sniffTimeout = 10 * time.Second
	// maxUnsniffed bounds the connections that have not said it yet.
	maxUnsniffed = 256
)

// socketRequest is how a connection begins that will be a control socket.
const socketRequest = "GET " + live.SocketPath

// splitter is a listener for one port on which two links meet: control sockets
// go over one and everything else over the other, so that a test can break one
// of them alone. The first bytes of a connection tell which it is; a browser
// never sends a control socket over a connection that served something else.
type splitter struct {
	net.Listener
	sockets, rest *netem.Link

	ready  chan net.Conn
	silent queue // connections that have not said what they want
	done   chan struct{}
	once   sync.Once
	tasks  sync.WaitGroup
	err    error // of the listener, readable when done is closed
}

func newSplitter(l net.Listener, sockets, rest *netem.Link) *splitter {
	s := &splitter{
		Listener: l, sockets: sockets, rest: rest, ready: make(chan net.Conn), done: make(chan struct{}),
	}
	s.tasks.Go(s.run)
	return s
}

func (s *splitter) run() {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			s.once.Do(func() { s.err = err; close(s.done) })
			return
		}
		s.silent.add(c)
		s.tasks.Go(func() { s.sniff(c) })
	}
}

// queue is where connections wait while nobody knows what they want. When it is
// full, the one that has waited longest has to go: who says nothing must not
// keep those out who do.
type queue struct {
	mu    sync.Mutex
	conns []net.Conn // oldest first
}

func (q *queue) add(c net.Conn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.conns) == maxUnsniffed {
		_ = q.conns[0].Close() // which ends its wait
		q.conns = slices.Delete(q.conns, 0, 1)
	}
	q.conns = append(q.conns, c)
}

func (q *queue) remove(c net.Conn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.conns = slices.DeleteFunc(q.conns, func(other net.Conn) bool { return other == c })
}

// sniff reads as much of c as it takes, and hands it on with that put back.
func (s *splitter) sniff(c net.Conn) {
	quit := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.done:
			_ = c.SetReadDeadline(time.Now()) // wakes Peek
		case <-quit:
		}
	})
	_ = c.SetReadDeadline(time.Now().Add(sniffTimeout))
	r := bufio.NewReaderSize(c, len(socketRequest))
	start, err := peek(r)
	s.silent.remove(c)
	close(quit)
	watch.Wait()
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	if err != nil {
		_ = c.Close()
		return
	}
	l := s.rest
	if start == socketRequest {
		l = s.sockets
	}
	select {
	case s.ready <- netem.Conn(&peeked{c, r}, l):
	case <-s.done:
		_ = c.Close()
	}
}

// peek returns the first bytes of r, as many as it takes to know that they
// differ from socketRequest.
func peek(r *bufio.Reader) (string, error) {
	for n := 1; ; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return "", err
		}
		if n == len(socketRequest) || b[n-1] != socketRequest[n-1] {
			return string(b), nil
		}
	}
}

// peeked is a connection whose first bytes were read already.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// Accept implements [net.Listener].
func (s *splitter) Accept() (net.Conn, error) {
	select {
	case c := <-s.ready:
		return c, nil
	case <-s.done:
		return nil, s.err
	}
}

// Close implements [net.Listener]; it returns when no connection is being looked
// at any more.
func (s *splitter) Close() error {
	err := s.Listener.Close()
	s.once.Do(func() { s.err = net.ErrClosed; close(s.done) })
	s.tasks.Wait()
	return err
}
