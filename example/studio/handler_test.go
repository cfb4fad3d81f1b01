package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
