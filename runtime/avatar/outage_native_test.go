//go:build !js

package avatar

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// pipes is the listener of a server that is reached without sockets of the system, so that
// both sides are in one bubble of virtual time.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

// connect returns the client's end of a new connection.
func (p *pipes) connect() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accept <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestOutagesOfTheWholeWindow: the network is away for 1 to 20 s, a hundred times with other
// lengths and other waits between attempts, with real sockets; the session comes back each
// time, and counts its attempts from 1.
func TestOutagesOfTheWholeWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(10, 3))
	for run := range 100 {
		length := time.Second + time.Duration(random.Int64N(int64(19*time.Second)))
		if run < 4 {
			length = 20 * time.Second
		}
		hang := run%2 == 0
		online := run%4 == 3 // the browser reports the end of the outage
		synctest.Test(t, func(t *testing.T) { outage(t, length, hang, online) })
		if t.Failed() {
			t.Fatalf("run %d: an outage of %v, hanging %v", run, length, hang)
		}
	}
}

func outage(t *testing.T, length time.Duration, hang, online bool) {
	d := newDistant()
	defer d.Close()
	r := &rig{t: t}
	s, err := New(Options{ConversationURL: "http://localhost", Media: instead(&fakeMedia{}), Options: session.Options{
		Token: "token", GenieURL: new("https://brain.example"), HTTPClient: fakeservice.Reach(d, d.dial),
		OnEvent: r.Record,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Forget()
	began := time.Now()
	d.cut(length, hang)
	time.Sleep(length + time.Millisecond)
	if online {
		s.core.Work.Post(func() { s.network(true) })
		time.Sleep(100 * time.Millisecond)
		if state := s.Snapshot().State; state != Connected {
			t.Errorf("%v after the browser is online: %s", time.Since(began)-length, state)
		}
	}
	time.Sleep(longestReturn)
	if state := s.Snapshot().State; state != Connected {
		t.Errorf("%v after the end of the outage: %s", time.Since(began)-length, state)
	}
	if got := all[event.Reconnected](r); len(got) != 1 {
		t.Errorf("reconnected %v", got)
	}
	var attempts, want []int
	for _, c := range all[event.ConnectivityChanged](r) {
		if c.State == string(event.ReconnectRetry) {
			attempts = append(attempts, c.Attempt)
			want = append(want, len(attempts))
		}
	}
	if !slices.Equal(attempts, want) || len(attempts) == 0 {
		t.Errorf("attempts %v, want %v", attempts, want)
	}
}
