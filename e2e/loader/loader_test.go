package loader

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const dist = "../../js/dist"

// probeDir has the program of the probe. It is in the module above, like all that is built for the page.
const probeDir = "./internal/page/testdata/probe"

func TestMain(m *testing.M) { pagetest.Main(m, browsertest.Options{}) }

// site serves js/dist under /a/ and /b/, testdata, the probe and a page for each test.
type site struct {
	*httptest.Server
	mux *http.ServeMux

	mu   sync.Mutex
	hits map[string]int
}

// newSite returns a site whose page has the given body and, unless it is empty,
// that Content-Security-Policy.
func newSite(t *testing.T, body, policy string) *site {
	t.Helper()
	s := &site{mux: http.NewServeMux(), hits: map[string]int{}}
	s.mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, copy := range []string{"/a/", "/b/"} {
		s.mux.Handle(copy, http.StripPrefix(copy, http.FileServer(http.Dir(dist))))
	}
	s.mux.Handle("/testdata/", http.FileServer(http.Dir(".")))
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html>"+body)
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits[r.URL.Path]++
		s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// file serves fixed bytes.
func (s *site) file(path, contentType string, data []byte) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Write(data)
	})
}

func (s *site) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// page opens the site's page.
func (s *site) page(t *testing.T) *pagetest.Page {
	t.Helper()
	p := pagetest.Open(t, s.URL+"/")
	p.Prelude = prelude
	return p
}

// prelude gives each script the module as a and a function that turns a
// rejection into plain data.
const prelude = `const a = await import("/a/index.js")
	const failure = (promise) => promise.then(
		(value) => ({value}),
		(e) => ({...JSON.parse(JSON.stringify(e)), real: e instanceof a.AgentError && e instanceof Error}))
	const tick = (ms = 0) => new Promise((done) => setTimeout(done, ms))
`

// rejection is an AgentError, or a value where there should have been one.
type rejection struct {
	Real      bool            `json:"real"`
	Value     json.RawMessage `json:"value"`
	Code      fault.Code      `json:"code"`
	Title     string          `json:"title"`
	Type      string          `json:"type"`
	Message   string          `json:"message"`
	Status    int             `json:"status"`
	Retryable bool            `json:"retryable"`
}

// want fails the test unless r is an AgentError with the code, the declared title
// and a message with each of the texts in it.
func (r rejection) want(t *testing.T, code fault.Code, texts ...string) {
	t.Helper()
	declared := fault.New(code, "")
	if !r.Real || r.Code != code || r.Title != declared.Title || r.Type != declared.Type() {
		t.Errorf("rejected with %+v, want an AgentError with code %s and title %q", r, code, declared.Title)
	}
	for _, text := range texts {
		if !strings.Contains(r.Message, text) {
			t.Errorf("message %q does not contain %q", r.Message, text)
		}
	}
}

var buildProbe = sync.OnceValues(func() ([]byte, error) {
	manifest, err := os.ReadFile("../../js/package.json")
	if err != nil {
		return nil, err
	}
	var pkg struct{ Version string }
	if err := json.Unmarshal(manifest, &pkg); err != nil {
		return nil, err
	}
	return buildWasm(probeDir, pkg.Version)
})

func buildWasm(dir, version string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "loader")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "probe.wasm")
	cmd := exec.Command("tools/wasm/env", "go", "build", "-ldflags", "-X main.version="+version, "-o", out, dir)
	cmd.Dir = "../.."
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", dir, err, msg)
	}
	return os.ReadFile(out)
}

// probe serves the probe, so that load({wasmUrl: "/probe.wasm"}) starts it.
func (s *site) probe(t *testing.T) {
	t.Helper()
	wasm := must.Get(buildProbe())(t)
	s.file("/probe.wasm", "application/wasm", wasm)
}
