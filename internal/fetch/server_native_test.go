//go:build !js

package fetch

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/chromium"
	"github.com/agentruntime/agentruntime/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// serverURL returns the address of a running test server.
func serverURL(t *testing.T) string {
	t.Helper()
	s := newTestServer()
	open := func(start func(*httptest.Server)) string {
		server := httptest.NewUnstartedServer(s)
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that a page gives up
		start(server)
		t.Cleanup(server.Close)
		return server.URL
	}
	plain := open((*httptest.Server).Start)
	s.mu.Lock() // the servers run
	defer s.mu.Unlock()
	s.places = map[string]string{
		"Plain": plain, "Other": open((*httptest.Server).Start), "Secure": open((*httptest.Server).StartTLS),
		"Private": strings.Replace(plain, "127.0.0.1", "localhost", 1),
	}
	return plain
}

// trusting returns an HTTPClient that accepts the certificate of the test server.
func trusting(t *testing.T) *HTTPClient {
	t.Helper()
	c := newClient(t)
	c.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return c
}

// TestInChromium runs this package's tests in a page, against a server here.
func TestInChromium(t *testing.T) {
	chromium.GoTest(t, serverVariable+"="+serverURL(t), "AGENTRUNTIME_BROWSER_FLAGS=--ignore-certificate-errors")
}

// testServer is the server of the tests. A handler reports what happened to it on a
// channel (an event) that another request can wait for.
type testServer struct {
	http.ServeMux
	mu     sync.Mutex
	events map[string]chan string
	sent   atomic.Int64 // bytes written by /endless
	// places are addresses of this server, by what is special about them.
	places  map[string]string // guarded by mu
	arrived []string          // requests of /target; guarded by mu
}

func newTestServer() *testServer {
	s := &testServer{events: map[string]chan string{}, arrived: []string{}}
	s.HandleFunc("/echo", s.echo)
	s.HandleFunc("/status", s.status)
	s.HandleFunc("/body", s.body)
	s.HandleFunc("/stream", s.stream)
	s.HandleFunc("/endless", s.endless)
	s.HandleFunc("/endless/sent", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, s.sent.Load())
	})
	s.HandleFunc("/break", s.breakOff)
	s.HandleFunc("/places", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		writeJSON(w, s.places)
	})
	s.HandleFunc("/redirects", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.FormValue("code"))
		http.Redirect(w, r, r.FormValue("to"), code)
	})
	s.HandleFunc("/target", s.target)
	s.HandleFunc("/arrived", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		writeJSON(w, s.arrived)
	})
	s.HandleFunc("/tell", func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		s.event(r.FormValue("id")) <- string(data)
	})
	s.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		select {
		case data := <-s.event(r.FormValue("id")):
			writeJSON(w, data)
		case <-r.Context().Done():
		}
	})
	return s
}

// ServeHTTP implements [http.Handler] with the CORS headers of the service.
func (s *testServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "*")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		h.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
		return
	}
	s.ServeMux.ServeHTTP(w, r)
}

// target is where redirects lead.
func (s *testServer) target(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = append(s.arrived, strings.Join([]string{r.Method, r.Host, r.Header.Get("authorization"), string(body)}, " "))
}

// event returns the channel with the given name.
func (s *testServer) event(name string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events[name] == nil {
		s.events[name] = make(chan string, 1)
	}
	return s.events[name]
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// echo answers with what it got.
func (s *testServer) echo(w http.ResponseWriter, r *http.Request) {
	e := echoed{Method: r.Method, URI: r.RequestURI, Header: map[string]string{}}
	for name, values := range r.Header {
		e.Header[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	data, _ := io.ReadAll(r.Body)
	e.Body = string(data)
	w.Header().Set("X-Request-Id", "r-1")
	writeJSON(w, e)
}

func (s *testServer) status(w http.ResponseWriter, r *http.Request) {
	code, _ := strconv.Atoi(r.FormValue("code"))
	w.WriteHeader(code)
}

// body answers with as many bytes as asked for.
func (s *testServer) body(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.FormValue("n"))
	_, _ = io.CopyN(w, zeros{}, int64(n))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// stream sends "one", and "two" when another request asks for it. If the client leaves
// before that, stream signals an event.
func (s *testServer) stream(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("id")
	_, _ = io.WriteString(w, "one\n")
	_ = http.NewResponseController(w).Flush()
	select {
	case <-s.event(id + "-go"):
		_, _ = io.WriteString(w, "two\n")
	case <-r.Context().Done():
		s.event(id + "-gone") <- "gone"
	}
}

// endless sends until its client goes away.
func (s *testServer) endless(w http.ResponseWriter, r *http.Request) {
	chunk := make([]byte, 64<<10)
	for r.Context().Err() == nil {
		n, err := w.Write(chunk)
		s.sent.Add(int64(n))
		if err != nil {
			break
		}
	}
	s.event(r.FormValue("id") + "-gone") <- "gone"
}

// breakOff promises more than it sends.
func (s *testServer) breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, "half")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
