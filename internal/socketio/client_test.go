//go:build !js

package socketio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestClientDeclaresPingTimeoutAfterIntervalAndTimeout(t *testing.T) {
	connected(t, ClientOptions{ReconnectAttempts: new(0)}, func(t *testing.T, c *Client, s wire, _ <-chan wire) {
		for range 3 {
			time.Sleep(25 * time.Second)
			s.send(`2`)
			s.expect(`3`)
		}
		start := time.Now()
		expectEvents(t, c.Events(), "Disconnected ping timeout", "closed")
		expect.Equal(t, time.Since(start), 45*time.Second, "after")
		s.expectEnd()
	})
}

func TestReconnectBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var dials []time.Duration
		c := newTestClient(t, ClientOptions{
			Random: func() float64 { return 0.5 },
			dial: func(context.Context, string, *ClientOptions) (transport, error) {
				dials = append(dials, time.Since(start))
				return nil, errors.New("connection refused")
			},
		})
		c.Open()
		no := "ConnectError socketio: connect: connection refused"
		expectEvents(t, c.Events(), no, "Reconnecting 1", no, "Reconnecting 2", no, "Reconnecting 3", no,
			"Reconnecting 4", no, "Reconnecting 5", no, "ReconnectFailed", "closed")
		// Waits of 250, 500, 1000, 2000 and 2000 ms.
		expect.Equal(t, fmt.Sprint(dials), "[0s 250ms 750ms 1.75s 3.75s 5.75s]", "dialled at")
	})
}

func TestBackoff(t *testing.T) {
	o := ClientOptions{}.withDefaults()
	for _, tc := range []struct {
		n     int
		place float64
		want  time.Duration
	}{
		{0, 0, 0},
		{0, 0.5, 250 * time.Millisecond},
		{0, 0.998, 499 * time.Millisecond},
		{1, 0, 250 * time.Millisecond},
		{2, 0.25, 750 * time.Millisecond},
		{3, 0, 2 * time.Second},
		{3, 0.998, 2 * time.Second},
		{1 << 40, 0.5, 2 * time.Second},
	} {
		expect.Equal(t, o.backoff(tc.n, tc.place), tc.want, "wait %d at place %v", tc.n, tc.place)
	}
}

func TestConnectionResetsBackOff(t *testing.T) {
	opened(t, ClientOptions{ReconnectAttempts: new(1)}, func(t *testing.T, c *Client, w <-chan wire) {
		for range 3 {
			s := <-w
			s.join()
			expectEvents(t, c.Events(), "Connected")
			s.Abort()
			expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1")
		}
	})
}

func TestConnectTimeLimit(t *testing.T) {
	for name, advance := range map[string]func(s wire){
		"dialled":    nil,
		"opened":     func(wire) {},
		"handshaken": func(s wire) { s.send(testOpen) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := ClientOptions{ReconnectAttempts: new(0)}
				w := wires(t, &o)
				if advance == nil {
					o.dial = func(ctx context.Context, _ string, _ *ClientOptions) (transport, error) {
						<-ctx.Done() // an abandoned dial must be cancelled
						return nil, ctx.Err()
					}
				}
				c := newTestClient(t, o)
				start := time.Now()
				c.Open()
				if advance != nil {
					advance(<-w)
				}
				expectEvents(t, c.Events(), "ConnectError socketio: connect: timeout", "closed")
				expect.Equal(t, time.Since(start), 20*time.Second, "after")
			})
		})
	}
}

func TestAbandonedDialIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe(1)
		c := newTestClient(t, ClientOptions{
			ConnectTimeout:    time.Second,
			ReconnectAttempts: new(0),
			dial: func(context.Context, string, *ClientOptions) (transport, error) {
				time.Sleep(5 * time.Second) // like a browser: not to be hurried
				return a, nil
			},
		})
		c.Open()
		expectEvents(t, c.Events(), "ConnectError socketio: connect: timeout", "closed")
		wire{t, b}.expectEnd()
	})
}

func TestEmitsAreFlushedBeforeConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o ClientOptions
		w := wires(t, &o)
		c := newTestClient(t, o)
		for i := range 3 {
			must.Do(t, c.Emit("early", i))
		}
		c.Open()
		s := <-w
		must.Do(t, c.Emit("dialling"))
		s.send(testOpen)
		s.expect(`40`)
		s.send(`40{"sid":"s1"}`)
		expectEvents(t, c.Events(), "Connected")
		must.Do(t, c.Emit("after"))
		s.expect(`42["early",0]`, `42["early",1]`, `42["early",2]`, `42["dialling"]`, `42["after"]`)
		if c.ID() != "s1" {
			t.Errorf("ID %q, want s1", c.ID())
		}
	})
}

func TestSendBufferIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, ClientOptions{SendBuffer: 100})
		big := strings.Repeat("x", 60)
		if err := c.Emit("a", big); err != nil {
			t.Error(err)
		}
		if err := c.Emit("b", big); err != ErrBufferFull {
			t.Errorf("got %v, want ErrBufferFull", err)
		}
		if err := c.Emit("c", "small"); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, ClientOptions{})
		for range maxBuffered {
			must.Do(t, c.Emit("a"))
		}
		if err := c.Emit("a"); err != ErrBufferFull {
			t.Errorf("got %v, want ErrBufferFull", err)
		}
	})
}

func TestEmitRefusesReservedNames(t *testing.T) {
	c := newTestClient(t, ClientOptions{})
	err := c.Emit("connect_error")
	if want := `socketio: "connect_error" is a reserved event name`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAuthIsReadAtEachHandshake(t *testing.T) {
	opened(t, ClientOptions{Auth: map[string]string{"token": "one"}}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.send(testOpen)
		s.expect(`40{"token":"one"}`)
		s.send(`40{"sid":"s1","pid":"p1"}`)
		expectEvents(t, c.Events(), "Connected")
		must.Do(t, c.SetAuth(map[string]string{"token": "two"}))
		s.Abort()
		s = <-w
		s.send(testOpen)
		s.expect(`40{"pid":"p1","token":"two"}`)
		s.send(`40{"sid":"s1","pid":"p1"}`)
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1", "Connected recovered")
		for _, bad := range []any{"text", 1, []int{1}, make(chan int)} {
			if err := c.SetAuth(bad); err == nil {
				t.Errorf("SetAuth(%v): no error", bad)
			}
		}
	})
}

func TestClientRemembersTheOffset(t *testing.T) {
	opened(t, ClientOptions{}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.send(testOpen)
		s.expect(`40`)
		// Neither a last argument that is not a string nor an event that asks for an
		// acknowledgement carries an offset.
		s.send(`40{"sid":"s1","pid":"p1"}`, `42["a",{},"41"]`, `42["b","no",7]`, `420["c","no"]`, `42["d"]`)
		expectEvents(t, c.Events(), "Connected", `a({},"41")`, `b("no",7)`, `c("no")`, "d()")
		s.Abort()
		s = <-w
		s.send(testOpen)
		s.expect(`40{"offset":"41","pid":"p1"}`)
		s.send(`40{"sid":"s1","pid":"p1"}`, `42["missed","42"]`)
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1", "Connected recovered", `missed("42")`)
		s.Abort()
		s = <-w
		s.send(testOpen)
		s.expect(`40{"offset":"42","pid":"p1"}`)
		s.send(`40{"sid":"s2","pid":"p2"}`)
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1", "Connected")
		if c.ID() != "s2" {
			t.Errorf("ID %q", c.ID())
		}
		s.Abort()
		s = <-w
		s.send(testOpen)
		s.expect(`40{"pid":"p2"}`) // the old offset means nothing to the new session
	})
}

func TestDisconnectReasons(t *testing.T) {
	for _, tc := range []struct {
		reason Reason
		end    func(c *Client, s wire)
		again  bool
	}{
		{ServerDisconnect, func(_ *Client, s wire) { s.send(`41`) }, false},
		{ClientDisconnect, func(c *Client, _ wire) { c.Close() }, false},
		{TransportClose, func(_ *Client, s wire) { s.Abort() }, true},
		{TransportClose, func(_ *Client, s wire) { s.send(`1`) }, true},
		{PingTimeout, func(*Client, wire) { time.Sleep(45 * time.Second) }, true},
		{ForcedClose, func(c *Client, _ wire) { c.Reconnect() }, true},
		{ParseError, func(_ *Client, s wire) { s.send(`42{}`) }, false},
		{ParseError, func(_ *Client, s wire) { s.send(`40{"sid":"again"}`) }, false},
		{ParseError, func(_ *Client, s wire) { s.send(testOpen) }, false},
		{ParseError, func(_ *Client, s wire) { s.send(`44{"message":"late"}`) }, false},
	} {
		t.Run(string(tc.reason), func(t *testing.T) {
			connected(t, ClientOptions{}, func(t *testing.T, c *Client, s wire, w <-chan wire) {
				tc.end(c, s)
				expectEvents(t, c.Events(), "Disconnected "+string(tc.reason))
				expect.Equal(t, c.ID(), "", "ID after the end")
				if tc.again {
					expectEvents(t, c.Events(), "Reconnecting 1")
					(<-w).join()
					expectEvents(t, c.Events(), "Connected")
					return
				}
				expectEvents(t, c.Events(), "closed")
				expect.Equal(t, c.Emit("late"), ErrClosed, "Emit")
				expect.Equal(t, c.EmitWithAck("late", nil), ErrClosed, "EmitWithAck")
			})
		})
	}
}

func TestRefusalIsFinal(t *testing.T) {
	for _, tc := range []struct {
		answer, message, data string
	}{
		{`44{"message":"unauthorized","data":{"code":7}}`, "unauthorized", `{"code":7}`},
		{`44"unauthorized"`, "unauthorized", ""},
		{`44{"message":5}`, "", ""},
	} {
		opened(t, ClientOptions{Auth: map[string]string{"token": "secret"}}, func(t *testing.T, c *Client, w <-chan wire) {
			s := <-w
			s.send(testOpen)
			s.expect(`40{"token":"secret"}`)
			s.send(tc.answer)
			ev := expectKind(t, c.Events(), ConnectError)
			var refused *RefusedError
			if !errors.As(ev.Err, &refused) || refused.Message != tc.message || string(refused.Data) != tc.data {
				t.Errorf("%s: got %#v", tc.answer, ev.Err)
			}
			expectEvents(t, c.Events(), "closed")
			s.expectEnd()
		})
	}
}

func TestHandshakeNonsenseIsAFailedAttempt(t *testing.T) {
	for name, texts := range map[string][]string{
		"an event before the open":  {`42["early"]`},
		"a connect without an open": {`40{"sid":"s1"}`},
		"a connect without an id":   {testOpen, `40{}`},
		"an open that is no JSON":   {`0nonsense`},
		"no packet at all":          {`x`},
	} {
		t.Run(name, func(t *testing.T) {
			opened(t, ClientOptions{ReconnectAttempts: new(0)}, func(t *testing.T, c *Client, w <-chan wire) {
				s := <-w
				s.send(texts...)
				if ev := expectKind(t, c.Events(), ConnectError); !errors.Is(ev.Err, errProtocol) {
					t.Errorf("got %v", ev.Err)
				}
				expectEvents(t, c.Events(), "closed")
			})
		})
	}
}

func TestEventsBeforeTheAnswerFollowConnected(t *testing.T) {
	opened(t, ClientOptions{}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.send(testOpen, `42["missed",1,"7"]`, `42["missed",2,"8"]`, `40{"sid":"s1","pid":"p1"}`, `42["live","9"]`)
		expectEvents(t, c.Events(), "Connected", `missed(1,"7")`, `missed(2,"8")`, `live("9")`)
		s.Abort()
		s = <-w
		s.send(testOpen, `42["lost"]`) // never answered, so never told
		s.expect(`40{"offset":"9","pid":"p1"}`)
		s.Abort()
		expectEvents(t, c.Events(), "Disconnected transport close", "Reconnecting 1",
			"ConnectError socketio: connect: transport close", "Reconnecting 2")
		(<-w).send(testOpen, `40{"sid":"s2"}`, `42["next"]`)
		expectEvents(t, c.Events(), "Connected", "next()")
	})
}

func TestEventsBeforeTheAnswerAreBounded(t *testing.T) {
	for _, event := range []string{`42["a"]`, `42["a","` + strings.Repeat("x", 5000) + `"]`} {
		opened(t, ClientOptions{ReconnectAttempts: new(0), MaxMessage: 1 << 20}, func(t *testing.T, c *Client, w <-chan wire) {
			s := <-w
			s.send(testOpen)
			go func() {
				for s.Write(message{data: []byte(event)}) == nil {
				}
			}()
			if ev := expectKind(t, c.Events(), ConnectError); !errors.Is(ev.Err, errProtocol) {
				t.Errorf("got %v", ev.Err)
			}
			expectEvents(t, c.Events(), "closed")
		})
	}
}

func TestOtherNamespacesAreIgnored(t *testing.T) {
	opened(t, ClientOptions{}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.join()
		s.send(`42/admin,["other"]`, `41/admin,`, `6`, `42["ours"]`)
		expectEvents(t, c.Events(), "Connected", "ours()")
	})
}

func TestReconnectSkipsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ClientOptions{ReconnectDelay: time.Hour, ReconnectDelayMax: time.Hour}
		w := wires(t, &o)
		c := newTestClient(t, o)
		c.Reconnect() // nothing to do yet
		c.Open()
		s := <-w
		s.join()
		s.Abort()
		expectEvents(t, c.Events(), "Connected", "Disconnected transport close")
		start := time.Now()
		c.Reconnect()
		(<-w).join()
		expectEvents(t, c.Events(), "Reconnecting 1", "Connected")
		expect.Equal(t, time.Since(start), 0, "after")
	})
}

// TestEmitWithAckIsNeverSentOnAnotherConnection, because only the caller decides what is sent again.
func TestEmitWithAckIsNeverSentOnAnotherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o ClientOptions
		w := wires(t, &o)
		c := newTestClient(t, o)
		var answered []string
		ask := func(name string) error {
			return c.EmitWithAck(name, func(args Args) { answered = append(answered, name+string(slices.Concat(args...))) }, 1)
		}
		expect.Equal(t, ask("early"), ErrDisconnected, "before the first connection")
		c.Open()
		s := <-w
		s.join()
		expectEvents(t, c.Events(), "Connected")
		must.Do(t, errors.Join(ask("one"), ask("lost")))
		s.expect(`420["one",1]`, `421["lost",1]`)
		s.send(`430["yes",2]`, `430[]`)
		synctest.Wait()
		s.Abort()
		expectEvents(t, c.Events(), "Disconnected transport close")
		expect.Equal(t, ask("between"), ErrDisconnected, "between two connections")
		expectEvents(t, c.Events(), "Reconnecting 1")
		s = <-w
		s.join()
		expectEvents(t, c.Events(), "Connected")
		s.send(`431[]`) // an answer of another connection
		must.Do(t, ask("two"))
		s.expect(`422["two",1]`) // and nothing before it
		s.send(`432[]`)
		synctest.Wait()
		expect.Equal(t, strings.Join(answered, " "), `one"yes"2 two`, "acknowledged")
		time.Sleep(time.Minute) // past the ping, as after a computer's sleep
		expect.Equal(t, ask("asleep"), ErrDisconnected, "after the ping time-out")
		c.Close()
		expect.Equal(t, ask("late"), ErrClosed, "after Close")
	})
}

func TestReply(t *testing.T) {
	opened(t, ClientOptions{}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.join()
		s.send(`427["ask"]`, `428["ask"]`, `42["tell"]`)
		expectEvents(t, c.Events(), "Connected")
		first, second, third := next(t, c.Events()), next(t, c.Events()), next(t, c.Events())
		if err := first.Reply("yes", Binary{1}); err != nil {
			t.Error(err)
		}
		s.expect(`461-7["yes",{"_placeholder":true,"num":0}]`, "\x01")
		if third.Reply != nil {
			t.Error("an event that asks nothing has a Reply")
		}
		s.Abort()
		(<-w).join()
		expect.Equal(t, second.Reply("late"), ErrDisconnected, "late reply")
	})
}

func TestSlowReaderOfEventsCausesNoPingTimeout(t *testing.T) {
	opened(t, ClientOptions{ReconnectAttempts: new(0)}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.join()
		time.Sleep(40 * time.Second) // 5 s before the time-out
		for i := range maxPendingEvents + 10 {
			s.send(fmt.Sprintf(`42["n",%d]`, i))
		}
		s.send(`2`) // behind what is not read
		time.Sleep(9 * time.Second)
		if c.ID() == "" {
			t.Fatal("disconnected while events were not read")
		}
		expectEvents(t, c.Events(), "Connected")
		for i := range maxPendingEvents + 10 {
			expectEvents(t, c.Events(), fmt.Sprintf("n(%d)", i))
		}
		s.expect(`3`)
	})
}

func TestReaderOfEventsThatStoppedLosesTheSocket(t *testing.T) {
	opened(t, ClientOptions{}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.join()
		for range maxPendingEvents + 10 {
			s.send(`42["n"]`)
		}
		start := time.Now()
		<-s.down
		expect.Equal(t, time.Since(start), maxStall, "cut after")
		time.Sleep(time.Hour) // no attempt before there is room
		if len(w) != 0 {
			t.Error("dialled while the events were full")
		}
		for ev := range c.Events() {
			if ev.Kind == Disconnected {
				if ev.Reason != TransportError || ev.Err != ErrSlowConsumer {
					t.Errorf("got %s, %v", describe(ev), ev.Err)
				}
				break
			}
		}
		expectEvents(t, c.Events(), "Reconnecting 1")
		(<-w).join()
		expectEvents(t, c.Events(), "Connected")
	})
}

func TestBytesOfPendingEventsAreBounded(t *testing.T) {
	opened(t, ClientOptions{}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.join()
		big := `42["n","` + strings.Repeat("x", 1<<20) + `"]`
		go func() {
			for s.Write(message{data: []byte(big)}) == nil {
			}
		}()
		synctest.Wait()
		var n, bytes int
		c.do(func() { n, bytes = len(c.events.pending), c.events.bytes })
		if n > 6 || bytes > maxPendingBytes+len(big) {
			t.Errorf("%d events with %d bytes wait", n, bytes)
		}
	})
}

func TestCloseEndsWithDisconnectedWhenEventsAreNotRead(t *testing.T) {
	opened(t, ClientOptions{}, func(t *testing.T, c *Client, w <-chan wire) {
		s := <-w
		s.join()
		s.send(`42["a"]`, `42["b"]`, `42["c"]`)
		synctest.Wait()
		c.Close()
		expectEvents(t, c.Events(), "Disconnected io client disconnect", "closed")
		s.expect(`41`)
		s.expectEnd()
		c.Open()
		c.Reconnect()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseWhileNotConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ClientOptions{ReconnectDelay: time.Hour, ReconnectDelayMax: time.Hour}
		w := wires(t, &o)
		idle := newTestClient(t, o)
		idle.Close()
		expectEvents(t, idle.Events(), "closed")

		waiting := newTestClient(t, o)
		waiting.Open()
		(<-w).Abort()
		expectKind(t, waiting.Events(), ConnectError)
		waiting.Close()
		expectEvents(t, waiting.Events(), "closed")
	})
}

func TestSocketThatTakesNothingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe(0) // no buffer: what is not read is not written
		c := newTestClient(t, ClientOptions{
			SendBuffer:        1000,
			ReconnectAttempts: new(0),
			dial: func(context.Context, string, *ClientOptions) (transport, error) {
				return a, nil
			},
		})
		c.Open()
		wire{t, b}.join()
		expectEvents(t, c.Events(), "Connected")
		var err error
		n := 0
		for ; err == nil && n < 100; n++ {
			err = c.Emit("a", strings.Repeat("x", 90))
		}
		if err != ErrBufferFull || n > 12 {
			t.Errorf("Emit %d: %v, want ErrBufferFull", n, err)
		}
		start := time.Now()
		c.Close() // what waits can't be written
		expect.Equal(t, time.Since(start), flushTimeout, "Close took")
	})
}

func TestAddresses(t *testing.T) {
	query := map[string]string{"stickyId": "k3v9", "billed_client": "", "level": "a b&c", "EIO": "3", "transport": "polling"}
	for _, tc := range []struct {
		in, path string
		query    map[string]string
		want     string
	}{
		{"http://h:1", "", nil, "ws://h:1/socket.io/?EIO=4&transport=websocket"},
		{"https://h/", "", nil, "wss://h/socket.io/?EIO=4&transport=websocket"},
		{"ws://h", "/x/", nil, "ws://h/x/?EIO=4&transport=websocket"},
		{"wss://h", "", query, "wss://h/socket.io/?billed_client=&level=a+b%26c&stickyId=k3v9&EIO=4&transport=websocket"},
	} {
		o := ClientOptions{Path: tc.path, Query: tc.query}.withDefaults()
		if got, err := socketURL(tc.in, &o); err != nil || got != tc.want {
			t.Errorf("%s: got %s, %v; want %s", tc.in, got, err, tc.want)
		}
	}
	for _, bad := range []string{"", "h", "ftp://h", "http://", "http://h/room", "http://h//", "http://h:x?token=secret"} {
		_, err := NewClient(bad, ClientOptions{})
		if err == nil {
			t.Errorf("%s: no error", bad)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats the address: %v", err)
		}
	}
	if _, err := NewClient("http://h", ClientOptions{Auth: "secret"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("auth that is not an object: %v", err)
	}
}

// TestAttemptsAreCountedThroughReconnect: Reconnect resets the bound of attempts, but not the
// number in the events.
func TestAttemptsAreCountedThroughReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		o := ClientOptions{ReconnectAttempts: new(-1), ReconnectDelay: time.Hour, ReconnectDelayMax: time.Hour}
		w := wires(t, &o)
		dial := o.dial
		o.dial = func(ctx context.Context, address string, o *ClientOptions) (transport, error) {
			if down {
				return nil, errors.New("no route")
			}
			return dial(ctx, address, o)
		}
		c := newTestClient(t, o)
		c.Open()
		no := "ConnectError socketio: connect: no route"
		expectEvents(t, c.Events(), no, "Reconnecting 1", no)
		c.Reconnect()
		expectEvents(t, c.Events(), "Reconnecting 2", no)
		synctest.Wait()
		down = false
		c.Reconnect()
		(<-w).join()
		expectEvents(t, c.Events(), "Reconnecting 3", "Connected")
	})
}
