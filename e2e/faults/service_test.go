package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

// program is the local service as users run it, so that it can be killed.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "localservice")
	if err := pagetest.Build(context.Background(), "cmd/localservice", program); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := leaktest.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// service is a process of the local service on a store of its own.
type service struct {
	localservice.Info
	t       *testing.T
	process *exec.Cmd
	args    []string
}

// startService starts a service that ends with the test.
func startService(t *testing.T, args ...string) *service {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.yaml")
	must.Do(t, os.WriteFile(script, []byte("rules: [{when: {any: true}, steps: [{say: \"I understand. Please go on.\"}]}]"), 0o600))
	s := &service{t: t, args: append([]string{"-voice", "builtin", "-data", dir, "-script", script, "-log-level", "error"}, args...)}
	s.start("-addr", "127.0.0.1:0", "-turn-listen", "127.0.0.1:0")
	// A later process has the same addresses.
	s.args = append(s.args, "-addr", strings.TrimPrefix(s.GenieURL, "http://"), "-turn-listen", strings.TrimPrefix(s.TURNServerURL, "turn:"))
	t.Cleanup(s.kill)
	return s
}

// start starts a process and waits until it listens.
func (s *service) start(args ...string) {
	s.t.Helper()
	s.process = exec.Command(program, append(append([]string{"-json"}, s.args...), args...)...)
	s.process.Stderr = os.Stderr
	out := must.Get(s.process.StdoutPipe())(s.t)
	must.Do(s.t, s.process.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		s.t.Fatalf("the service did not start: %v", err)
	}
	must.Do(s.t, json.Unmarshal(line, &s.Info))
}

// kill ends the process at once, so that it sends nothing more to clients.
func (s *service) kill() {
	_ = s.process.Process.Kill() // fails when it has ended already
	_ = s.process.Wait()
}

func (s *service) control(path string, body any) {
	s.t.Helper()
	pagetest.Control(s.t.Context(), s.t, s.Info, path, body)
}

// typed counts how often each typed text is in a thread. The service joins texts, as
// lines, that are sent together or arrive while the agent thinks.
func (s *service) typed(thread string) map[string]int {
	s.t.Helper()
	times := map[string]int{}
	for _, message := range pagetest.UserMessages(s.t.Context(), s.t, s.Info, thread) {
		for line := range strings.Lines(message) {
			times[strings.TrimSpace(line)]++
		}
	}
	return times
}

// links sets conditions of the network.
func (s *service) links(conditions map[string]string) { s.control("/links", conditions) }

// client is an HTTP client that can redirect WHEP requests to another server.
type client struct {
	*fetch.HTTPClient
	whep atomic.Pointer[string] // base of that server
}

func (c *client) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if base := c.whep.Load(); base != nil && strings.Contains(r.URL, "/whep/") {
		other := *r
		other.URL = *base + r.URL[strings.Index(r.URL, "/rtc/"):]
		r = &other
	}
	return c.HTTPClient.Do(ctx, r)
}

// startWHEP starts a server that responds to WHEP requests with a status, or never if it is 0.
func startWHEP(t testing.TB, status int) (base string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		if r.Method == http.MethodOptions {
			return
		}
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// answerWHEP implements [guest].
func (v *visitor) answerWHEP(status int) {
	base := startWHEP(v.t, status)
	v.http.whep.Store(&base)
}

// restoreWHEP implements [guest].
func (v *visitor) restoreWHEP() { v.http.whep.Store(nil) }
