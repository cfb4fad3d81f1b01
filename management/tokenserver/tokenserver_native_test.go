//go:build !js

package tokenserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/management/tokenserver"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const origin = "https://shop.example"

// site is a site with a token server and its service.
type site struct {
	*tokenserver.Handler
	t    *testing.T
	info localservice.Info

	mu     sync.Mutex
	errors []error
}

// newSite starts a local service and a site of it. The cookie "visitor" says who is there.
func newSite(t *testing.T, change ...func(*tokenserver.Options, *management.Options)) *site {
	t.Helper()
	s := &site{t: t, info: servicetest.Start(t, localservice.Options{}).Info()}
	agent, _ := s.info.Agent("receptionist")
	m := management.Options{PartnerID: s.info.PartnerID, Secret: s.info.AdminSecret}
	m.AgenticURL, m.GenieURL, m.OVPURL = &s.info.AgenticURL, &s.info.GenieURL, &s.info.OVPURL
	o := tokenserver.Options{
		AgentID: agent.AgentID, ConfigID: agent.ConfigID, Origins: []string{origin, "http://localhost:8080"},
		Visitor: func(r *http.Request) (string, error) {
			cookie, err := r.Cookie("visitor")
			if err != nil {
				return "", nil
			}
			if cookie.Value == "broken" {
				return "", errors.New("the database is gone")
			}
			if cookie.Value == "latin-1" {
				return "ann\xe9", nil
			}
			return cookie.Value, nil
		},
		OnError: func(_ *http.Request, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.errors = append(s.errors, err)
		},
	}
	for _, c := range change {
		c(&o, &m)
	}
	client := must.Get(management.New(m))(t)
	t.Cleanup(client.Close)
	o.Client = client
	s.Handler = must.Get(tokenserver.New(o))(t)
	return s
}

// ask sends a request of a page; an empty visitor has no cookie.
func (s *site) ask(method, origin, visitor string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "/conversation", nil)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	if visitor != "" {
		r.AddCookie(&http.Cookie{Name: "visitor", Value: visitor})
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	for name, values := range w.Header() {
		if strings.Contains(fmt.Sprint(values), s.info.AdminSecret) {
			s.t.Errorf("the secret is in the header %s", name)
		}
	}
	if strings.Contains(w.Body.String(), s.info.AdminSecret) {
		s.t.Error("the secret is in the answer")
	}
	expect.Equal(s.t, w.Header().Get("Cache-Control"), "no-store", "Cache-Control")
	return w
}

// conversation asks for a conversation and gets one.
func (s *site) conversation(visitor string) tokenserver.Conversation {
	s.t.Helper()
	w := s.ask(http.MethodPost, origin, visitor)
	if w.Code != http.StatusOK {
		s.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var c tokenserver.Conversation
	must.Do(s.t, json.Unmarshal(w.Body.Bytes(), &c))
	return c
}

func (s *site) wantRefusal(name string, w *httptest.ResponseRecorder, status int, code fault.Code) {
	s.t.Helper()
	var r tokenserver.Refusal
	expect.Equal(s.t, json.Unmarshal(w.Body.Bytes(), &r), nil, "%s in %s", name, w.Body)
	if w.Code != status || r.Code != code || r.Message == "" {
		s.t.Errorf("%s: %d %s, want %d %s", name, w.Code, w.Body, status, code)
	}
}

// say has a turn of a conversation and returns its thread.
func say(t *testing.T, c tokenserver.Conversation, text string) string {
	t.Helper()
	client := converse.Client{URL: c.GenieURL, Token: c.KS}
	turn := must.Get(client.Turn(t.Context(), converse.Request{UserMessage: text}, converse.Throw))(t)
	return turn.ThreadID
}

func threads(t *testing.T, c tokenserver.Conversation) []string {
	t.Helper()
	client := must.Get(visitor.New(visitor.Options{Token: c.KS, Kind: appinit.AgentToken, GenieURL: &c.GenieURL}))(t)
	defer client.Close()
	var ids []string
	for thread, err := range client.AllThreads(t.Context(), visitor.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, thread.ID)
	}
	return ids
}

// TestVisitorsHaveTheirOwnThreads is the purpose: two visitors, renewals, and what each of
// them sees.
func TestVisitorsHaveTheirOwnThreads(t *testing.T) {
	s := newSite(t)
	ann, bob := s.conversation("ann"), s.conversation("bob")
	if ann.ConversationURL == "" || ann.SRSBaseURL == "" || ann.TURNServerURL == "" || ann.GenieURL != s.info.GenieURL || ann.PartnerID != fmt.Sprint(s.info.PartnerID) {
		t.Errorf("got %+v", ann)
	}
	if life := time.Duration(ann.TokenLifeMs) * time.Millisecond; life > tokenserver.DefaultTTL || life < tokenserver.DefaultTTL-time.Minute {
		t.Errorf("life %v", life)
	}
	hers, his := say(t, ann, "My name is Ann"), say(t, bob, "My name is Bob")
	renewed := s.conversation("ann")
	if renewed.KS == ann.KS {
		t.Error("the token was not renewed")
	}
	for name, c := range map[string]struct {
		tokenserver.Conversation
		want string
	}{"ann": {ann, hers}, "ann, renewed": {renewed, hers}, "bob": {bob, his}} {
		if got := threads(t, c.Conversation); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s has the threads %q, want %q", name, got, c.want)
		}
	}
}

func TestTokensAreShort(t *testing.T) {
	s := newSite(t, func(o *tokenserver.Options, _ *management.Options) { o.TTL = 10 * time.Second })
	if c := s.conversation("ann"); c.TokenLifeMs > 10_000 || c.TokenLifeMs < 5_000 {
		t.Errorf("life %d ms", c.TokenLifeMs)
	}
}

func TestOrigins(t *testing.T) {
	s := newSite(t)
	for _, other := range []string{"", "null", "*", "https://evil.example", "https://shop.example.evil.example", "http://shop.example", "https://shop.example:444", "https://SHOP.example"} {
		for _, method := range []string{http.MethodPost, http.MethodOptions, http.MethodGet} {
			w := s.ask(method, other, "ann")
			s.wantRefusal(method+" from "+other, w, http.StatusForbidden, fault.Forbidden)
			expect.Equal(t, w.Header().Get("Access-Control-Allow-Origin"), "", "%s may read the answer", other)
		}
	}
	for _, own := range []string{origin, "http://localhost:8080"} {
		w := s.ask(http.MethodOptions, own, "")
		header := w.Header()
		if w.Code != http.StatusNoContent || header.Get("Access-Control-Allow-Origin") != own || header.Get("Access-Control-Allow-Credentials") != "true" ||
			header.Get("Access-Control-Allow-Methods") != "POST" || header.Get("Vary") != "Origin" {
			t.Errorf("preflight: %d %v", w.Code, header)
		}
		w = s.ask(http.MethodPost, own, "ann")
		if w.Code != http.StatusOK || w.Header().Get("Access-Control-Allow-Origin") != own || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("answer: %d %v", w.Code, w.Header())
		}
	}
}

func TestRefusals(t *testing.T) {
	s := newSite(t, func(o *tokenserver.Options, _ *management.Options) { o.PerMinute = 2 })
	s.wantRefusal("not signed in", s.ask(http.MethodPost, origin, ""), http.StatusUnauthorized, fault.Unauthorized)
	s.wantRefusal("hook fails", s.ask(http.MethodPost, origin, "broken"), http.StatusInternalServerError, fault.ServerError)
	s.wantRefusal("not text", s.ask(http.MethodPost, origin, "latin-1"), http.StatusInternalServerError, fault.ServerError)
	if len(s.errors) != 2 || s.errors[0].Error() != "the database is gone" || !errors.Is(s.errors[1], fault.BadRequest) {
		t.Errorf("errors %v", s.errors)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
		w := s.ask(method, origin, "ann")
		s.wantRefusal(method, w, http.StatusMethodNotAllowed, fault.MethodNotAllowed)
		if w.Header().Get("Allow") != "OPTIONS, POST" {
			t.Errorf("%s: %v", method, w.Header())
		}
	}
	s.conversation("ann")
	s.conversation("ann")
	w := s.ask(http.MethodPost, origin, "ann")
	s.wantRefusal("too often", w, http.StatusTooManyRequests, fault.RateLimited)
	if after := w.Header().Get("Retry-After"); after == "" || after == "0" || len(after) > 2 {
		t.Errorf("Retry-After %q", after)
	}
	s.conversation("bob") // is not held up by the others
}

// TestNothingOfAFailureIsTold has a service whose errors repeat the request, with the secret.
func TestNothingOfAFailureIsTold(t *testing.T) {
	talkative := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"code": "X", "message": "bad: " + string(body), "args": []int{}})
	}))
	defer talkative.Close()
	s := newSite(t, func(_ *tokenserver.Options, m *management.Options) { m.OVPURL = &talkative.URL })
	w := s.ask(http.MethodPost, origin, "ann")
	s.wantRefusal("service fails", w, http.StatusBadGateway, fault.ServerError)
	if text := w.Body.String(); strings.Contains(text, "bad:") || strings.Contains(text, "ann") {
		t.Errorf("the answer is %s", text)
	}
	if len(s.errors) != 1 || !errors.Is(s.errors[0], fault.APIException) || strings.Contains(s.errors[0].Error(), s.info.AdminSecret) {
		t.Errorf("errors %v", s.errors)
	}
}

func TestOptions(t *testing.T) {
	client := must.Get(management.New(management.Options{PartnerID: 1, Secret: "s"}))(t)
	defer client.Close()
	good := tokenserver.Options{
		Client: client, AgentID: "a", Origins: []string{origin}, Visitor: func(*http.Request) (string, error) { return "", nil },
	}
	must.Get(tokenserver.New(good))(t)
	for name, test := range map[string]struct {
		change func(*tokenserver.Options)
		code   fault.Code
	}{
		"no client":       {func(o *tokenserver.Options) { o.Client = nil }, fault.BadRequest},
		"no agent":        {func(o *tokenserver.Options) { o.AgentID = "" }, fault.BadRequest},
		"negative config": {func(o *tokenserver.Options) { o.ConfigID = -1 }, fault.BadRequest},
		"no visitor":      {func(o *tokenserver.Options) { o.Visitor = nil }, fault.BadRequest},
		"no origins":      {func(o *tokenserver.Options) { o.Origins = nil }, fault.BadRequest},
		"every origin":    {func(o *tokenserver.Options) { o.Origins = []string{"*"} }, fault.BadRequest},
		"null":            {func(o *tokenserver.Options) { o.Origins = []string{"null"} }, fault.BadRequest},
		"path":            {func(o *tokenserver.Options) { o.Origins = []string{origin + "/"} }, fault.BadRequest},
		"password":        {func(o *tokenserver.Options) { o.Origins = []string{"https://a:b@shop.example"} }, fault.BadRequest},
		"insecure":        {func(o *tokenserver.Options) { o.Origins = []string{"http://shop.example"} }, fault.InsecureTransport},
		"short life":      {func(o *tokenserver.Options) { o.TTL = time.Second }, fault.BadRequest},
		"long life":       {func(o *tokenserver.Options) { o.TTL = 25 * time.Hour }, fault.TTLTooLong},
		"negative rate":   {func(o *tokenserver.Options) { o.PerMinute = -1 }, fault.BadRequest},
	} {
		o := good
		test.change(&o)
		if h, err := tokenserver.New(o); h != nil || !errors.Is(err, test.code) {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
}
