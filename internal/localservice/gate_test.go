package localservice_test

import (
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestForeignHostsAndOrigins: a name that another site has pointed at this machine
// and pages of other sites are refused, on every path.
func TestForeignHostsAndOrigins(t *testing.T) {
	t.Parallel()
	closed := servicetest.Start(t, localservice.Options{}).Info()
	open := servicetest.Start(t, localservice.Options{
		AllowHosts: []string{"Agent.Test"}, AllowOrigins: []string{"https://page.example/"}, AllowPrivateNetwork: true,
	}).Info()
	for _, tt := range []struct {
		address, host, origin string
		status                int
	}{
		{closed.GenieURL, "", "", 401},
		{closed.GenieURL, "localhost:1", "http://localhost:2", 401},
		{closed.GenieURL, "[::1]:1", "http://app.localhost", 401},
		{closed.GenieURL, "evil.example", "", 421},
		{closed.GenieURL, "127.0.0.1.evil.example", "", 421},
		{closed.GenieURL, "192.168.0.7", "", 421},
		{closed.GenieURL, "localhost.evil.example:8080", "", 421},
		{closed.GenieURL, "", "https://evil.example", 403},
		{closed.GenieURL, "", "http://localhost.evil.example", 403},
		{closed.GenieURL, "", "null", 403},
		{closed.GenieURL, "", "file://", 403},
		{open.GenieURL, "agent.test:80", "https://page.example", 401},
		{open.GenieURL, "", "http://agent.test", 401},
		{open.GenieURL, "evil.example", "https://page.example", 421},
		{open.GenieURL, "", "https://other.example", 403},
		{closed.ControlURL, "", "", 401},
		{closed.ControlURL, "evil.example", "", 421},
		{closed.ControlURL, "", "https://evil.example", 403},
	} {
		for _, path := range []string{"/assistant/status", "/socket.io/?EIO=4&transport=websocket", "/rtc/v1/stv/a/whep/session/b", "/service.json"} {
			r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, tt.address+path, nil))(t)
			r.Host = tt.host
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			reply := must.Get(client.Do(r))(t)
			reply.Body.Close()
			refused := reply.StatusCode == 403 || reply.StatusCode == 421
			if refused != (tt.status == 403 || tt.status == 421) || refused && reply.StatusCode != tt.status ||
				path == "/assistant/status" && reply.StatusCode != tt.status {
				t.Errorf("%s as %q from %q: %s, want %d", tt.address+path, tt.host, tt.origin, reply.Status, tt.status)
			}
		}
	}
}

// TestCrossOriginHeaders: only the API and the addresses are for pages of other origins, and a page from
// the public network is let in only when that was asked for.
func TestCrossOriginHeaders(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		info := servicetest.Start(t, localservice.Options{AllowPrivateNetwork: allowed}).Info()
		header := http.Header{"Origin": {"http://localhost:1"}, "Access-Control-Request-Private-Network": {"true"}}
		reply, _ := fetch(t, http.MethodOptions, info.GenieURL+"/assistant/converse", header)
		if got := reply.Header.Get("Access-Control-Allow-Private-Network"); (got == "true") != allowed {
			t.Errorf("the preflight allows the private network: %q, want %t", got, allowed)
		}
		expect.Equal(t, reply.Header.Get("Access-Control-Allow-Origin"), "http://localhost:1", "the preflight allows")
		if reply, _ := fetch(t, http.MethodGet, info.GenieURL+"/service.json", header); reply.Header.Get("Access-Control-Allow-Origin") != "http://localhost:1" {
			t.Errorf("the addresses may be read by %q", reply.Header.Get("Access-Control-Allow-Origin"))
		}
		for _, path := range []string{"/knowledge/", "/knowledge/agentruntime.md", "/oauth/consent"} {
			if reply, _ := fetch(t, http.MethodGet, info.GenieURL+path, header); reply.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s lets other pages read it", path)
			}
		}
	}
}
