package avatar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

// house is a local service of one test, behind a front door that notes who
// comes and can be shut.
type house struct {
	*localservice.Service
	t     *testing.T
	ctx   context.Context
	door  *httptest.Server
	inner *httputil.ReverseProxy

	mu      sync.Mutex
	visits  []visit
	changed chan struct{} // closed and replaced at each visit
	guard   func(http.ResponseWriter, *http.Request) bool
}

// visit is a request and its answer.
type visit struct {
	method, path string
	body         string
	authorised   bool
	status       int
}

func newHouse(t *testing.T, o localservice.Options) *house {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	h := &house{t: t, ctx: ctx, changed: make(chan struct{})}
	h.door = httptest.NewServer(h)
	t.Cleanup(h.door.Close)
	o.PublicURL = h.door.URL
	o.Pages, o.Page = shown{os.DirFS(root)}, "/example/avatar/"
	o.Voice = "builtin" // the same sound on every machine
	for h.Service == nil {
		o.Addr = freeAddr(t)
		service, err := localservice.Start(ctx, o)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue // somebody took it in between
		}
		if err != nil {
			t.Fatal(err)
		}
		h.Service = service
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	h.inner = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: o.Addr})
			r.Out.Host = r.In.Host
		},
		// The service tells sockets from other requests by the connection.
		Transport: &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // pages that go away in the middle
	}
	return h
}

// shown is what a page may load of the project.
type shown struct{ files fs.FS }

func (s shown) Open(name string) (fs.File, error) {
	for _, dir := range []string{"example", "js/dist", "e2e/avatar/testdata"} {
		if strings.HasPrefix(name, dir+"/") || name == dir {
			return s.files.Open(name)
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// freeAddr returns an address of loopback that is free at the moment: the service
// does not tell where it listens when something stands in front of it.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// maxNoted bounds what is kept of a request's body.
const maxNoted = 1 << 16

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	guard := h.guard
	h.mu.Unlock()
	v := visit{method: r.Method, path: r.URL.Path, authorised: r.Header.Get("Authorization") != ""}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxNoted))
		if err != nil {
			return
		}
		v.body = string(body)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	}
	out := &answer{ResponseWriter: w}
	if guard == nil || !guard(out, r) {
		h.inner.ServeHTTP(out, r)
	}
	v.status = out.status
	h.mu.Lock()
	defer h.mu.Unlock()
	h.visits = append(h.visits, v)
	close(h.changed)
	h.changed = make(chan struct{})
}

// answer remembers the status.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap gives the proxy what it needs for a socket.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// shut lets guard answer in the service's place; it reports whether it did.
func (h *house) shut(guard func(http.ResponseWriter, *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.guard = guard
}

// await returns the first visit that fits, as soon as it was answered.
func (h *house) await(what string, fits func(visit) bool) visit {
	h.t.Helper()
	for {
		h.mu.Lock()
		visits, changed := h.visits, h.changed
		h.mu.Unlock()
		for _, v := range visits {
			if fits(v) {
				return v
			}
		}
		select {
		case <-changed:
		case <-h.ctx.Done():
			h.t.Fatalf("the service did not see %s; it saw %s", what, summary(visits))
		}
	}
}

func summary(visits []visit) string {
	var b strings.Builder
	for _, v := range visits {
		if !strings.HasPrefix(v.path, "/js/") && !strings.HasPrefix(v.path, "/e2e/") {
			fmt.Fprintf(&b, "\n\t%s %s %d", v.method, v.path, v.status)
		}
	}
	return b.String()
}

// awaitCompletion waits until the service was told that the thread is over.
func (h *house) awaitCompletion(thread string) {
	h.t.Helper()
	v := h.await("session_completed for "+thread, func(v visit) bool {
		return v.method == http.MethodPost && v.path == "/thread/session_completed" && strings.Contains(v.body, thread)
	})
	if v.status != http.StatusOK || !v.authorised {
		h.t.Errorf("session_completed: authorised %v, status %d", v.authorised, v.status)
	}
}

// awaitRelease waits until the service was told that nobody looks any more.
func (h *house) awaitRelease() {
	h.t.Helper()
	h.await("the DELETE of WHEP", func(v visit) bool {
		return v.method == http.MethodDelete && strings.HasPrefix(v.path, "/rtc/v1/") && v.status == http.StatusOK
	})
}

// count is how many requests so far fit.
func (h *house) count(method, prefix string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, v := range h.visits {
		if v.method == method && strings.HasPrefix(v.path, prefix) {
			n++
		}
	}
	return n
}

// control gives a command at the control address.
func (h *house) control(path string, body any) {
	h.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	info := h.Info()
	r, err := http.NewRequestWithContext(h.ctx, http.MethodPost, info.ControlURL+path, bytes.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+info.ControlToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("control %s: %s %s", path, resp.Status, text)
	}
}

// only returns the one session that the service has.
func (h *house) only() live.Info {
	h.t.Helper()
	sessions := h.Sessions(h.ctx)
	if len(sessions) != 1 {
		h.t.Fatalf("the service has %d sessions, want 1", len(sessions))
	}
	return sessions[0]
}

// asked returns what the user said in a thread, as the service keeps it, oldest
// first.
func (h *house) asked(thread string) []string {
	h.t.Helper()
	info := h.Info()
	reply, err := http.PostForm(info.OVPURL+"/service/session/action/start", url.Values{
		"secret": {info.AdminSecret}, "partnerId": {fmt.Sprint(info.PartnerID)}, "type": {"2"}, "format": {"1"},
		"userId": {"tester"}, "privileges": {"disableentitlement"},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	var admin string
	h.decode(reply, &admin)
	filter := fmt.Sprintf(`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":%q}}`, thread)
	r, err := http.NewRequestWithContext(h.ctx, http.MethodPost, info.GenieURL+"/message/list", strings.NewReader(filter))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Authorization", "KS "+admin)
	r.Header.Set("Content-Type", "application/json")
	if reply, err = http.DefaultClient.Do(r); err != nil {
		h.t.Fatal(err)
	}
	var list struct {
		Objects []struct {
			Type    string
			Content []struct{ Content json.RawMessage }
		}
	}
	h.decode(reply, &list)
	var said []string
	for _, m := range list.Objects {
		if m.Type == "human" {
			var text string
			if err := json.Unmarshal(m.Content[0].Content, &text); err != nil {
				h.t.Fatal(err)
			}
			said = append(said, text)
		}
	}
	return said
}

func (h *house) decode(r *http.Response, out any) {
	h.t.Helper()
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(body, out); err != nil || r.StatusCode != http.StatusOK {
		h.t.Fatalf("%s %s: %s %s", r.Request.Method, r.Request.URL.Path, r.Status, body)
	}
}
