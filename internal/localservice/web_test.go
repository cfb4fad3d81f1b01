package localservice_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/pageserver"
)

// fetch gets a page.
func fetch(t *testing.T, method, address string, header http.Header) (*http.Response, string) {
	t.Helper()
	return send(t, method, address, header, "")
}

// pages are all files of fsys.
func pages(fsys fs.FS) *pageserver.Files {
	return &pageserver.Files{FS: fsys, Paths: []string{"."}}
}

// TestPages: what is served, and in which form, is tested by the package pageserver.
func TestPages(t *testing.T) {
	t.Parallel()
	base := servicetest.Start(t, localservice.Options{Page: "/example/avatar/", Pages: pages(fstest.MapFS{
		"example/avatar/index.html": {Data: []byte("<p>page")},
	})}).Info().GenieURL
	if reply, _ := fetch(t, "GET", base, nil); reply.StatusCode != http.StatusFound || reply.Header.Get("Location") != "/example/avatar/" {
		t.Errorf("/: %s to %q", reply.Status, reply.Header.Get("Location"))
	}
	reply, body := fetch(t, "GET", base+"/example/avatar/", nil)
	if policy := reply.Header.Get("Content-Security-Policy"); body != "<p>page" || !strings.Contains(policy, "script-src 'self' 'wasm-unsafe-eval';") {
		t.Errorf("%s %q, policy %q", reply.Status, body, policy)
	}
}

func TestPageLearnsNoSecret(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, localservice.Options{Page: "/x/", Pages: pages(fstest.MapFS{})})
	info := s.Info()
	reply, body := fetch(t, "GET", info.GenieURL+"/service.json", nil)
	var page localservice.PageInfo
	if err := json.Unmarshal([]byte(body), &page); err != nil || reply.StatusCode != 200 {
		t.Fatalf("%d %v in %s", reply.StatusCode, err, body)
	}
	if page.Addresses.OVPURL != info.OVPURL || len(page.Agents) != 6 || !page.Session.AllowPrivateHosts {
		t.Errorf("got %s", body)
	}
	for _, secret := range []string{info.AdminSecret, info.ControlToken} {
		if strings.Contains(body, secret) {
			t.Error("a page is told a secret")
		}
	}
}

// TestLinks breaks one kind of traffic at a time, on one port.
func TestLinks(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{}, "silent")
	set := func(conditions map[string]string) { control(t, c.info, "/links", conditions) }

	set(map[string]string{"sockets": "cut"})
	c.emit("checkAvailability", map[string]any{})
	c.quiet(300 * time.Millisecond)
	fetch(t, "GET", c.info.OVPURL+"/service/system/action/ping?format=1", nil) // HTTP goes on
	set(map[string]string{"sockets": "none"})
	c.expect("availabilityResult")

	set(map[string]string{"http": "delay=300ms"})
	c.emit("checkAvailability", map[string]any{})
	c.expect("availabilityResult")
	began := time.Now()
	fetch(t, "GET", c.info.OVPURL+"/service/system/action/ping?format=1", nil)
	if took := time.Since(began); took < 600*time.Millisecond {
		t.Errorf("a request over a link of 300 ms took %v", took)
	}
}

func TestControlAddress(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{}, "silent")
	command := func(method, token, path, body string) (int, string) {
		t.Helper()
		reply, text := send(t, method, c.info.ControlURL+path, http.Header{"Authorization": {"Bearer " + token}}, body)
		var answer struct {
			Error struct{ Code string }
		}
		_ = json.Unmarshal([]byte(text), &answer) // a reply that is no error has another form
		return reply.StatusCode, answer.Error.Code
	}
	for _, tt := range []struct {
		method, token, path, body string
		status                    int
		code                      string
	}{
		{"GET", "", "/sessions", "", 401, "unauthorized"},
		{"GET", c.info.AdminSecret, "/sessions", "", 401, "unauthorized"},
		{"GET", c.info.ControlToken, "/sessions", "", 200, ""},
		{"GET", c.info.ControlToken, "/sessions/newest", "", 200, ""},
		{"GET", c.info.ControlToken, "/sessions/nobody", "", 404, "no_session"},
		{"POST", c.info.ControlToken, "/sessions/newest/dance", "", 404, "no_command"},
		{"POST", c.info.ControlToken, "/sessions/newest/expire-pause", "", 409, "not_paused"},
		{"POST", c.info.ControlToken, "/sessions/newest/fatal", `{"event":"showAgent"}`, 400, "not_fatal"},
		{"POST", c.info.ControlToken, "/sessions/newest/send", `{}`, 400, "bad_request"},
		{"POST", c.info.ControlToken, "/capacity", `{"exhuasted":true}`, 400, "bad_request"},
		{"POST", c.info.ControlToken, "/links", `{"moon":"cut"}`, 400, "bad_request"},
		{"POST", c.info.ControlToken, "/links", `{"relay":"loss=200%"}`, 400, "bad_request"},
	} {
		status, code := command(tt.method, tt.token, tt.path, tt.body)
		if status != tt.status || code != tt.code {
			t.Errorf("%s %s %s: %d %q, want %d %q", tt.method, tt.path, tt.body, status, code, tt.status, tt.code)
		}
	}
	c.emit("pauseConversation", map[string]any{})
	c.emit("checkAvailability", map[string]any{})
	c.expect("availabilityResult")
	if status, _ := command("POST", c.info.ControlToken, "/sessions/"+c.thread+"/expire-pause", ""); status != 200 {
		t.Errorf("expire-pause: %d", status)
	}
	c.expect("pauseSessionExpired", "sessionReadyForResume")
	if status, code := command("POST", c.info.ControlToken, "/sessions/newest/kill-media", ""); status != 409 || code != "no_media" {
		t.Errorf("kill-media: %d %q", status, code)
	}
	if status, _ := command("POST", c.info.ControlToken, "/sessions/newest/fail-video", ""); status != 200 {
		t.Errorf("fail-video: %d", status)
	}
	c.expect("stvTaskFail", "disconnect io server disconnect")
}

// The control API is for the service's own pages only when that is asked for, and never for
// those of another origin.
func TestPageControl(t *testing.T) {
	t.Parallel()
	files := pages(fstest.MapFS{"example/avatar/index.html": {Data: []byte("<p>page")}})
	own := servicetest.Start(t, localservice.Options{Page: "/example/avatar/", Pages: files, PageControl: true}).Info().GenieURL
	for _, tt := range []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{"POST", "/control/capacity", http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {own}}, 200},
		{"GET", "/control/sessions", nil, 200},
		{"POST", "/control/moon", http.Header{"Sec-Fetch-Site": {"same-origin"}}, 404},
		{"POST", "/control/capacity", http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://localhost:3000"}}, 403},
		{"POST", "/control/capacity", http.Header{"Origin": {"http://localhost:3000"}}, 403},
		{"POST", "/control/capacity", http.Header{"Origin": {"https://evil.example"}}, 403},
	} {
		if reply, body := fetch(t, tt.method, own+tt.path, tt.header); reply.StatusCode != tt.status {
			t.Errorf("%s %s with %v: %s %s, want %d", tt.method, tt.path, tt.header, reply.Status, body, tt.status)
		}
	}
	if _, body := fetch(t, "GET", own+"/service.json", nil); !strings.Contains(body, `"control":"/control"`) {
		t.Errorf("the page is told %s", body)
	}
	other := servicetest.Start(t, localservice.Options{Page: "/example/avatar/", Pages: files}).Info().GenieURL
	if reply, _ := fetch(t, "GET", other+"/control/sessions", nil); reply.StatusCode != 404 {
		t.Errorf("without the option: %s", reply.Status)
	}
	if _, err := localservice.Start(t.Context(), localservice.Options{PageControl: true, AllowPublic: true}); err == nil {
		t.Error("other machines could control the service")
	}
}
