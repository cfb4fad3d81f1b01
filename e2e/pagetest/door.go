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
	"slices"
	"strings"
	"sync"
	"time"
)

// maxNoted bounds what is kept of a request's body, in bytes.
const maxNoted = 1 << 16

// Visit is a request that came through the front door, and its answer.
type Visit struct {
	Method, Path string
	Body         string // of a POST, its beginning
	Authorised   bool   // with an Authorization header
	Status       int    // 0 when the visitor left before there was one
}

// Guard answers a request in the service's place; it reports whether it did.
type Guard func(http.ResponseWriter, *http.Request) bool

// door notes who comes and passes them on.
type door struct {
	inner *httputil.ReverseProxy

	mu      sync.Mutex
	visits  []Visit
	changed chan struct{} // closed and replaced at each visit
	guard   Guard
}

func newDoor() *door { return &door{changed: make(chan struct{})} }

// leadTo names the address behind the door, before anybody comes.
func (d *door) leadTo(addr string) {
	d.inner = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: addr})
			r.Out.Host = r.In.Host
		},
		// The service tells sockets from other requests by the connection.
		Transport: &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // pages that go away in the middle
	}
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	guard := d.guard
	d.mu.Unlock()
	v := Visit{Method: r.Method, Path: r.URL.Path, Authorised: r.Header.Get("Authorization") != ""}
	out := &answer{ResponseWriter: w}
	// The proxy panics when a visitor leaves in the middle of an answer.
	defer func() {
		v.Status = out.status
		d.note(v)
	}()
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxNoted))
		if err != nil {
			return
		}
		v.Body = string(body)
		var all io.Reader = bytes.NewReader(body)
		// What has been read to its end must not be read again: the server closes it
		// when an answer begins, and the transport takes that for a failure.
		if len(body) == maxNoted {
			all = io.MultiReader(all, r.Body)
		}
		r.Body = io.NopCloser(all)
	}
	if guard == nil || !guard(out, r) {
		d.inner.ServeHTTP(out, r)
	}
}

func (d *door) note(v Visit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.visits = append(d.visits, v)
	close(d.changed)
	d.changed = make(chan struct{})
}

// seen returns the visits so far, and what is closed at the next one.
func (d *door) seen() ([]Visit, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.visits, d.changed
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

// Unwrap gives the proxy what it needs for a socket and for a stream.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Shut lets guard answer what comes from now on; nil opens the door again.
func (h *House) Shut(guard Guard) {
	h.door.mu.Lock()
	defer h.door.mu.Unlock()
	h.door.guard = guard
}

// Visits returns the visits so far that are over, in the order of their ends.
func (h *House) Visits() []Visit {
	visits, _ := h.door.seen()
	return slices.Clone(visits)
}

// Count is how many visits so far have that method and begin with that path.
func (h *House) Count(method, prefix string) int {
	n := 0
	for _, v := range h.Visits() {
		if v.Method == method && strings.HasPrefix(v.Path, prefix) {
			n++
		}
	}
	return n
}

// Await returns the first visit that fits, as soon as it is over.
func (h *House) Await(what string, fits func(Visit) bool) Visit {
	h.t.Helper()
	v, ok := h.await(h.ctx, fits)
	if !ok {
		h.t.Fatalf("the service did not see %s; it saw %s", what, summary(h.Visits()))
	}
	return v
}

// await is Await until ctx ends.
func (h *House) await(ctx context.Context, fits func(Visit) bool) (v Visit, ok bool) {
	for {
		visits, changed := h.door.seen()
		if i := slices.IndexFunc(visits, fits); i >= 0 {
			return visits[i], true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return v, false
		}
	}
}

func summary(visits []Visit) string {
	var b strings.Builder
	for _, v := range visits {
		if !strings.HasPrefix(v.Path, "/js/") && !strings.HasPrefix(v.Path, "/e2e/") {
			fmt.Fprintf(&b, "\n\t%s %s %d", v.Method, v.Path, v.Status)
		}
	}
	return b.String()
}

// completes says which visit tells that the thread is over.
func completes(thread string) func(Visit) bool {
	return func(v Visit) bool {
		return v.Method == http.MethodPost && v.Path == "/thread/session_completed" && strings.Contains(v.Body, thread)
	}
}

const (
	// leaveTries and leavePatience are for a machine that is busy: Chromium ends a tab
	// half a second after it was told to, whatever its page has still to do.
	leaveTries    = 3
	leavePatience = 10 * time.Second
)

// LeaveUntilTold closes the tab of a conversation, and waits until the service was
// told that its thread is over. It may take a few tabs.
func (h *House) LeaveUntilTold(begin func() (p *Page, thread string)) {
	h.t.Helper()
	for range leaveTries {
		p, thread := begin()
		p.Leave()
		ctx, cancel := context.WithTimeout(h.ctx, leavePatience)
		_, told := h.await(ctx, completes(thread))
		cancel()
		if told {
			h.AwaitCompletion(thread)
			return
		}
		h.t.Logf("a tab was ended before its page heard of it")
	}
	h.t.Fatalf("the service was never told; it saw %s", summary(h.Visits()))
}

// AwaitCompletion waits until the service was told that the thread is over.
func (h *House) AwaitCompletion(thread string) {
	h.t.Helper()
	v := h.Await("session_completed for "+thread, completes(thread))
	if v.Status != http.StatusOK || !v.Authorised {
		h.t.Errorf("session_completed: authorised %v, status %d", v.Authorised, v.Status)
	}
}

// AwaitRelease waits until the service was told that nobody looks any more.
func (h *House) AwaitRelease() {
	h.t.Helper()
	h.Await("the DELETE of WHEP", func(v Visit) bool {
		return v.Method == http.MethodDelete && strings.HasPrefix(v.Path, "/rtc/v1/") && v.Status == http.StatusOK
	})
}
