//go:build !js

package management_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	partner = 5501
	secret  = "the-admin-secret-of-5501"
	adminKS = "djJ8NTUwMXxhZG1pbg"
	userKS  = "djJ8NTUwMXx1c2Vy"
)

// asked is a request that a fake service got.
type asked struct {
	service, path, auth, body string // service is agent, genie, session or messaging
	header                    http.Header
}

// answer is a reply; status 0 is 200.
type answer struct {
	status int
	body   string
}

// fake plays the four services with prepared answers.
type fake struct {
	*management.Client
	t *testing.T

	mu      sync.Mutex
	asked   []asked
	answers map[string][]answer // by path; the last one is repeated
}

// newFake starts four servers. Each path answers one after the other; session/start and
// session/end have answers by themselves.
func newFake(t *testing.T, answers map[string][]answer, change ...func(*management.Options)) *fake {
	t.Helper()
	f := &fake{t: t, answers: map[string][]answer{
		startPath: {{0, `"` + adminKS + `"`}},
		endPath:   {{0, `null`}},
	}}
	for path, list := range answers {
		f.answers[path] = list
	}
	address := func(service, base string) *string {
		s := httptest.NewServer(f.handler(service, base))
		t.Cleanup(s.Close)
		return new(s.URL + base)
	}
	o := management.Options{PartnerID: partner, Secret: secret}
	o.AgenticURL, o.GenieURL = address("agent", "/v1"), address("genie", "")
	o.OVPURL, o.MessagingURL = address("session", "/api_v3"), address("messaging", "/api/v1")
	f.Client = clientOf(t, o, change)
	return f
}

const (
	startPath = "/service/session/action/start"
	endPath   = "/service/session/action/end"
)

func (f *fake) handler(service, base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			f.t.Error(err)
		}
		path := strings.TrimPrefix(r.URL.Path, base)
		f.mu.Lock()
		f.asked = append(f.asked, asked{service, path, r.Header.Get("Authorization"), string(body), r.Header})
		var a answer
		switch list := f.answers[path]; len(list) {
		case 0:
			a = answer{404, `{"message":"no such path ` + path + `"}`}
		case 1:
			a = list[0]
		default:
			a, f.answers[path] = list[0], list[1:]
		}
		f.mu.Unlock()
		if a.status == 0 {
			a.status = 200
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	})
}

// requests returns "service path" of what was asked since the last time, without the
// minting of the client's own token.
func (f *fake) requests() []string {
	var list []string
	for _, a := range f.take() {
		if a.path != startPath {
			list = append(list, a.service+" "+a.path)
		}
	}
	return list
}

func (f *fake) take() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.asked
	f.asked = nil
	return list
}

// last returns the latest request, and the fields of its JSON body.
func (f *fake) last() (asked, map[string]any) {
	f.t.Helper()
	list := f.take()
	if len(list) == 0 {
		f.t.Fatal("nothing was asked")
	}
	a := list[len(list)-1]
	var body map[string]any
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		f.t.Fatalf("%s: %v in %q", a.path, err, a.body)
	}
	return a, body
}

// wantCode checks an error's code, that it is a *fault.Error, and that no secret is in it.
func wantCode(t *testing.T, name string, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("%s: got %v, want %s", name, err, code)
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Errorf("%s: %T is not a *fault.Error", name, err)
	}
	noSecrets(t, err)
}

// noSecrets prints a value in every way that a log might.
func noSecrets(t *testing.T, values ...any) {
	t.Helper()
	for _, v := range values {
		var out []string
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			out = append(out, fmt.Sprintf(verb, v))
		}
		if data, err := json.Marshal(v); err == nil {
			out = append(out, string(data))
		}
		for _, text := range out {
			for _, s := range []string{secret, adminKS, userKS, fmt.Sprintf("%x", secret), fmt.Sprintf("%x", userKS)} {
				if strings.Contains(strings.ToLower(text), strings.ToLower(s)) {
					t.Errorf("a secret is in %q", text)
				}
			}
		}
	}
}

func wantRequests(t *testing.T, f *fake, want ...string) {
	t.Helper()
	expect.List(t, f.requests(), want, "asked")
}

// containsAny reports whether text is in one of values.
func containsAny(text string, values ...string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, text) })
}
