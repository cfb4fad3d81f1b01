//go:build !js

package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// host is a server whose sessions the test drives, reached through pipes.
type host struct {
	t *testing.T
	*Server
	sessions chan *Session
	ends     chan *Session // sessions whose ctx has ended
	last     *pipeEnd      // the server's end of the newest socket
}

func newHost(t *testing.T, o ServerOptions) *host {
	h := &host{t: t, sessions: make(chan *Session, 2000), ends: make(chan *Session, 2000)}
	if o.Serve == nil {
		o.Serve = func(ctx context.Context, c *Session) {
			h.sessions <- c
			<-ctx.Done()
			h.ends <- c
			time.Sleep(time.Nanosecond) // virtual: a session whose Serve has returned drops its last events
		}
	}
	h.Server = NewServer(o)
	t.Cleanup(func() { h.Close() })
	return h
}

// hosted runs f in virtual time with a server.
func hosted(t *testing.T, o ServerOptions, f func(t *testing.T, h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newHost(t, o)) })
}

// dial connects a Client.
func (h *host) dial(context.Context, string, *ClientOptions) (transport, error) {
	a, b := pipe(2048)
	h.last = b
	h.accept(b, Handshake{RemoteAddr: "pipe"})
	return a, nil
}

// raw connects a hand-driven client.
func (h *host) raw(buffer int) wire {
	a, b := pipe(buffer)
	h.last = b
	h.accept(b, Handshake{})
	return wire{h.t, a}
}

// client connects a Client and returns it with its session.
func (h *host) client(o ClientOptions) (*Client, *Session) {
	h.t.Helper()
	o.dial = h.dial
	c := newTestClient(h.t, o)
	c.Open()
	expectEvents(h.t, c.Events(), "Connected")
	return c, <-h.sessions
}

// open reads the open packet.
func (w wire) open() openPacket {
	w.t.Helper()
	f, err := w.Read()
	if err != nil || f.data[0] != engineOpen {
		w.t.Fatalf("got %s, %v; want an open packet", f.data, err)
	}
	return must.Get(decodeOpen(f.data[1:]))(w.t)
}

type joined struct {
	SID string `json:"sid"`
	PID string `json:"pid"`
}

// enter completes the handshake.
func (w wire) enter(auth string) joined {
	w.t.Helper()
	w.open()
	w.send(`40` + auth)
	return w.joined()
}

func (w wire) joined() joined {
	w.t.Helper()
	f, err := w.Read()
	if err != nil || !strings.HasPrefix(string(f.data), `40{`) {
		w.t.Fatalf("got %s, %v; want a connect packet", f.data, err)
	}
	var j joined
	must.Do(w.t, json.Unmarshal(f.data[2:], &j))
	return j
}

func TestServerAnnouncesItsNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := newHost(t, ServerOptions{}).raw(8).open()
		if open.PingInterval != 25000 || open.PingTimeout != 20000 || open.MaxPayload != 1_000_000 || open.SID == "" || open.Upgrades == nil {
			t.Errorf("got %+v", open)
		}
	})
}

func TestServerDeclaresPingTimeout(t *testing.T) {
	hosted(t, ServerOptions{PingInterval: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond}, func(t *testing.T, h *host) {
		w := h.raw(8)
		w.enter("")
		start := time.Now()
		c := <-h.sessions
		w.expect(`2`)
		w.send(`3`)
		w.expect(`2`)
		expectEvents(t, c.Events(), "Disconnected ping timeout", "closed")
		expect.Equal(t, time.Since(start), 800*time.Millisecond, "after")
		w.expectEnd()
	})
}

func TestServerDeclaresPingTimeoutBeforeTheHandshake(t *testing.T) {
	hosted(t, ServerOptions{PingInterval: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond}, func(t *testing.T, h *host) {
		w := h.raw(8)
		start := time.Now()
		w.open()
		w.expect(`2`)
		w.expectEnd()
		expect.Equal(t, time.Since(start), 500*time.Millisecond, "after")
	})
}

func TestServerClosesOnNonsense(t *testing.T) {
	for name, texts := range map[string][]string{
		"an event before the handshake": {`42["a"]`},
		"an unknown packet type":        {`4abc`},
		"a ping from a client":          {`2`},
		"an open from a client":         {`0{}`},
		"a connect with an array":       {`40[]`},
		"an event without an array":     {`40`, `42{}`},
		"an illegal id":                 {`40`, `42abc["a"]`},
		"a second connect":              {`40`, `40`},
		"a refusal from a client":       {`40`, `44{"message":"no"}`},
		"another namespace's event":     {`40`, `42/other,["a"]`},
		"a ping inside a session":       {`40`, `2`},
	} {
		t.Run(name, func(t *testing.T) {
			hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
				w := h.raw(8)
				w.open()
				for i, text := range texts {
					w.send(text)
					if i == 0 && len(texts) > 1 {
						w.joined()
					}
				}
				w.expectEnd()
				if len(texts) > 1 { // and the session is not kept
					expectEvents(t, (<-h.sessions).Events(), "Disconnected parse error", "closed")
				}
			})
		})
	}
}

func TestOtherNamespacesAreRefused(t *testing.T) {
	hosted(t, ServerOptions{}, func(t *testing.T, h *host) {
		w := h.raw(8)
		w.open()
		w.send(`40/random`)
		w.expect(`44/random,{"message":"Invalid namespace"}`)
		w.send(`40`)
		w.joined()
		w.send(`40/random,{}`)
		w.expect(`44/random,{"message":"Invalid namespace"}`)
	})
}

func TestAuthorize(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errors.New("unauthorized"), `44{"message":"unauthorized"}`},
		{&RefusedError{Message: "busy", Data: json.RawMessage(`{"wait":5}`)}, `44{"message":"busy","data":{"wait":5}}`},
		{fmt.Errorf("wrapped: %w", &RefusedError{Message: "busy"}), `44{"message":"busy"}`},
		{&RefusedError{Message: "busy", Data: json.RawMessage(`nonsense`)}, `44{"message":"busy"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got Handshake
			h := newHost(t, ServerOptions{Authorize: func(_ context.Context, h Handshake) error {
				got = h
				return tc.err
			}})
			w := h.raw(8)
			w.open()
			w.send(`40{"token":"t"}`)
			w.expect(tc.want)
			w.expectEnd()
			expect.Equal(t, string(got.Auth), `{"token":"t"}`, "asked with %+v", got)
			expect.Equal(t, len(h.sessions), 0, "a session began")
		})
	}
}

func TestAuthorizeIsBoundedAndDoesNotStopHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		h := newHost(t, ServerOptions{Authorize: func(ctx context.Context, _ Handshake) error {
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}})
		w := h.raw(8)
		start := time.Now()
		w.open()
		w.send(`40`)
		w.expect(`2`)
		w.send(`3`)
		w.expectEnd()
		expect.Equal(t, time.Since(start), handshakeTimeout, "after")
		expect.Error(t, <-ended, context.DeadlineExceeded, "ctx ended with")
	})
}

func TestServeReturningDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, ServerOptions{Recovery: DefaultRecovery, Serve: func(_ context.Context, c *Session) {
			if err := c.Emit("bye", c.ID()); err != nil {
				t.Error(err)
			}
		}})
		w := h.raw(8)
		id := w.enter("").SID
		w.expect(`42["bye","`+id+`","1"]`, `41`)
		w.expectEnd()
	})
}

func TestServerSideReasons(t *testing.T) {
	for _, tc := range []struct {
		reason Reason
		end    func(h *host, w wire, c *Session)
	}{
		{ClientNamespaceDisconnect, func(_ *host, w wire, _ *Session) { w.send(`41`) }},
		{ServerNamespaceDisconnect, func(_ *host, _ wire, c *Session) { c.Close() }},
		{ServerShuttingDown, func(h *host, _ wire, _ *Session) { h.Close() }},
		{TransportClose, func(_ *host, w wire, _ *Session) { w.Abort() }},
		{TransportClose, func(_ *host, w wire, _ *Session) { w.send(`1`) }},
		{TransportClose, func(_ *host, _ wire, c *Session) { c.Drop() }},
	} {
		t.Run(string(tc.reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conns, seen := make(chan *Session, 1), make(chan string, 4)
				h := newHost(t, ServerOptions{Serve: func(ctx context.Context, c *Session) {
					conns <- c
					for ev := range c.Events() {
						seen <- describe(ev)
					}
					<-ctx.Done() // the session's end is the context's
				}})
				w := h.raw(8)
				w.enter("")
				tc.end(h, w, <-conns)
				if got, want := <-seen, "Disconnected "+string(tc.reason); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				h.Close()
				if len(seen) != 0 {
					t.Errorf("then %s", <-seen)
				}
			})
		})
	}
}

func TestRecoveryReplaysWhatWasMissed(t *testing.T) {
	hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
		c, s := h.client(ClientOptions{})
		id := c.ID()
		if id != s.ID() {
			t.Errorf("client's id %s, server's %s", id, s.ID())
		}
		s.Emit("before", 1)
		expectEvents(t, c.Events(), `before(1,"1")`)
		s.Drop()
		s.Emit("gap", 2, Binary("two"))
		s.Emit("gap", 3)
		synctest.Wait() // what is emitted before the client notices is lost
		c.Emit("up", "buffered")
		expectEvents(t, s.Events(), "Disconnected transport close", "Connected recovered", `up("buffered")`)
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1", "Connected recovered",
			`gap(2,"dHdv","2")`, `gap(3,"3")`)
		s.Emit("after", 4)
		expectEvents(t, c.Events(), `after(4,"4")`)
		if c.ID() != id {
			t.Errorf("id %s, was %s", c.ID(), id)
		}
		if len(h.sessions) != 0 || len(h.ends) != 0 {
			t.Error("the session did not simply go on")
		}
	})
}

// TestReconnectRecovers shows that Reconnect sends no disconnect packet, after which the server would forget the session.
func TestReconnectRecovers(t *testing.T) {
	hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
		c, _ := h.client(ClientOptions{})
		c.Reconnect()
		expectEvents(t, c.Events(), "Disconnected forced close", "Reconnecting 1", "Connected recovered")
	})
}

func TestClientThatNoticesTheDropFirstRecovers(t *testing.T) {
	hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
		old := h.raw(8)
		j := old.enter("")
		s := <-h.sessions
		s.Emit("sent")
		w := h.raw(8) // the old socket still looks alive to the server
		if again := w.enter(`{"pid":"` + j.PID + `"}`); again != j {
			t.Errorf("got %+v, want %+v", again, j)
		}
		w.expect(`42["sent","1"]`)
		expectEvents(t, s.Events(), "Disconnected transport close", "Connected recovered")
		<-old.down
	})
}

func TestRecoveryWindow(t *testing.T) {
	for _, tc := range []struct {
		gap       time.Duration
		recovered bool
	}{{20*time.Second - 1, true}, {20*time.Second + 1, false}} {
		hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
			w := h.raw(8)
			j := w.enter("")
			s := <-h.sessions
			s.Drop()
			time.Sleep(tc.gap)
			synctest.Wait()
			if ended := len(h.ends) == 1; ended == tc.recovered {
				t.Errorf("%v after the drop the session's end is %v", tc.gap, ended)
			}
			again := h.raw(8).enter(`{"pid":"` + j.PID + `"}`)
			expect.Equal(t, again == j, tc.recovered, "%v after the drop: recovered", tc.gap)
			if tc.recovered {
				expectEvents(t, s.Events(), "Disconnected transport close", "Connected recovered")
				return
			}
			expectEvents(t, s.Events(), "Disconnected transport close", "closed")
			if again.SID == j.SID || again.PID == j.PID || again.PID == "" {
				t.Errorf("new session %+v after %+v", again, j)
			}
			expect.Equal(t, s.Emit("late"), ErrClosed, "Emit")
		})
	}
}

func TestRecoverySwitches(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after func(h *host)
	}{
		"the next is refused":            {nil, func(h *host) { h.RefuseNextRecovery() }},
		"switched off in the gap":        {nil, func(h *host) { h.SetRecovery(0) }},
		"switched off before the drop":   {func(h *host) { h.SetRecovery(0) }, nil},
		"made shorter before the drop":   {func(h *host) { h.SetRecovery(time.Millisecond) }, nil},
		"the offset was never given out": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
				j := h.raw(8).enter("")
				s := <-h.sessions
				if tc.before != nil {
					tc.before(h)
				}
				s.Drop()
				if tc.after != nil {
					tc.after(h)
				}
				time.Sleep(time.Second)
				auth := `{"pid":"` + j.PID + `"}`
				if tc.before == nil && tc.after == nil {
					auth = `{"pid":"` + j.PID + `","offset":"7"}`
				}
				again := h.raw(8).enter(auth)
				if again.SID == j.SID || again.PID == j.PID {
					t.Errorf("recovered: %+v", again)
				}
				expectEvents(t, s.Events(), "Disconnected transport close", "closed")
				<-h.ends
				if (again.PID == "") != (h.recovery.Load() == 0) {
					t.Errorf("pid %q with a window of %v", again.PID, time.Duration(h.recovery.Load()))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // only the next one
		h := newHost(t, ServerOptions{Recovery: DefaultRecovery})
		h.RefuseNextRecovery()
		c, s := h.client(ClientOptions{})
		s.Drop()
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1", "Connected")
		s = <-h.sessions
		s.Drop()
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1", "Connected recovered")
	})
}

func TestWithoutRecoveryTheSocketIsTheSession(t *testing.T) {
	hosted(t, ServerOptions{}, func(t *testing.T, h *host) {
		c, s := h.client(ClientOptions{})
		s.Emit("plain", 1)
		expectEvents(t, c.Events(), "plain(1)")
		s.Drop()
		expectEvents(t, s.Events(), "Disconnected transport close", "closed")
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1", "Connected")
		if again := <-h.sessions; again.ID() == s.ID() {
			t.Error("the same session")
		}
	})
}

func TestRecoveryIsAuthorized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		h := newHost(t, ServerOptions{Recovery: DefaultRecovery, Authorize: func(_ context.Context, h Handshake) error {
			asked++
			if !strings.Contains(string(h.Auth), "good") {
				return errors.New("unauthorized")
			}
			return nil
		}})
		j := h.raw(8).enter(`{"token":"good"}`)
		s := <-h.sessions
		s.Drop()
		w := h.raw(8)
		w.open()
		w.send(`40{"pid":"` + j.PID + `","token":"bad"}`)
		w.expect(`44{"message":"unauthorized"}`)
		if again := h.raw(8).enter(`{"pid":"` + j.PID + `","token":"good"}`); again != j {
			t.Errorf("got %+v, want %+v", again, j)
		}
		expect.Equal(t, asked, 3, "how often Authorize was called")
		if auth := string(s.Handshake().Auth); !strings.Contains(auth, "pid") {
			t.Errorf("Handshake is not the newest: %s", auth)
		}
	})
}

func TestRecoveryBufferIsForgottenWithThePong(t *testing.T) {
	hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
		_, s := h.client(ClientOptions{})
		for range 3 {
			s.Emit("a")
		}
		kept := func() (n int) {
			s.do(func() { n = len(s.sent.events) })
			return n
		}
		expect.Equal(t, kept(), 3, "events kept before the ping")
		time.Sleep(defaultPingInterval)
		synctest.Wait()
		expect.Equal(t, kept(), 0, "events kept after the pong")
	})
}

func TestRecoveryBuffer(t *testing.T) {
	var b recoveryBuffer
	for i := range maxRecoveryEvents + 2 {
		b.add([]message{{data: []byte{byte(i)}}})
		if got, want := b.last, uint64(i+1); got != want {
			t.Fatalf("offset %d, want %d", got, want)
		}
	}
	for offset, want := range map[string]int{
		"":                              -1,
		"0":                             -1,
		"1":                             -1,
		"2":                             maxRecoveryEvents,
		"3":                             maxRecoveryEvents - 1,
		formatOffset(b.last):            0,
		formatOffset(b.last + 1):        -1,
		"nonsense":                      -1,
		"-1":                            -1,
		"99999999999999999999999999999": -1,
	} {
		got, ok := b.since(offset)
		if ok != (want >= 0) || ok && len(got) != want {
			t.Errorf("since %q: %d events, %v; want %d", offset, len(got), ok, want)
		}
	}
	b.add([]message{{data: make([]byte, maxRecoveryBytes)}})
	if len(b.events) != 1 || b.bytes != maxRecoveryBytes {
		t.Errorf("%d events with %d bytes kept", len(b.events), b.bytes)
	}
	b.add([]message{{data: []byte{1}}})
	if got, ok := b.since(formatOffset(b.last - 1)); !ok || len(got) != 1 {
		t.Errorf("the newest event is not kept: %d, %v", len(got), ok)
	}
}

func TestSessionsWithoutConnectionAreBounded(t *testing.T) {
	hosted(t, ServerOptions{Recovery: DefaultRecovery}, func(t *testing.T, h *host) {
		h.maxInGap = 2
		for range 3 {
			w := h.raw(8)
			w.enter("")
			(<-h.sessions).Drop()
		}
		synctest.Wait()
		expect.Equal(t, len(h.ends), 1, "sessions ended")
		time.Sleep(DefaultRecovery)
		synctest.Wait()
		expect.Equal(t, len(h.ends), 3, "sessions ended after the window")
		expect.Equal(t, h.inGap.Load(), 0, "sessions counted as kept")
		expect.Equal(t, len(h.Server.sessions), 0, "sessions remembered")
	})
}

func TestPeerThatDoesNotReadIsDisconnected(t *testing.T) {
	hosted(t, ServerOptions{SendBuffer: 1000}, func(t *testing.T, h *host) {
		w := h.raw(0)
		w.enter("")
		s := <-h.sessions
		var err error
		n := 0
		for ; err == nil && n < 100; n++ {
			err = s.Emit("a", strings.Repeat("x", 90))
		}
		if err != ErrBufferFull || n > 12 {
			t.Errorf("Emit %d: %v, want ErrBufferFull", n, err)
		}
		ev := expectKind(t, s.Events(), Disconnected)
		if ev.Reason != TransportError || ev.Err != ErrBufferFull {
			t.Errorf("got %s, %v", describe(ev), ev.Err)
		}
		expectEvents(t, s.Events(), "closed")
		<-w.down
	})
}

func TestServeThatDoesNotReadLosesTheSocket(t *testing.T) {
	hosted(t, ServerOptions{Recovery: time.Hour}, func(t *testing.T, h *host) {
		w := h.raw(2048)
		j := w.enter("")
		s := <-h.sessions
		for range maxPendingEvents + 10 {
			w.send(`42["n"]`)
		}
		for range 2 { // the bound applies to a recovered session too
			start := time.Now()
			<-w.down
			expect.Equal(t, time.Since(start), maxStall, "cut after")
			w = h.raw(2048)
			w.enter(`{"pid":"` + j.PID + `"}`)
		}
		var pending int
		s.do(func() { pending = len(s.events.pending) })
		if pending > maxPendingEvents+10 {
			t.Errorf("%d events wait", pending)
		}
	})
}

func TestServerCloseEndsEverySession(t *testing.T) {
	hosted(t, ServerOptions{Recovery: time.Hour}, func(t *testing.T, h *host) {
		waiting := h.raw(8)
		waiting.open()
		_, live := h.client(ClientOptions{ReconnectAttempts: new(0)})
		dropped := h.raw(8)
		dropped.enter("")
		gone := <-h.sessions
		gone.Drop()
		h.Close()
		expect.Equal(t, len(h.ends), 2, "sessions ended")
		waiting.expectEnd()
		for _, c := range []*Session{live, gone} {
			expect.Equal(t, c.Emit("late"), ErrClosed, "Emit")
		}
		h.raw(8).expectEnd() // no connection is accepted any more
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStrangersAreBounded: before its handshake is accepted a client may send 32 KB
// in all and no attachment, afterwards what the server takes.
func TestStrangersAreBounded(t *testing.T) {
	text := func(s string) message { return message{data: []byte(s)} }
	namespaces := func(n int) (all []message) { // refused, and the client may try again
		for range n {
			all = append(all, text("40/"+strings.Repeat("x", 200)))
		}
		return all
	}
	for name, tt := range map[string]struct {
		send []message
		ends bool
	}{
		"an attachment":             {[]message{text(`451-["a",{"_placeholder":true,"num":0}]`), {binary: true, data: make([]byte, 10)}}, true},
		"a connect packet of 1 MB":  {[]message{text(`40{"token":"` + strings.Repeat("x", 1_000_000) + `"}`)}, true},
		"many small messages":       {namespaces(200), true},
		"some small messages":       {namespaces(100), false},
		"a connect packet of 30 KB": {[]message{text(`40{"token":"` + strings.Repeat("x", 30_000) + `"}`)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				authorized := make(chan struct{})
				h := newHost(t, ServerOptions{Authorize: func(ctx context.Context, _ Handshake) error {
					select {
					case <-authorized:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}})
				w := h.raw(500)
				w.open()
				for _, m := range tt.send {
					if w.Write(m) != nil {
						break // closed already
					}
				}
				synctest.Wait()
				select {
				case <-h.last.down:
					if !tt.ends {
						t.Error("the server closed the socket")
					}
				default:
					if tt.ends {
						t.Error("the server did not close the socket")
					}
				}
			})
		})
	}
	t.Run("afterwards", func(t *testing.T) {
		hosted(t, ServerOptions{}, func(t *testing.T, h *host) {
			w := h.raw(8)
			w.enter("")
			w.send(`42["a","` + strings.Repeat("x", 900_000) + `"]`)
			if e := next(t, (<-h.sessions).Events()); e.Name != "a" {
				t.Errorf("got %v %v", e.Kind, e.Reason)
			}
		})
	})
}
