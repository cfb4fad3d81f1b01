package toolrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// mcpServer is an MCP server of the official library, which requires a key. asked counts
// its messages, without the end of a session, for which a runner does not wait.
type mcpServer struct {
	*httptest.Server
	asked atomic.Int64
	hang  chan struct{}
}

type place struct {
	City string `json:"city"`
}

type weather struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
}

const mcpKey = `Bearer top "secret" key`

func newMCPServer(t *testing.T) *mcpServer {
	t.Helper()
	s := &mcpServer{hang: make(chan struct{})}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather", Description: "The weather of a city."},
		func(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, weather, error) {
			return nil, weather{in.City, 21}, nil
		})
	text := func(name string, answer func(r *mcp.CallToolRequest) (string, error)) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := answer(r)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: err != nil}, nil
			})
	}
	text("get.forecast", func(*mcp.CallToolRequest) (string, error) { return "rain", nil })
	text("echo", func(*mcp.CallToolRequest) (string, error) { return "the key is " + mcpKey, nil })
	text("refuse", func(*mcp.CallToolRequest) (string, error) { return "no such city; key " + mcpKey, io.EOF })
	text("large", func(*mcp.CallToolRequest) (string, error) { return strings.Repeat("x", maxReply+1), nil })
	text("huge", func(*mcp.CallToolRequest) (string, error) { return strings.Repeat("x", maxMCPReply+1), nil })
	text("slow", func(*mcp.CallToolRequest) (string, error) { <-s.hang; return "", nil })
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			s.asked.Add(1)
		}
		switch {
		case r.URL.Path == "/redirect":
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") != mcpKey:
			http.Error(w, "the key "+r.Header.Get("Authorization")+" is wrong", http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		close(s.hang)
		s.CloseClientConnections()
		s.Close()
		for session := range server.Sessions() { // that no client has ended
			session.Close() //nolint:errcheck // over
		}
	})
	return s
}

func (s *mcpServer) config(change func(*store.MCPServer)) store.MCPServer {
	server := store.MCPServer{Name: "sky", URL: s.URL + "/mcp", Headers: map[string]string{"Authorization": "Bearer {{ secrets.KEY }}"}}
	if change != nil {
		change(&server)
	}
	return server
}

var mcpVars = map[string]any{"secrets.KEY": `top "secret" key`, "sys__ks": "djJ8-the-token"}

func toolNames(tools []store.ToolDef) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// TestToolsOfMCPServers are listed with names that models accept, and called with the
// secrets in the headers.
func TestToolsOfMCPServers(t *testing.T) {
	server, r := newMCPServer(t), runner(t, io.Discard)
	tools := r.Remote(t.Context(), []store.MCPServer{server.config(nil)}, []string{"weather"}, mcpVars)
	if got := toolNames(tools); got != "echo get_forecast huge large refuse slow sky_weather" {
		t.Fatalf("tools %q", got)
	}
	by := map[string]*store.ToolDef{}
	for i := range tools {
		by[tools[i].Name] = &tools[i]
	}
	by["slow"].TimeoutSeconds = 1
	if got := by["sky_weather"]; got.Description != "The weather of a city." || !strings.Contains(string(got.Parameters), `"city"`) || !got.WaitForResponse || !Here(got) {
		t.Errorf("tool %+v", got)
	}
	for name, want := range map[string]string{
		"sky_weather": `{"city":"Bonn","degrees":21}`, "get_forecast": `{"result":"rain"}`, "echo": `{"result":"the key is Bearer ***"}`,
		"refuse": `{"error":"no such city; key Bearer ***"}`, "large": "more than 262144 bytes", "huge": "more than 1048576 bytes", "slow": `{"error":"the tool took too long"}`,
	} {
		if got := string(r.Run(t.Context(), by[name], json.RawMessage(`{"city":"Bonn"}`), mcpVars)); !strings.Contains(got, want) {
			t.Errorf("%s: %.200s, want %s", name, got, want)
		}
	}
	if got := string(r.Run(t.Context(), by["sky_weather"], json.RawMessage(`{"town":"Bonn"}`), mcpVars)); !strings.Contains(got, `"error"`) || !strings.Contains(got, "town") {
		t.Errorf("a wrong argument: %s", got)
	}
}

// TestAllowedToolsOnly: an empty list allows none.
func TestAllowedToolsOnly(t *testing.T) {
	server, r := newMCPServer(t), runner(t, io.Discard)
	for want, allowed := range map[string][]string{"echo weather": {"weather", "echo", "other"}, "": {}} {
		only := server.config(func(s *store.MCPServer) { s.AllowedTools = allowed })
		expect.Equal(t, toolNames(r.Remote(t.Context(), []store.MCPServer{only}, nil, mcpVars)), want, "allowed %q", allowed)
	}
}

// TestListsAreKept for the next turns, but not for other headers.
func TestListsAreKept(t *testing.T) {
	server, r := newMCPServer(t), runner(t, io.Discard)
	list := func(vars map[string]any) int {
		return len(r.Remote(t.Context(), []store.MCPServer{server.config(nil)}, nil, vars))
	}
	first := list(mcpVars)
	asked := server.asked.Load()
	if list(mcpVars) != first || server.asked.Load() != asked {
		t.Errorf("asked again: %d requests, then %d", asked, server.asked.Load())
	}
	if n := list(map[string]any{"secrets.KEY": "another"}); n != 0 || server.asked.Load() == asked {
		t.Errorf("another key lists %d tools", n)
	}
}

// TestATurnThatEndsSaysNothingAboutAServer: the next turn has the tools of a server that was
// being asked when its turn ended.
func TestATurnThatEndsSaysNothingAboutAServer(t *testing.T) {
	server, r := newMCPServer(t), runner(t, io.Discard)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := r.Remote(ended, []store.MCPServer{server.config(nil)}, nil, mcpVars); len(got) != 0 {
		t.Errorf("a turn that has ended has the tools %q", toolNames(got))
	}
	if got := toolNames(r.Remote(t.Context(), []store.MCPServer{server.config(nil)}, nil, mcpVars)); !strings.Contains(got, "weather") {
		t.Errorf("the next turn has the tools %q", got)
	}
}

// TestATurnThatEndsWaitsForNoServer: nor for the turn that asks it.
func TestATurnThatEndsWaitsForNoServer(t *testing.T) {
	asked, hang := make(chan struct{}, 1), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-hang
	}))
	t.Cleanup(silent.Close)
	r := runner(t, io.Discard)
	ask := func(ctx context.Context) <-chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Remote(ctx, []store.MCPServer{{Name: "silent", URL: silent.URL}}, nil, nil)
		}()
		return done
	}
	first := ask(t.Context())
	<-asked
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	select {
	case <-ask(ended):
	case <-first:
		t.Error("a turn that had ended waited for the one that asked the server")
	}
	close(hang)
	<-first
}

// TestMCPServersThatFail: the others are still used, the log says why, without secrets.
func TestMCPServersThatFail(t *testing.T) {
	server := newMCPServer(t)
	for url, want := range map[string]string{
		"http://192.0.2.1/mcp": "loopback only", "http://169.254.169.254/": "loopback only", "file:///etc/passwd": "http or https",
		server.URL + "/redirect": "redirects", "http://127.0.0.1:1/{{ secrets.KEY }}": "could not be reached", "{{ none }}": "http or https",
	} {
		var log bytes.Buffer
		r := runner(t, &log)
		bad := server.config(func(s *store.MCPServer) { s.Name, s.URL = "bad", url })
		if got := toolNames(r.Remote(t.Context(), []store.MCPServer{bad, server.config(nil)}, nil, mcpVars)); !strings.Contains(got, "weather") {
			t.Errorf("%s: tools %q", url, got)
		}
		if got := log.String(); !strings.Contains(got, want) || !strings.Contains(got, "server=bad") || strings.Contains(got, "top") {
			t.Errorf("%s: log %q, want %q", url, got, want)
		}
	}
	var log bytes.Buffer
	wrong := map[string]any{"secrets.KEY": "wrong-key"}
	r := runner(t, &log)
	if got := r.Remote(t.Context(), []store.MCPServer{server.config(nil)}, nil, wrong); got != nil || !strings.Contains(log.String(), "status 401") || strings.Contains(log.String(), "wrong-key") {
		t.Errorf("a wrong key: %v, log %q", got, log.String())
	}
	line := server.config(func(s *store.MCPServer) { s.Headers["X-Line"] = "{{ secrets.KEY }}" })
	if got := r.Remote(t.Context(), []store.MCPServer{line}, nil, map[string]any{"secrets.KEY": "a\r\nb: c"}); got != nil || !strings.Contains(log.String(), "line break") {
		t.Errorf("a line break: %v, log %q", got, log.String())
	}
}

// TestServersOfAnyBytes: a server that answers with other things has no tools.
func TestServersOfAnyBytes(t *testing.T) {
	for _, reply := range []string{"", "{", `{"jsonrpc":"2.0","id":1,"result":7}`, "<html>", strings.Repeat("[", 1<<16)} {
		for _, kind := range []string{"application/json", "text/event-stream", "text/html"} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				fmt.Fprint(w, reply)
			}))
			r := runner(t, io.Discard)
			if got := r.Remote(t.Context(), []store.MCPServer{{Name: "x", URL: server.URL}}, nil, nil); got != nil {
				t.Errorf("%.20q as %s: %v", reply, kind, got)
			}
			server.Close()
		}
	}
}
