package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/directory"
	"github.com/agentruntime/agentruntime/internal/localservice/lifecycle"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/relay"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// keepalive is how long a converse stream may be silent before a keepalive
// segment goes out (local-service choice E1).
const keepalive = 10 * time.Second

// DefaultStall is how long a client may leave a part of a streamed reply unread before it
// counts as gone, so that it can't keep its thread busy.
const DefaultStall = 30 * time.Second

// Config is the configuration of [New]. What has no other meaning without a value is required.
type Config struct {
	Store    *store.Store
	Tokens   *token.Authority
	Dialogue *dialogue.Service

	// Hosts is called once for each appInit, so that credentials can be fresh.
	Hosts func() (Hosts, error)

	Live Live
	// Work is how many milliseconds of work clients may cause.
	Work *quota.Pace
	// Bodies takes n bytes of a request that a client sends, before they are used, or gives
	// back -n when the request is answered.
	Bodies func(by quota.Client, n int) error
	// Site returns the origin of the service, for the addresses of pictures.
	Site func() string

	// Stage opens a picture for an avatar session, that of a visual with these attributes.
	Stage func(by quota.Client, visual map[string]string) Stage

	// ElementURL is the address of the script that defines agent-avatar, for embed scripts;
	// "" when the service does not serve it.
	ElementURL string
	// Model writes profiles of agents; nil takes them from the description itself.
	Model lifecycle.Model

	Users     directory.Users // whose names reports have
	Knowledge fs.FS           // the Markdown files to show
	Logger    *slog.Logger
	// Observe is called for each reply, with the pattern of its route.
	Observe func(method, route string, status int, took time.Duration)
	// PrivateNetwork allows requests from pages on a public network; their browsers ask
	// for this in the preflight.
	PrivateNetwork bool
	Stall          time.Duration // 0 means DefaultStall
}

// Live gives access to the live sessions of threads; [live.Hub] implements it.
type Live interface {
	// Push makes the live sessions of a thread say a message that is already stored in the
	// thread, and reports whether a session has accepted it.
	Push(ctx context.Context, threadID, messageID, text string) bool
	// Attached reports whether the thread has a live session.
	Attached(ctx context.Context, threadID string) bool
}

// Hosts is the part of an appInit reply that depends on where the service runs
// (protocol §1.4).
type Hosts struct {
	ConversationManagerURL string `json:"conversationManagerUrl"`
	SRSBaseURL             string `json:"srsBaseUrl"`
	// TURNServerURL is "turn:host" when the relay has the ports of the four-URL
	// expansion, otherwise "turn:host:port".
	TURNServerURL   string             `json:"turnServerUrl"`
	TURNCredentials *relay.Credentials `json:"turnCredentials,omitempty"` // nil without a relay
}

type server struct {
	Config
	stages *stages
}

// routes is what endpoints are added to: an [http.ServeMux], or the list of a test.
type routes interface {
	Handle(pattern string, handler http.Handler)
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// SessionPrefix is the path of the session API under the service's origin. The
// other base addresses are the origin itself (brain) and the origin with /v1 (agent).
const SessionPrefix = "/api_v3"

// New returns the handler of every route, for one origin.
func New(c Config) http.Handler {
	c.Stall = cmp.Or(c.Stall, DefaultStall)
	s := &server{Config: c, stages: newStages(c.Stage)}
	mux := http.NewServeMux()
	s.add(mux)
	return s.wrap(mux)
}

// add adds every endpoint.
func (s *server) add(mux routes) {
	s.sessionRoutes(mux)
	s.applicationRoutes(mux)
	s.profileRoutes(mux)
	s.assistantRoutes(mux)
	s.threadRoutes(mux)
	s.messageRoutes(mux)
	s.followupRoutes(mux)
	s.webpageRoutes(mux)
	collect(s.manageAgentHost, mux, "/v1/agent", "create", s.agents())
	s.manageAgentHost(mux, "/v1/agent/getEmbedScript", withBody(s.agentEmbed))
	collect(s.manageAgentHost, mux, "/v1/avatar", "create", s.avatars())
	s.avatarRoutes(mux)
	s.avatarSessionRoutes(mux)
	s.catalogRoutes(mux)
	collect(s.manage, mux, "/v1/intellect", "add", s.intellects())
	s.partnerConfigRoutes(mux)
	collect(s.manage, mux, "/v1/tool", "add", s.tools())
	collect(s.manage, mux, "/v1/skill", "add", s.skills())
	collect(s.manage, mux, "/v1/knowledge", "add", s.knowledge())
	s.knowledgeRoutes(mux)
	s.mediaRoutes(mux)
	collect(s.manageAgentHost, mux, "/v1/insight-settings", "create", s.insights())
	collect(s.manageAgentHost, mux, "/v1/lifecycle", "create", s.rules())
	s.lifecycleRoutes(mux)
	collect(s.manageAgentHost, mux, "/v1/email-template", "add", s.emails())
}

// wrap gives every request a request id, CORS headers, a limit on the size of its body,
// and one log line. The time for the body is limited by the server of all routes.
func (s *server) wrap(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := uuid.NewString()
		w.Header().Set("X-Request-Id", id)
		if ownPage := strings.HasPrefix(r.URL.Path, brain.DocumentPrefix) || r.URL.Path == dialogue.ConsentPath; !ownPage {
			allowOrigin(w.Header(), r)
		}
		if r.Method == http.MethodOptions {
			s.allowPreflight(w.Header(), r)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		body := &countedBody{ReadCloser: http.MaxBytesReader(w, r.Body, bodyLimit(r.URL.Path)), take: s.Bodies, by: quota.Client{Addr: remoteAddr(r)}}
		defer body.free()
		r.Body = body
		recorder := &recorder{ResponseWriter: w}
		_, pattern := mux.Handler(r)
		if pattern == "" {
			s.noRoute(recorder, r, mux)
		} else {
			mux.ServeHTTP(recorder, r)
		}
		route := pattern[strings.Index(pattern, " ")+1:] // what a client has made up is no label
		method := r.Method
		if route == "" {
			route, method = "none", "none"
		}
		s.Observe(method, route, recorder.status, time.Since(began))
		line := []any{"method", r.Method, "path", r.URL.Path, "status", recorder.status, slog.Duration("took", time.Since(began)), "request", id}
		if trace := store.TraceLabel(r.Header.Get("Traceparent")); trace != "" {
			line = append(line, "traceparent", trace)
		}
		s.Logger.Info("http", line...)
	})
}

// noRoute refuses a wrong method with 405 and a wrong path with 404, in JSON.
func (s *server) noRoute(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "" {
			w.Header().Set("Allow", method)
			s.fail(w, r, problem(http.StatusMethodNotAllowed, "method not allowed"))
			return
		}
	}
	s.fail(w, r, problem(http.StatusNotFound, "no such route"))
}

// recorder stores the status for the log. Through its Unwrap, an
// [http.ResponseController] can still flush and set the deadlines of the connection.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = cmp.Or(r.status, status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	return r.ResponseWriter.Write(p)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// guard reports whether a route accepts a token with these claims.
type guard func(token.Claims) bool

func anyone(token.Claims) bool   { return true }
func admins(c token.Claims) bool { return c.Kind() == token.Admin }

// owners accepts every token but a widget token, which any visitor of a page can get,
// so that it must not give access to thread lists.
func owners(c token.Claims) bool { return c.Kind() != token.Widget }

// talkers accepts the tokens that may converse: a widget token only after appInit has
// bound it to a brain configuration.
func talkers(c token.Claims) bool { return c.Kind() != token.Widget || c.ConfigID() != 0 }

// call is one authorised request.
type call struct {
	w      http.ResponseWriter
	r      *http.Request
	claims token.Claims
}

func (c *call) ctx() context.Context { return c.r.Context() }
func (c *call) scope() store.Scope   { return dialogue.ScopeOf(c.claims) }

// client is for whom the quotas count the request.
func (c *call) client() quota.Client {
	return quota.Client{Token: c.claims.Client(), Addr: remoteAddr(c.r)}
}

// streamed is returned by a handler that has written its reply itself.
type streamed struct{}

// route checks the token, runs the handler and writes what it returns as JSON.
func (s *server) route(allow guard, handle func(*call) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims, err := s.authorize(r)
		if err == nil && !allow(claims) {
			err = problem(http.StatusForbidden, "a token of this kind may not do that")
		}
		var reply any
		if err == nil {
			reply, err = s.handle(&call{w, r, claims}, handle)
		}
		s.reply(w, r, reply, err)
	})
}

// handle runs the handler of an authorised request within the client's quotas.
func (s *server) handle(c *call, handle func(*call) (any, error)) (any, error) {
	by := c.client()
	if body, ok := c.r.Body.(*countedBody); ok && body.taken == 0 { // that of a media call has been read
		body.by = by
	}
	if c.claims.Kind() == token.Admin {
		by.Token = ""
	}
	if err := s.Work.Wait(c.ctx(), by, requestWork); err != nil {
		return nil, err
	}
	key := c.r.Header.Get("Idempotency-Key")
	if len(key) > maxKey { // it is stored
		return nil, problem(http.StatusBadRequest, fmt.Sprintf("Idempotency-Key: at most %d bytes", maxKey))
	}
	c.r = c.r.WithContext(store.WithRequest(c.r.Context(), key))
	return handle(c)
}

// requestWork is about how many milliseconds of the processor a request takes.
const requestWork = 1

// reply writes the outcome of a handler as JSON.
func (s *server) reply(w http.ResponseWriter, r *http.Request, reply any, err error) {
	if err != nil {
		s.fail(w, r, err)
	} else if _, done := reply.(streamed); !done {
		writeJSON(w, http.StatusOK, reply)
	}
}

// authorize reads "Authorization: KS <token>".
func (s *server) authorize(r *http.Request) (token.Claims, error) {
	text := tokenOf(r)
	if text == "" {
		return token.Claims{}, problem(http.StatusUnauthorized, "the header Authorization: KS <token> is required")
	}
	return s.claims(r, text)
}

// claims checks a token for the request in which it came.
func (s *server) claims(r *http.Request, text string) (token.Claims, error) {
	claims, err := s.Tokens.Check(r.Context(), text, token.Use{Addr: remoteAddr(r), Path: r.URL.Path})
	switch {
	case errors.Is(err, token.ErrInvalid), errors.Is(err, token.ErrExpired), errors.Is(err, token.ErrEnded):
		return claims, problem(http.StatusUnauthorized, err.Error())
	case errors.Is(err, token.ErrRestricted):
		return claims, problem(http.StatusForbidden, err.Error())
	}
	return claims, err
}

// tokenOf returns the token of a request, "" without one.
func tokenOf(r *http.Request) string {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "KS") && !strings.EqualFold(scheme, "Bearer") { // Bearer is used by the messaging API
		return ""
	}
	return strings.TrimSpace(text)
}

// remoteAddr is the address of the peer. Forwarding headers are not read: the
// service has no proxy in front of it that could be trusted.
func remoteAddr(r *http.Request) netip.Addr { return quota.AddrOf(r.RemoteAddr) }
