//go:build !js

package avatar

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
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

// network joins a session's sockets to a server.
type network struct {
	*pipes

	mu    sync.Mutex
	down  chan struct{} // closed at the end of the outage; nil without one
	hang  bool          // a dial during the outage gets no reply instead of an error
	conns []net.Conn
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	down, hang := n.down, n.hang
	n.mu.Unlock()
	if down != nil {
		if hang {
			<-n.closed // a packet that was lost is not sent again
			return nil, net.ErrClosed
		}
		return nil, errors.New("no route to host")
	}
	c, err := n.connect()
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, c)
	return c, nil
}

// cut ends every connection, and refuses new ones or leaves them hanging for that long.
func (n *network) cut(hang bool, length time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down, n.hang = make(chan struct{}), hang
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
	time.AfterFunc(length, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		close(n.down)
		n.down = nil
	})
}

// serve plays the service's part of the handshake. Every event is also given to heard.
func serve(_ context.Context, c *socketio.Session, heard func(socketio.Event)) {
	say := func(name string, payload any) { _ = c.Emit(name, payload) }
	say(signaling.ServerConnected, signaling.Hello{})
	for ev := range c.Events() {
		heard(ev)
		switch ev.Name {
		case signaling.Join:
			say(signaling.ClientConfig, signaling.ConfigurationEnvelope{})
			say(signaling.JoinComplete, signaling.Empty{})
		case signaling.StvNewSession:
			say(signaling.StvNewSession, signaling.StvNewSessionReply{SessionID: "s-1", Status: "ok", WebRTCURL: "https://media.example/whep/s-1"})
			say(signaling.ShowAgent, signaling.Empty{})
			say(signaling.AskPermissions, signaling.PermissionRequest{})
		case signaling.ASRInit:
			say(signaling.ASRReady, signaling.Empty{})
		case signaling.ASROffer:
			say(signaling.ASRAnswer, signaling.Answer{Answer: signaling.Description{Type: "answer", SDP: "v=0"}})
		}
	}
}

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
	n := &network{pipes: newPipes()}
	server := socketio.NewServer(socketio.ServerOptions{Recovery: socketio.DefaultRecovery, Serve: func(ctx context.Context, c *socketio.Session) {
		serve(ctx, c, func(socketio.Event) {})
	}})
	host := http.Server{Handler: server}
	hosted := make(chan struct{})
	go func() {
		defer close(hosted)
		_ = host.Serve(n)
	}()
	before := http.DefaultTransport
	http.DefaultTransport = &http.Transport{DialContext: n.dial}
	defer func() { http.DefaultTransport = before }()

	r := &rig{t: t}
	r.media = &fakeMedia{}
	s, err := New(Options{ConversationURL: "http://localhost", Media: instead(r.media), Options: session.Options{
		Token: "token", GenieURL: new("https://brain.example"), HTTPClient: fetch.As(&fakeHTTP{status: 200}),
		OnEvent: r.Record,
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.Session = s
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Forget()
	began := time.Now()
	n.cut(hang, length)
	time.Sleep(length + time.Millisecond)
	if online {
		s.core.Work.Post(func() { s.network(true) })
		time.Sleep(100 * time.Millisecond)
		if state := s.Snapshot().State; state != Connected {
			t.Errorf("%v after the browser is online: %s", time.Since(began)-length, state)
		}
	}
	// In the worst case an attempt that gets no reply has just begun, and a wait follows it.
	time.Sleep(reconnectTimeout + 2*time.Second + 100*time.Millisecond)
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
	s.Close()
	_ = host.Close()
	_ = server.Close()
	<-hosted
}
