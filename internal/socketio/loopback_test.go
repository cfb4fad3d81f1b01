//go:build !js

package socketio

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// The tests in this file connect client and server over real sockets.

func open(t *testing.T, address string, o ClientOptions) *Client {
	t.Helper()
	c := must.Get(NewClient(address, o))(t)
	t.Cleanup(func() { c.Close() })
	c.Open()
	return c
}

func TestServerRefusesLargeMessages(t *testing.T) {
	reasons := make(chan Event, 1)
	_, address := startServer(t, ServerOptions{MaxPayload: 1000, Recovery: time.Hour, Serve: func(_ context.Context, c *Session) {
		for ev := range c.Events() {
			if ev.Kind == Disconnected {
				reasons <- ev
			}
		}
	}})
	c := open(t, address, ClientOptions{ReconnectAttempts: new(0)})
	take(t, c, Connected)
	must.Do(t, c.Emit("large", strings.Repeat("x", 1000)))
	if ev := <-reasons; ev.Reason != ParseError || !errors.Is(ev.Err, errTooBig) {
		t.Errorf("the server saw %q, %v", ev.Reason, ev.Err)
	}
	takeReason(t, c, TransportClose, TransportError)
}

// TestRecoveryLosesNothing drops the socket again and again while both sides
// talk: each event of the server arrives once and in order.
func TestRecoveryLosesNothing(t *testing.T) {
	const events, drops = 2000, 8
	s, address := startServer(t, ServerOptions{
		Recovery:     time.Minute,
		PingInterval: 5 * time.Millisecond, // so that pongs shorten the recovery buffer
		Serve: func(ctx context.Context, c *Session) {
			var emitting sync.WaitGroup
			defer emitting.Wait()
			emitting.Go(func() {
				for i := range events {
					if err := c.Emit("n", i); err != nil {
						t.Errorf("Emit %d: %v", i, err)
						return
					}
					if i%(events/drops) == events/drops/2 {
						c.Drop()
					}
					if i%10 == 0 {
						time.Sleep(time.Millisecond) // let the socket keep up
					}
				}
			})
			for range c.Events() {
			}
			<-ctx.Done()
		},
	})
	c := open(t, address, ClientOptions{ReconnectDelay: time.Millisecond, ReconnectDelayMax: 5 * time.Millisecond, ReconnectAttempts: new(-1)})
	take(t, c, Connected)
	recovered := 0
	for want := 0; want < events; {
		select {
		case ev := <-c.Events():
			switch ev.Kind {
			case Message:
				var got int
				if err := ev.Args.Decode(0, &got); err != nil || got != want {
					t.Fatalf("got %d, %v; want %d", got, err, want)
				}
				want++
			case Connected:
				if !ev.Recovered {
					t.Fatalf("not recovered before event %d", want)
				}
				recovered++
			case ReconnectFailed:
				t.Fatal("gave up")
			}
		case <-time.After(patience):
			t.Fatalf("event %d did not come", want)
		}
	}
	if recovered == 0 {
		t.Error("the socket was never dropped")
	}
	c.Close()
	s.Close()
}

func TestRefusedHandshakeHidesTheAddress(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"status":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ftp://x/?hush", http.StatusFound) },
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(answer)
			defer web.Close()
			c := open(t, web.URL, ClientOptions{ReconnectAttempts: new(0), Query: map[string]string{"secret": "hush"}})
			ev := take(t, c, ConnectError)
			if text := ev.Err.Error(); strings.Contains(text, "hush") || strings.Contains(text, web.URL) {
				t.Errorf("the error repeats the address: %s", text)
			}
			takeEnd(t, c)
		})
	}
}

// TestDefaultTransportOfTheApplication: programs replace it, for example to trace requests.
func TestDefaultTransportOfTheApplication(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	var asked atomic.Int64
	http.DefaultTransport = roundTripper(func(r *http.Request) (*http.Response, error) {
		asked.Add(1)
		return before.RoundTrip(r)
	})
	_, address := startServer(t, ServerOptions{})
	take(t, open(t, address, ClientOptions{}), Connected)
	expect.Equal(t, asked.Load(), 1, "how often it was asked")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRedirectedHandshakeIsRefused redirects to a server that would accept: nothing
// arrives there. Browsers follow no redirect of a WebSocket.
func TestRedirectedHandshakeIsRefused(t *testing.T) {
	var arrived atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer target.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target.URL+r.URL.RequestURI(), code)
		}))
		c := open(t, web.URL, ClientOptions{ReconnectAttempts: new(0), Query: map[string]string{"partnerId": "1"}, Auth: map[string]string{"token": "hush"}})
		if ev := take(t, c, ConnectError); !strings.Contains(ev.Err.Error(), "redirect") {
			t.Errorf("%d: %v", code, ev.Err)
		}
		takeEnd(t, c)
		web.Close()
	}
	expect.Equal(t, arrived.Load(), 0, "requests arrived at the target")
}
