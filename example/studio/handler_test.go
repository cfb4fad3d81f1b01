package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/agenttest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
	"github.com/agentruntime/agentruntime/management"
)

// TestOnlyItsOwnPageMayAsk: a page of another site can't use the rights that the
// studio's server has.
func TestOnlyItsOwnPageMayAsk(t *testing.T) {
	t.Parallel()
	asked := 0
	h := onlyOwnPage(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	for name, tt := range map[string]struct {
		host, origin, site string
		want               int
	}{
		"its own page":                {"127.0.0.1:8081", "http://127.0.0.1:8081", "same-origin", http.StatusOK},
		"its own page, by name":       {"localhost:8081", "http://localhost:8081", "same-origin", http.StatusOK},
		"IPv6":                        {"[::1]:8081", "http://[::1]:8081", "same-origin", http.StatusOK},
		"a program":                   {"127.0.0.1:8081", "", "", http.StatusOK},
		"another site":                {"127.0.0.1:8081", "https://example.com", "cross-site", http.StatusForbidden},
		"another site, old browser":   {"127.0.0.1:8081", "https://example.com", "", http.StatusForbidden},
		"another port":                {"127.0.0.1:8081", "http://127.0.0.1:9999", "same-site", http.StatusForbidden},
		"a name that leads to it":     {"rebound.example:8081", "http://rebound.example:8081", "same-origin", http.StatusMisdirectedRequest},
		"an address that leads to it": {"192.0.2.1:8081", "http://192.0.2.1:8081", "same-origin", http.StatusMisdirectedRequest},
		"in upper case":               {"LOCALHOST:8081", "", "", http.StatusOK},
		"with the dot of the root":    {"localhost.:8081", "", "", http.StatusOK},
		"IPv6 without a port":         {"[::1]", "", "", http.StatusOK},
		"no host":                     {"", "", "", http.StatusMisdirectedRequest},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/agents", strings.NewReader("{}"))
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if tt.site != "" {
			r.Header.Set("Sec-Fetch-Site", tt.site)
		}
		before := asked
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.want || (asked > before) != (tt.want == http.StatusOK) {
			t.Errorf("%s: %d, want %d", name, w.Code, tt.want)
		}
	}
}

// TestOnlyThePageIsServed: the page's files are beside the sources of the server.
func TestOnlyThePageIsServed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHandler(nil, func(string) string { return "" }))
	defer server.Close()
	for _, path := range []string{"/", "/index.html", "/main.js", "/style.css", "/icon.svg", "/shared/dom.js", "/shared/base.css", "/shared/tokens.css"} {
		if reply, body := rawhttp.Get(t, server.URL, path, "localhost"); reply.StatusCode != http.StatusOK || body == "" {
			t.Errorf("%s: %s", path, reply.Status)
		}
	}
	for _, path := range []string{
		"/shared/", "/shared", "/handler.go", "/main.go", "/shared/shared.go", "/%2e%2e/shared/shared.go", "/shared/%2e%2e/studio/main.go", "/..%2fshared%2fdom.js",
		"/shared/..%5cdom.js", "/shared/%2e%2e/main.js", "/%00", "/api/", "/api",
	} {
		if reply, body := rawhttp.Get(t, server.URL, path, "localhost"); reply.StatusCode != http.StatusNotFound && reply.Header.Get("Location") != "/shared/" {
			t.Errorf("%s: %s %.60q", path, reply.Status, body)
		}
	}
}

// TestThePageIsOnLoopbackOnly: a client that can connect has full control of the account.
func TestThePageIsOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":0", "0.0.0.0:0", "192.0.2.1:0"} {
		if l, err := listen(addr); err == nil {
			l.Close()
			t.Errorf("it listens on %s", addr)
		}
	}
}

// TestWhatAnotherAgentHasIsKept when an agent is deleted, and goes with the last one.
func TestWhatAnotherAgentHasIsKept(t *testing.T) {
	info := agenttest.NewServer(t).Info()
	client, err := management.New(management.Options{PartnerID: info.PartnerID, Secret: info.AdminSecret, UserID: "studio", Config: info.Config})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	h := newHandler(client, func(string) string { return "" })
	one, err := client.Agents.Get(t.Context(), info.Agents[0].AgentID)
	if err != nil {
		t.Fatal(err)
	}
	two, err := client.Agents.Create(t.Context(), management.AgentInput{DisplayName: "Two", Intellect: one.Intellect, AvatarIDs: one.AvatarIDs})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{one.ID, two.ID}
	for _, other := range info.Agents[1:] { // with the last one nobody has the service's documents, which stay
		ids = append(ids, other.AgentID)
	}
	for _, id := range ids {
		r := httptest.NewRequest(http.MethodDelete, "/api/agents/"+id, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		expect.Equal(t, w.Code, http.StatusOK, "%s", w.Body)
		_, intellect := client.Intellects.Get(t.Context(), one.Intellect.ID)
		_, avatar := client.Avatars.Get(t.Context(), one.AvatarIDs[0])
		if kept := id == one.ID; (intellect == nil) != kept || (avatar == nil) != kept {
			t.Errorf("after %s: %v, %v", id, intellect, avatar)
		}
	}
}
