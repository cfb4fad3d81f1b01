//go:build !js

package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/chromium"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/nodetest"
)

// startNPMServer runs the official server until the test ends.
func startNPMServer(t *testing.T) (address string) {
	t.Helper()
	lines := make(chan string, 1)
	nodetest.Start(t, "testdata/npm-server.mjs", func(line string) { lines <- line })
	select {
	case address = <-lines:
	case <-time.After(patience):
		t.Fatal("the server did not print its address")
	}
	return address
}

func TestClientAgainstNPMServer(t *testing.T) {
	againstNPM(t, startNPMServer(t))
}

// TestClientInChromium runs the same tests, and all tests of this package that are built
// for js, in a page.
func TestClientInChromium(t *testing.T) {
	out := chromium.GoTest(t, "AGENTRUNTIME_SIO_URL="+startNPMServer(t))
	for _, tc := range npmTests {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(out, "--- PASS: TestClientAgainstNPMServer/"+tc.name+" ") {
				t.Errorf("did not pass in Chromium:\n%s", out)
			}
		})
	}
}

// runNPMClient runs one scenario of the official client and returns what it
// prints.
func runNPMClient(t *testing.T, address, scenario string) []string {
	t.Helper()
	var lines []string
	script := nodetest.Start(t, "testdata/npm-client.mjs", func(line string) { lines = append(lines, line) }, address, scenario)
	script.Wait()
	return lines
}

func TestNPMClientAgainstServer(t *testing.T) {
	nodetest.Modules(t) // or skip before any scenario
	for _, tc := range []struct {
		scenario string
		options  ServerOptions
		client   []string // what the official client prints
		server   []string // what the sessions see, besides messages
	}{
		{
			"events",
			ServerOptions{},
			[]string{
				`["connect",false,true]`,
				`["event","echo",1,"two",{"three":[3]},null]`,
				`["event","blob",{"data":{"binary":[1,2]}}]`,
				`["ack","hello"]`,
				`["ack",{"binary":[3]}]`,
				`["ack","operation has timed out"]`,
				`["event","end"]`,
			},
			[]string{"Disconnected transport close"},
		},
		{
			"refusal",
			ServerOptions{Authorize: func(_ context.Context, h Handshake) error {
				if h.Query.Get("stickyId") != "k3v9" {
					return errors.New("no query")
				}
				return &RefusedError{Message: "unauthorized", Data: h.Auth}
			}},
			[]string{`["connect_error","unauthorized",{"token":"bad"},false]`},
			nil,
		},
		{
			"server disconnect",
			ServerOptions{},
			[]string{`["connect",false,true]`, `["disconnect","io server disconnect"]`, `["active",false]`},
			[]string{"Disconnected server namespace disconnect"},
		},
		{
			"client disconnect",
			ServerOptions{},
			[]string{`["connect",false,true]`, `["disconnect","io client disconnect"]`},
			[]string{"Disconnected client namespace disconnect"},
		},
		{
			"client ping timeout",
			ServerOptions{PingInterval: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond},
			[]string{`["connect",false,true]`, `["disconnect","ping timeout"]`, `["connect",false,false]`},
			[]string{"Disconnected transport close", "Disconnected transport close"},
		},
		{
			"server ping timeout",
			ServerOptions{PingInterval: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond},
			[]string{`["connect",false,true]`, `["disconnect","transport close"]`, `["connect",false,false]`},
			[]string{"Disconnected ping timeout", "Disconnected transport close"},
		},
		{
			"killed",
			ServerOptions{},
			[]string{`["connect",false,true]`, `["disconnect","transport close"]`, `["connect",false,false]`, `["event","end"]`},
			[]string{"Disconnected transport close", "Disconnected transport close"},
		},
		{
			"killed",
			ServerOptions{Recovery: DefaultRecovery},
			[]string{
				`["connect",false,true]`,
				`["event","before","1"]`,
				`["disconnect","transport close"]`,
				`["connect",true,true]`,
				`["event","missed",1,"2"]`,
				`["event","missed",{"binary":[2]},"3"]`,
				`["event","end","4"]`,
			},
			[]string{"Disconnected transport close", "Connected recovered", "Disconnected transport close"},
		},
	} {
		t.Run(tc.scenario, func(t *testing.T) {
			lifecycle := make(chan string, 16)
			tc.options.Serve = func(_ context.Context, c *Session) { serveNPMClient(t, c, lifecycle) }
			s, address := startServer(t, tc.options)
			if got := runNPMClient(t, address, tc.scenario); !slices.Equal(got, tc.client) {
				t.Errorf("the client printed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.client, "\n"))
			}
			for _, want := range tc.server {
				select {
				case got := <-lifecycle:
					expect.Equal(t, got, want, "the server saw")
				case <-time.After(patience):
					t.Fatalf("the server did not see %s", want)
				}
			}
			s.Close()
			if len(lifecycle) > 0 {
				t.Errorf("the server saw %s, too", <-lifecycle)
			}
		})
	}
}

// serveNPMClient is the server's part of the scenarios.
func serveNPMClient(t *testing.T, c *Session, lifecycle chan<- string) {
	recovery := c.s.recovery.Load() > 0
	for ev := range c.Events() {
		var err error
		switch ev.Name {
		case "":
			if ev.Reason != ServerShuttingDown {
				lifecycle <- describe(ev)
			}
		case "echo":
			values := make([]any, len(ev.Args))
			for i, raw := range ev.Args {
				values[i] = raw
			}
			err = c.Emit("echo", values...)
		case "blob":
			var v struct {
				Data Binary `json:"data"`
			}
			err = errors.Join(ev.Args.Decode(0, &v), c.Emit("blob", v))
		case "ask":
			err = ev.Reply(ev.Args[0])
		case "ask blob":
			err = ev.Reply(binary(t, ev.Args, 0))
		case "disconnect me":
			c.Close()
		case "stop pings":
			c.do(func() { c.heartbeat.timer.Stop() })
		case "kill me":
			if recovery {
				c.Emit("before")
				// The client must have seen it: its offset is what recovery begins at.
				if seen := <-c.Events(); seen.Name != "seen" {
					t.Errorf("the client answered with %s", describe(seen))
				}
			}
			c.Drop()
			c.Emit("missed", 1)
			c.Emit("missed", Binary{2})
		case "end":
			err = c.Emit("end")
		}
		if err != nil {
			t.Errorf("%s: %v", ev.Name, err)
		}
	}
}

// startServer mounts a server on a loopback address.
func startServer(t *testing.T, o ServerOptions) (*Server, string) {
	t.Helper()
	s := NewServer(o)
	mux := http.NewServeMux()
	mux.Handle("/socket.io/", s)
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	return s, web.URL
}

func TestRequestsThatAreNoHandshake(t *testing.T) {
	_, address := startServer(t, ServerOptions{})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, tc := range []struct {
		method, query string
		code          int
		message       string
	}{
		{"GET", "", 0, "Transport unknown"},
		{"GET", "EIO=4&transport=polling", 0, "Transport unknown"},
		{"GET", "EIO=4&transport=abc", 0, "Transport unknown"},
		{"GET", "EIO=4&transport=websocket&sid=abc", 1, "Session ID unknown"},
		{"POST", "EIO=4&transport=websocket", 2, "Bad handshake method"},
		{"GET", "EIO=4&transport=websocket", 3, "Bad request"},
		{"GET", "transport=websocket", 5, "Unsupported protocol version"},
		{"GET", "EIO=3&transport=websocket", 5, "Unsupported protocol version"},
	} {
		req := must.Get(http.NewRequestWithContext(t.Context(), tc.method, address+"/socket.io/?"+tc.query, nil))(t)
		resp := must.Get(client.Do(req))(t)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var got struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err == nil {
			err = json.Unmarshal(body, &got)
		}
		if err != nil || resp.StatusCode != http.StatusBadRequest || got.Code != tc.code || got.Message != tc.message {
			t.Errorf("%s %s: %s %s %v", tc.method, tc.query, resp.Status, body, err)
		}
	}
}
