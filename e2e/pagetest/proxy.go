package pagetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/must"
)

// maxBody bounds the recorded part of a request's body, in bytes.
const maxBody = 1 << 16

// Request is a recorded request with the status of its response.
type Request struct {
	Method, Path string
	Body         string // of a POST, its beginning
	Authorised   bool   // with an Authorization header
	Status       int    // 0 when the client disconnected before the response
	over         bool   // the response has ended, or the client has disconnected
}

// Interceptor may respond to a request instead of the service; it reports whether it did.
type Interceptor func(http.ResponseWriter, *http.Request) bool

// proxy records requests and forwards them to the service.
type proxy struct {
	inner *httputil.ReverseProxy

	mu          sync.Mutex
	requests    []Request     // in the order in which they began
	changed     chan struct{} // closed and replaced at the end of each request
	interceptor Interceptor
}

func newProxy() *proxy { return &proxy{changed: make(chan struct{})} }

// forwardTo sets the address of the service, before the first request.
func (d *proxy) forwardTo(addr string) {
	d.inner = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: addr})
			r.Out.Host = r.In.Host
		},
		// The service distinguishes sockets from other requests by the connection.
		Transport: &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // it would report pages that are closed in the middle of a response
	}
}

func (d *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	interceptor := d.interceptor
	d.mu.Unlock()
	v := Request{Method: r.Method, Path: r.URL.Path, Authorised: r.Header.Get("Authorization") != ""}
	out := &statusWriter{ResponseWriter: w}
	i := d.begin(v)
	// Deferred, because the reverse proxy panics when a client disconnects in the middle of a
	// response.
	defer func() {
		v.Status, v.over = out.status, true
		d.end(i, v)
	}()
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			return
		}
		v.Body = string(body)
		var all io.Reader = bytes.NewReader(body)
		// A body that was read to its end must not be read again: the server closes it
		// when the response begins, and the transport reports that as a failure.
		if len(body) == maxBody {
			all = io.MultiReader(all, r.Body)
		}
		r.Body = io.NopCloser(all)
	}
	if lateParts && strings.Contains(r.URL.Path, ".rest-") {
		select {
		case <-time.After(lateness):
		case <-r.Context().Done():
		}
	}
	if strings.HasPrefix(r.URL.Path, "/e2e/") && strings.HasSuffix(r.URL.Path, "/testdata/") {
		r.URL.Path = Stage
	}
	if interceptor == nil || !interceptor(out, r) {
		d.inner.ServeHTTP(out, r)
	}
}

// Stage is the page that a [Server] has at each address /e2e/*/testdata/, so that scripts are relative to the test's folder.
const Stage = "/e2e/pagetest/page/stage.html"

// lateParts delays the second parts of the programs by lateness, for make late.
var lateParts = os.Getenv("AGENTRUNTIME_LATE") != ""

const lateness = 5 * time.Second

// begin records a request and returns its index.
func (d *proxy) begin(v Request) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, v)
	return len(d.requests) - 1
}

// end records the end of request i.
func (d *proxy) end(i int, v Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests[i] = v
	close(d.changed)
	d.changed = make(chan struct{})
}

// seen returns the requests so far, and a channel that is closed when the next one ends.
func (d *proxy) seen() ([]Request, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests), d.changed
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (a *statusWriter) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the reverse proxy flush and hijack the connection.
func (a *statusWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Intercept makes interceptor answer requests from now on; nil ends that.
func (h *Server) Intercept(interceptor Interceptor) {
	h.proxy.mu.Lock()
	defer h.proxy.mu.Unlock()
	h.proxy.interceptor = interceptor
}

// Refuse answers requests whose path has that prefix with a status, until Intercept ends it.
func (h *Server) Refuse(prefix string, status int) {
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		refused := strings.HasPrefix(r.URL.Path, prefix)
		if refused {
			w.WriteHeader(status)
		}
		return refused
	})
}

// Requests returns the requests that have ended, in the order in which they began.
func (h *Server) Requests() []Request {
	requests, _ := h.proxy.seen()
	return slices.DeleteFunc(requests, func(v Request) bool { return !v.over })
}

// Count returns how many requests with that method and a path with that prefix have
// begun. It counts requests that have not ended, because a page may have received the
// response before the proxy records its end.
func (h *Server) Count(method, prefix string) int {
	requests, _ := h.proxy.seen()
	n := 0
	for _, v := range requests {
		if v.Method == method && strings.HasPrefix(v.Path, prefix) {
			n++
		}
	}
	return n
}

// Await waits until a request for which fits is true has ended, and returns the first one.
func (h *Server) Await(what string, fits func(Request) bool) Request {
	h.t.Helper()
	v, ok := h.await(h.ctx, fits)
	if !ok {
		h.t.Fatalf("the service did not see %s; it saw %s", what, summary(h.Requests()))
	}
	return v
}

// await is Await until ctx ends.
func (h *Server) await(ctx context.Context, fits func(Request) bool) (v Request, ok bool) {
	for {
		requests, changed := h.proxy.seen()
		if i := slices.IndexFunc(requests, func(v Request) bool { return v.over && fits(v) }); i >= 0 {
			return requests[i], true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return v, false
		}
	}
}

func summary(requests []Request) string {
	var b strings.Builder
	for _, v := range requests {
		if !strings.HasPrefix(v.Path, "/js/") && !strings.HasPrefix(v.Path, "/e2e/") {
			fmt.Fprintf(&b, "\n\t%s %s %d", v.Method, v.Path, v.Status)
		}
	}
	return b.String()
}

// reportsEnd returns a filter for the request that reports the end of a thread.
func reportsEnd(thread string) func(Request) bool {
	return func(v Request) bool {
		return v.Method == http.MethodPost && v.Path == "/thread/session_completed" && strings.Contains(v.Body, thread)
	}
}

const (
	// closeTries is for a busy machine: Chromium ends a tab half a second after the
	// request to close it, even if its page has not handled that yet.
	closeTries    = 6
	closePatience = 10 * time.Second
)

// CloseUntilReported closes a tab with conversations, and waits until the ends of their
// threads were reported to the service. When the browser ended the tab before its page had
// handled pagehide, it tries again with another tab.
func CloseUntilReported(t *testing.T, begin func() (h *Server, p *Page, threads []string)) *Server {
	t.Helper()
	for range closeTries {
		h, p, threads := begin()
		p.Do(nil, `addEventListener("pagehide", () => localStorage.setItem("handled", ""))`) // after those of the sessions
		p.CloseTab()
		ctx, cancel := context.WithTimeout(h.ctx, closePatience)
		reported := !slices.ContainsFunc(threads, func(thread string) bool {
			_, ok := h.await(ctx, reportsEnd(thread))
			return !ok
		})
		cancel()
		var handled bool
		must.Do(t, p.NewTab(h.URL+"/service.json").Eval(h.ctx, `localStorage.getItem("handled") !== null`, &handled))
		switch {
		case handled && reported:
			for _, thread := range threads {
				h.AwaitSessionCompleted(thread)
			}
			return h
		case handled:
			t.Fatalf("the page has handled pagehide, and the service saw %s", summary(h.Requests()))
		}
		t.Log("the browser ended a tab before its page had handled pagehide")
	}
	t.Fatal("this machine is too busy: the browser ends each tab before its page has handled pagehide")
	return nil
}

// Reported waits up to closePatience for the report of a thread's end, and returns whether
// the report was received.
func (h *Server) Reported(thread string) bool {
	ctx, cancel := context.WithTimeout(h.ctx, closePatience)
	defer cancel()
	_, ok := h.await(ctx, reportsEnd(thread))
	return ok
}

// AwaitSessionCompleted waits until the end of the thread was reported to the service.
func (h *Server) AwaitSessionCompleted(thread string) {
	h.t.Helper()
	v := h.Await("session_completed for "+thread, reportsEnd(thread))
	if v.Status != http.StatusOK || !v.Authorised {
		h.t.Errorf("session_completed: authorised %v, status %d", v.Authorised, v.Status)
	}
}

// AwaitUnsubscribe waits until the page has ended its WHEP session.
func (h *Server) AwaitUnsubscribe() {
	h.t.Helper()
	h.Await("the DELETE of WHEP", func(v Request) bool {
		return v.Method == http.MethodDelete && strings.HasPrefix(v.Path, "/rtc/v1/") && v.Status == http.StatusOK
	})
}
