package pageserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
	"github.com/agentruntime/agentruntime/pageserver"
)

// serve runs a server with limits until the test ends, and returns its address.
func serve(t *testing.T, l pageserver.Limits, h http.HandlerFunc) string {
	t.Helper()
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := l.Server(h)
	go server.Serve(l.Listen(ln)) //nolint:errcheck // ends with Close
	t.Cleanup(func() { server.Close() })
	return ln.Addr().String()
}

// drip sends a text again and again, each time after a pause, until the server closes the
// connection.
func drip(c net.Conn, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	address := serve(t, pageserver.Limits{}, func(http.ResponseWriter, *http.Request) {})
	for size, want := range map[int]int{50_000: http.StatusOK, 100_000: http.StatusRequestHeaderFieldsTooLarge} {
		if reply, _ := rawhttp.Send(t, address, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", size)+"\r\n\r\n"); reply.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", size, reply.StatusCode, want)
		}
	}
}

// TestSlowClientsAreLetGo: whatever a client does slowly, the server closes its connection.
// Without limits each of these would last as long as the client likes.
func TestSlowClientsAreLetGo(t *testing.T) {
	t.Parallel()
	const short = 400 * time.Millisecond
	failed := make(chan error, 10)
	address := serve(t, pageserver.Limits{Header: short, Request: 2 * short, Reply: 4 * short, Idle: short}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			_, err := io.Copy(io.Discard, r.Body)
			failed <- err
		case "/big":
			var err error
			for page := make([]byte, 1<<20); err == nil; {
				_, err = w.Write(page)
			}
			failed <- err
		}
	})
	for name, tt := range map[string]struct {
		start, drip string
		fails       bool // in the handler
	}{
		"nothing":               {"", "", false},
		"half a header":         {"GET / HTTP/1.1\r\nHost: x\r\nX: ", "", false},
		"a slow header":         {"GET / HTTP/1.1\r\nHost: x\r\nX: ", "y", false},
		"an endless header":     {"GET / HTTP/1.1\r\nHost: x\r\n", "X: " + strings.Repeat("y", 4000) + "\r\n", false},
		"no body":               {"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", "", true},
		"a slow body":           {"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", "y", true},
		"slow chunks":           {"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\ny\r\n", true},
		"a body that is unread": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", "y", false},
		"a body after a GET":    {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", "", false},
		"no next request":       {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", false},
	} {
		c := rawhttp.Dial(t, address)
		began := time.Now()
		must.Get(io.WriteString(c, tt.start))(t)
		if tt.drip != "" {
			go drip(c, tt.drip)
		}
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open after %v", name, time.Since(began))
		}
		if tt.fails {
			expect.Error(t, <-failed, os.ErrDeadlineExceeded, "%s: the handler", name)
		}
	}
	// A client that reads nothing, and one that reads a little now and then.
	for name, read := range map[string]func(io.Reader){
		"nothing is read": func(io.Reader) {},
		"little is read": func(r io.Reader) {
			for page := make([]byte, 10); ; time.Sleep(10 * time.Millisecond) {
				if _, err := r.Read(page); err != nil {
					return
				}
			}
		},
	} {
		c := rawhttp.Dial(t, address)
		must.Get(io.WriteString(c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n"))(t)
		go read(c)
		expect.Error(t, <-failed, os.ErrDeadlineExceeded, "%s: the handler", name)
	}
}

// TestAStreamMovesItsDeadline: a reply may last longer than Reply while its client reads it.
func TestAStreamMovesItsDeadline(t *testing.T) {
	t.Parallel()
	const reply = 100 * time.Millisecond
	address := serve(t, pageserver.Limits{Request: reply, Reply: reply}, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		for range 6 {
			select {
			case <-time.After(reply / 2):
			case <-r.Context().Done():
				return
			}
			if err := errors.Join(control.SetWriteDeadline(time.Now().Add(time.Minute)), write(w, "part"), control.Flush()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	if _, body := rawhttp.Get(t, address, "/", "x"); body != strings.Repeat("part", 6) {
		t.Errorf("got %q", body)
	}
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// TestConnectionsOfOneAddress: they are counted until they are closed, also those that a
// handler has taken over, and another address has its own.
func TestConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	limits := pageserver.Limits{PerAddress: 3, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	closed := make(chan struct{}, 1)
	address := serve(t, limits, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/socket" {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			go func() {
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
				closed <- struct{}{}
			}()
		}
	})
	ask := func(c net.Conn, path string) int {
		t.Helper()
		must.Get(io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"))(t)
		reply := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
		return reply.StatusCode
	}
	socket := rawhttp.Dial(t, address)
	ask(socket, "/socket")
	for range 2 {
		ask(rawhttp.Dial(t, address), "/")
	}
	for range 2 {
		beyond := rawhttp.Dial(t, address)
		reply, err := http.ReadResponse(bufio.NewReader(beyond), nil)
		if err != nil || reply.StatusCode != http.StatusServiceUnavailable || reply.Header.Get("Retry-After") == "" {
			t.Fatalf("a fourth connection: %v %v", reply, err)
		}
	}
	other := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	if c, err := other.DialContext(t.Context(), "tcp", address); err != nil {
		t.Logf("no second address here: %v", err) // only Linux has all of 127.0.0.0/8
	} else {
		defer c.Close()
		expect.Equal(t, ask(c, "/"), http.StatusOK, "another address")
	}
	socket.Close()
	<-closed
	expect.Equal(t, ask(rawhttp.Dial(t, address), "/"), http.StatusOK, "after one was closed")
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "127.0.0.1") {
		t.Errorf("the log has %s", log.String())
	}
}

// TestServeEndsWithItsContext: the request in progress is answered, and then nothing serves.
func TestServeEndsWithItsContext(t *testing.T) {
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- pageserver.Limits{}.Serve(ctx, ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			end()
			for { // until no connection is taken any more
				c, err := net.Dial("tcp", ln.Addr().String())
				if err != nil {
					break
				}
				c.Close()
			}
			_, _ = io.WriteString(w, "answered")
		}))
	}()
	response := must.Get(http.Get("http://" + ln.Addr().String()))(t)
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); string(body) != "answered" {
		t.Errorf("%q, %v", body, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServeSaysWhyItEnds if its context has not.
func TestServeSaysWhyItEnds(t *testing.T) {
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ln.Close()
	if err := (pageserver.Limits{}).Serve(t.Context(), ln, http.NotFoundHandler()); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
