//go:build !js

package avatar

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

var writeScaling = flag.Bool("write-scaling", false, "simulate 10,000 sessions instead of 100, and write the table of docs/scaling.md")

const (
	few    = 100
	crowd  = 10_000 // sessions, with -write-scaling
	bubble = 500    // of them at once
)

// arrivals are the times at which sessions reached the service, since the simulation began.
type arrivals struct {
	mu sync.Mutex
	at []time.Duration
}

func (a *arrivals) add(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, at)
}

// peak returns the largest number of arrivals within any window of that length.
func (a *arrivals) peak(window time.Duration) int {
	slices.Sort(a.at)
	most, first := 0, 0
	for i, at := range a.at {
		for at-a.at[first] >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

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

// distant is the service of the sessions of one bubble. Everything but the network is real.
type distant struct {
	*pipes
	host   http.Server
	hosted sync.WaitGroup
	client *http.Client // opens the sessions' WebSockets

	mu        sync.Mutex
	server    *socketio.Server
	clients   []*socketio.Session
	reached   func() // is called with each connection that is made
	asked     func() // and with each question for a free avatar
	completed func() // and with each completion
	away      bool
	hang      bool // a dial while the service is away gets no reply instead of an error
}

func newDistant() *distant {
	d := &distant{pipes: newPipes()}
	d.server = socketio.NewServer(socketio.ServerOptions{Recovery: time.Minute, Serve: d.serve})
	d.host.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		server := d.server
		d.mu.Unlock()
		server.ServeHTTP(w, r)
	})
	d.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: d.dialContext}}
	d.hosted.Go(func() { _ = d.host.Serve(d.pipes) })
	return d
}

// Close ends the service with its connections.
func (d *distant) Close() {
	_ = d.server.Close()
	_ = d.host.Close()
	d.hosted.Wait()
}

// dialContext is one attempt to connect a socket.
func (d *distant) dialContext(context.Context, string, string) (net.Conn, error) {
	d.mu.Lock()
	away, hang, reached := d.away, d.hang, d.reached
	d.mu.Unlock()
	switch {
	case !away:
		if reached != nil {
			reached()
		}
		return d.connect()
	case hang:
		<-d.closed
		return nil, net.ErrClosed
	}
	return nil, errors.New("connection refused")
}

// dial is the [socketio.Dial] of the sessions.
func (d *distant) dial(url string, o socketio.ClientOptions) (socketio.Socket, error) {
	o.HTTPClient = d.client
	return socketio.NewClient(url, o)
}

// serve plays the service's part of the handshake, and refuses questions for an avatar.
func (d *distant) serve(_ context.Context, c *socketio.Session) {
	d.mu.Lock()
	d.clients = append(d.clients, c)
	d.mu.Unlock()
	say := func(name string, payload any) { _ = c.Emit(name, payload) }
	say(signaling.ServerConnected, signaling.Hello{})
	for ev := range c.Events() {
		switch ev.Name {
		case signaling.CheckAvailability:
			d.mu.Lock()
			if d.asked != nil {
				d.asked()
				say(signaling.AvailabilityResult, signaling.Availability{})
			}
			d.mu.Unlock()
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

// longestReturn is how long after an outage the last session is back: in the worst case an
// attempt that gets no reply has just begun, and a wait follows it.
const longestReturn = reconnectTimeout + 2*time.Second + 100*time.Millisecond

// cut breaks every connection. The service is reached again after that long.
func (d *distant) cut(length time.Duration, hang bool) {
	d.mu.Lock()
	d.away, d.hang = true, hang
	clients := d.clients
	d.mu.Unlock()
	for _, c := range clients {
		c.Drop()
	}
	time.AfterFunc(length, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.away = false
	})
}

// restart ends the service and starts it again at once, without its sessions.
func (d *distant) restart(reached *arrivals) {
	began := time.Now()
	d.mu.Lock()
	before := d.server
	d.server = socketio.NewServer(socketio.ServerOptions{Recovery: time.Minute, Serve: d.serve})
	d.clients = nil
	d.reached = func() { reached.add(time.Since(began)) }
	d.mu.Unlock()
	_ = before.Close()
	time.Sleep(2 * time.Second)
}

// many is any number of arrivals.
const many = -1

// simulation is something that happens to all sessions at the same moment.
type simulation struct {
	what    string
	rate    int // arrivals per second that are expected, in per cent of the sessions
	want    int // arrivals, in per cent of the sessions
	ended   int // sessions that have ended afterwards, counted from the first, in per cent
	meet    func(d *distant, sessions []*Session, reached *arrivals)
	reached arrivals
}

func outages(length time.Duration, hang bool) func(*distant, []*Session, *arrivals) {
	return func(d *distant, _ []*Session, reached *arrivals) {
		began := time.Now()
		d.mu.Lock()
		d.reached = func() { reached.add(time.Since(began)) }
		d.mu.Unlock()
		d.cut(length, hang)
		time.Sleep(length + longestReturn)
	}
}

// simulations come one after another in the life of each session.
func simulations() []*simulation {
	return []*simulation{
		{
			what: "the service is restarted and there at once", rate: 200, want: 100,
			meet: func(d *distant, _ []*Session, reached *arrivals) { d.restart(reached) },
		},
		{what: "it is away for 3 s and refuses connections", rate: 50, want: 100, meet: outages(3*time.Second, false)},
		{what: "it is away for 10 s and refuses connections", rate: 50, want: 100, meet: outages(10*time.Second, false)},
		{what: "it is away for 10 s and answers nothing", rate: 50, want: 100, meet: outages(10*time.Second, true)},
		{what: "it is away for 19.9 s and answers nothing", rate: 120, want: 100, meet: outages(19900*time.Millisecond, true)},
		{what: "all call `waitForCapacity()`: questions after the first", rate: 20, want: many, meet: waits},
		{what: "the service ends the conversations of one half: completions", ended: 50, meet: ends},
		{what: "the other half leaves, and no completion is accepted: completions", rate: 500, want: 50, ended: 100, meet: leaves},
	}
}

// waits makes all sessions ask for a free avatar for 20 s.
func waits(d *distant, sessions []*Session, reached *arrivals) {
	began := time.Now()
	d.mu.Lock()
	d.asked = func() {
		if time.Since(began) > 0 {
			reached.add(time.Since(began))
		}
	}
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var done sync.WaitGroup
	for _, s := range sessions {
		done.Go(func() { _, _ = s.WaitForCapacity(ctx, 0, 0) })
	}
	done.Wait()
}

// ends makes the service end the first half of the conversations.
func ends(d *distant, sessions []*Session, reached *arrivals) {
	began := time.Now()
	d.mu.Lock()
	d.completed = func() { reached.add(time.Since(began)) }
	clients := d.clients
	d.mu.Unlock()
	ended := map[string]bool{}
	for _, s := range sessions[:len(sessions)/2] {
		ended[s.opts.StickyID] = true
	}
	for _, c := range clients {
		if ended[c.Handshake().Query.Get("stickyId")] {
			_ = c.Close()
		}
	}
	time.Sleep(time.Minute)
}

// leaves makes the visitors of the other half end their conversations.
func leaves(d *distant, sessions []*Session, reached *arrivals) {
	began := time.Now()
	d.mu.Lock()
	d.completed = func() { reached.add(time.Since(began)) }
	d.mu.Unlock()
	for _, s := range sessions[len(sessions)/2:] {
		s.Disconnect(session.DisconnectOptions{})
	}
	time.Sleep(time.Minute)
}

// Do is a completion, which fails.
func (d *distant) Do(context.Context, *fetch.Request) (*fetch.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.completed()
	return &fetch.Response{Status: 503, Header: fetch.Header{"retry-after": "1"}, Body: noBody{}}, nil
}

// TestScale runs the simulations, with 100 sessions or with 10,000.
func TestScale(t *testing.T) {
	n, together := few, few
	if *writeScaling {
		n, together = crowd, bubble
	}
	all := simulations()
	for first := 0; first < n; first += together {
		synctest.Test(t, func(t *testing.T) { simulate(t, first, together, all) })
	}
	table := "| What all sessions meet at the same moment | expected in 1 s | most in 1 s | most in 100 ms |\n| --- | --- | --- | --- |\n"
	for _, sim := range all {
		row := fmt.Sprintf("| %s | %d |", sim.what, n*sim.rate/100)
		for _, window := range []time.Duration{time.Second, 100 * time.Millisecond} {
			most, expected := sim.reached.peak(window), float64(n*sim.rate)/100*window.Seconds()
			if bound := int(expected + 5*math.Sqrt(expected)); most > bound {
				t.Errorf("%s: %d arrivals in %v, want at most %d", sim.what, most, window, bound)
			}
			row += fmt.Sprintf(" %d |", most)
		}
		t.Log(row)
		if want := n * sim.want / 100; sim.want != many && len(sim.reached.at) != want {
			t.Errorf("%s: %d arrivals of %d sessions, want %d", sim.what, len(sim.reached.at), n, want)
		}
		table += row + "\n"
	}
	if *writeScaling && !t.Failed() {
		writeTable(t, table)
	}
}

func simulate(t *testing.T, first, together int, all []*simulation) {
	d := newDistant()
	sessions := make([]*Session, together)
	for i := range sessions {
		s := must.Get(New(Options{
			ConversationURL: "http://localhost",
			StickyID:        fmt.Sprintf("client%010d", first+i), Limits: signaling.Limits{HealthTick: time.Hour},
			Media: instead(&fakeMedia{}),
			Options: session.Options{
				Token: "token", ThreadID: "thread", GenieURL: new("https://brain.example"),
				HTTPClient: fakeservice.Reach(d, d.dial),
			},
		}))(t)
		var mu sync.Mutex // the random numbers are drawn on several goroutines
		random := rand.New(rand.NewPCG(0, uint64(first+i)))
		s.random = func() float64 {
			mu.Lock()
			defer mu.Unlock()
			return random.Float64()
		}
		sessions[i] = s
	}
	var connecting sync.WaitGroup
	for _, s := range sessions {
		connecting.Go(func() {
			if err := s.Connect(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	connecting.Wait()
	for _, sim := range all {
		sim.meet(d, sessions, &sim.reached)
		synctest.Wait()
		d.mu.Lock()
		d.reached = nil
		d.mu.Unlock()
		for i, s := range sessions {
			if state := s.Snapshot().State; state != Connected && i >= together*sim.ended/100 {
				t.Fatalf("%s: session %d is %s", sim.what, first+i, state)
			}
		}
	}
	for _, s := range sessions {
		s.Close()
	}
	d.Close()
}

// writeTable puts the table into the docs.
func writeTable(t *testing.T, table string) {
	const name, begin, end = "../../docs/scaling.md", "<!-- go test ./runtime/avatar -run TestScale -write-scaling writes this table -->\n\n", "\n<!-- end of the table -->"
	page := must.Get(os.ReadFile(name))(t)
	before, rest, found := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", name)
	}
	must.Do(t, os.WriteFile(name, []byte(before+begin+table+end+after), 0o644))
}
