//go:build !js

package socketio

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// pipeEnd is one end of a socket that is made of Go channels.
type pipeEnd struct {
	in, out chan message
	down    chan struct{} // closed when either side has closed
	once    *sync.Once
}

var errPipeDown = errors.New("pipe: down")

func pipe(buffer int) (*pipeEnd, *pipeEnd) {
	there, back := make(chan message, buffer), make(chan message, buffer)
	down, once := make(chan struct{}), new(sync.Once)
	return &pipeEnd{there, back, down, once}, &pipeEnd{back, there, down, once}
}

func (p *pipeEnd) Read() (message, error) {
	select {
	case f := <-p.in: // messages sent before the end are read before it
		return f, nil
	default:
	}
	select {
	case f := <-p.in:
		return f, nil
	case <-p.down:
		return message{}, io.EOF
	}
}

func (p *pipeEnd) Write(f message) error {
	select {
	case p.out <- f:
		return nil
	case <-p.down:
		return errPipeDown
	}
}

func (p *pipeEnd) Close() error {
	p.Abort()
	return nil
}

func (p *pipeEnd) Abort() { p.once.Do(func() { close(p.down) }) }

// wire is a hand-driven server at the other end of a client's pipe.
type wire struct {
	t *testing.T
	*pipeEnd
}

// wires makes a client's dial hand its sockets' other ends to the test.
func wires(t *testing.T, o *ClientOptions) <-chan wire {
	ch := make(chan wire, 16)
	o.dial = func(context.Context, string, *ClientOptions) (transport, error) {
		a, b := pipe(64)
		ch <- wire{t, b}
		return a, nil
	}
	return ch
}

func (w wire) send(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if err := w.Write(message{data: []byte(text)}); err != nil {
			w.t.Fatalf("send %s: %v", text, err)
		}
	}
}

// expect reads the next messages, which must be these.
func (w wire) expect(texts ...string) {
	w.t.Helper()
	for _, want := range texts {
		f, err := w.Read()
		if err != nil {
			w.t.Fatalf("got %v, want %s", err, want)
		}
		if string(f.data) != want {
			w.t.Fatalf("got %s, want %s", f.data, want)
		}
	}
}

// expectEnd reads the end of the socket.
func (w wire) expectEnd() {
	w.t.Helper()
	if f, err := w.Read(); err == nil {
		w.t.Fatalf("got %s, want the end", f.data)
	}
}

const testOpen = `0{"sid":"e","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}`

// join plays the server's part of the handshake, without recovery.
func (w wire) join() {
	w.t.Helper()
	w.send(testOpen)
	w.expect(`40`)
	w.send(`40{"sid":"s1"}`)
}

func newTestClient(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	c := must.Get(NewClient("http://example.test", o))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// opened runs a test in virtual time with a client that dials; w has the other ends of its
// sockets.
func opened(t *testing.T, o ClientOptions, test func(t *testing.T, c *Client, w <-chan wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := wires(t, &o)
		c := newTestClient(t, o)
		c.Open()
		test(t, c, w)
	})
}

// connected is opened with a client that has joined, over s.
func connected(t *testing.T, o ClientOptions, test func(t *testing.T, c *Client, s wire, w <-chan wire)) {
	t.Helper()
	opened(t, o, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.join()
		expectEvents(t, c.Events(), "Connected")
		test(t, c, s, w)
	})
}

// next returns the next event, or the zero Event when the channel is closed.
func next(t *testing.T, events <-chan Event) Event {
	t.Helper()
	select {
	case ev := <-events:
		return ev
	case <-time.After(24 * time.Hour): // virtual
		t.Fatal("no event")
	}
	return Event{}
}

// expectKind takes one event, which must be of this kind.
func expectKind(t *testing.T, events <-chan Event, kind Kind) Event {
	t.Helper()
	ev := next(t, events)
	if ev.Kind != kind {
		t.Fatalf("got %s, want %v", describe(ev), kind)
	}
	return ev
}

// describe writes an event as one line, the way the tests compare them.
func describe(ev Event) string {
	switch ev.Kind {
	case Message:
		var raw []string
		for i := range len(ev.Args) {
			raw = append(raw, string(ev.Args[i]))
		}
		return ev.Name + "(" + strings.Join(raw, ",") + ")"
	case Disconnected:
		return "Disconnected " + string(ev.Reason)
	case ConnectError:
		return "ConnectError " + ev.Err.Error()
	case Connected:
		if ev.Recovered {
			return "Connected recovered"
		}
	case Reconnecting:
		return "Reconnecting " + strconv.Itoa(ev.Attempt)
	case "":
		return "closed"
	}
	return string(ev.Kind)
}

// expectEvents takes events, which must read like this.
func expectEvents(t *testing.T, events <-chan Event, want ...string) {
	t.Helper()
	var got []string
	for range want {
		got = append(got, describe(next(t, events)))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("\n got %q\nwant %q", got, want)
	}
}
