//go:build !js

package socketio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/browsertest"
)

// nodeModules returns the directory of the official packages. Without them the
// test is skipped, but not where AGENTRUNTIME_REQUIRE_NODE says that they must
// be there.
func nodeModules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../js/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "socket.io")); err != nil {
		if os.Getenv("AGENTRUNTIME_REQUIRE_NODE") == "" {
			t.Skip("needs the npm packages: npm --prefix js ci")
		}
		t.Fatal(err)
	}
	return dir
}

// startNPMServer runs the official server until the test ends.
func startNPMServer(t *testing.T) (address string) {
	t.Helper()
	cmd := exec.Command("node", "testdata/npm-server.mjs", nodeModules(t))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // it ends by itself
		stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer stop.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("read the server's address: %v", err)
	}
	return strings.TrimSpace(line)
}

func TestClientAgainstNPMServer(t *testing.T) {
	againstNPM(t, startNPMServer(t))
}

// TestClientInChromium runs the same list, and all that this package tests
// without the system's help, in a page.
func TestClientInChromium(t *testing.T) {
	out := browsertest.GoTest(t, "AGENTRUNTIME_SIO_URL="+startNPMServer(t))
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
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "testdata/npm-client.mjs", nodeModules(t), address, scenario)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v; it printed\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestNPMClientAgainstServer(t *testing.T) {
	nodeModules(t)
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
				`["event","question",{"binary":[6]}]`,
				`["event","answered","answer",{"binary":[7]}]`,
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
				`["event","seen?"]`,
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
			tc.options.Serve = func(ctx context.Context, c *Conn) { serveNPMClient(ctx, t, c, lifecycle) }
			s, address := startServer(t, tc.options)
			if got := runNPMClient(t, address, tc.scenario); !slices.Equal(got, tc.client) {
				t.Errorf("the client printed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.client, "\n"))
			}
			for _, want := range tc.server {
				select {
				case got := <-lifecycle:
					if got != want {
						t.Errorf("the server saw %s, want %s", got, want)
					}
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
func serveNPMClient(ctx context.Context, t *testing.T, c *Conn, lifecycle chan<- string) {
	recovery := c.s.recovery.Load() > 0
	for ev := range c.Events() {
		var err error
		switch ev.Name {
		case "":
			if ev.Reason != ServerShuttingDown {
				lifecycle <- describe(ev)
			}
		case "echo":
			values := make([]any, ev.Args.Len())
			for i := range values {
				values[i] = ev.Args.Raw(i)
			}
			err = c.Emit("echo", values...)
		case "blob":
			var v struct {
				Data Binary `json:"data"`
			}
			err = errors.Join(ev.Args.Decode(0, &v), c.Emit("blob", v))
		case "ask":
			err = ev.Reply(ev.Args.Raw(0))
		case "ask blob":
			data, _ := ev.Args.Bytes(0)
			err = ev.Reply(Binary(data))
		case "ask me":
			var answer Args
			if answer, err = c.Call(ctx, "question", Binary{6}); err == nil {
				data, _ := answer.Bytes(1)
				err = errors.Join(c.Emit("answered", answer.Raw(0), Binary(data)), c.Emit("end"))
			}
		case "disconnect me":
			c.Close()
		case "stop pings":
			c.do(func() { c.slink.heart.timer.Stop() })
		case "kill me":
			if recovery {
				c.Emit("before")
				// The client must have seen it: its offset is what recovery begins at.
				_, err = c.Call(ctx, "seen?")
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
		req, err := http.NewRequestWithContext(t.Context(), tc.method, address+"/socket.io/?"+tc.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
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
