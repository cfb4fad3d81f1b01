package tokenserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Defaults of [Options].
const (
	// DefaultTTL is the lifetime of a visitor's token. A session requests the next token
	// when a fifth of it is left.
	DefaultTTL = 15 * time.Minute
	// DefaultPerMinute is how many requests one visitor may send within a minute.
	DefaultPerMinute = 20
)

// Options are the settings of a [Handler]. Client, AgentID, Origins and Visitor are
// required.
type Options struct {
	// Client mints the tokens; it needs the admin secret.
	Client *management.Client
	// AgentID is the agent of the conversations. A site with several agents has a handler
	// for each.
	AgentID string
	// ConfigID is the agent's intellect; when it is 0, it is looked up for every token,
	// which takes two requests more.
	ConfigID int64
	// Origins are the sites whose pages may send requests, as in "https://shop.example",
	// exactly as browsers send them. A request from elsewhere, or without an origin, is
	// forbidden.
	Origins []string
	// Visitor returns the visitor of a request, found by its session cookie for example.
	// The id must belong to one person and never change, because the threads belong to it,
	// and it must be UTF-8; any other id is an error.
	// "" means that the visitor is not signed in; the reply is unauthorized. After an error
	// the reply is server_error, and OnError is called.
	Visitor func(*http.Request) (userID string, err error)
	// TTL is the life of a token, 10 s to 24 hours. Default [DefaultTTL].
	TTL time.Duration
	// PerMinute is how many requests of one visitor are answered within a minute. Default
	// [DefaultPerMinute].
	PerMinute int
	// OnError, if not nil, is called with the cause of a server_error, which the reply does
	// not contain. It may be called by several goroutines at once.
	OnError func(*http.Request, error)
}

// Conversation is the reply with the options of a session.
type Conversation struct {
	management.AppInit
	// TokenLifeMs is how long the token is valid from now on, in milliseconds.
	TokenLifeMs int64 `json:"tokenLifeMs"`
}

// Refusal is the reply to a request that fails: a code of docs/errors.md and a message.
type Refusal struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Handler answers a POST with a [Conversation], and everything else with a [Refusal]:
// forbidden (403) for other origins, method_not_allowed (405), unauthorized (401) for
// visitors who are not signed in, rate_limited (429, with Retry-After), server_error (502
// when the service fails, otherwise 500). It also answers the preflight requests of its
// origins. No reply may be cached, and none contains the secret or the reason why the
// service failed. It is safe for use by several goroutines.
type Handler struct {
	o     Options
	limit limiter
}

// minTTL leaves a session two seconds, a fifth of it, to renew its token.
const minTTL = 10 * time.Second

// New returns a handler. Errors: bad_request for a missing or invalid option, ttl_too_long,
// insecure_transport for an http origin that is not local.
func New(o Options) (*Handler, error) {
	switch {
	case o.Client == nil:
		return nil, badRequest("Client must not be nil")
	case o.AgentID == "":
		return nil, badRequest("AgentID must not be empty")
	case o.ConfigID < 0:
		return nil, badRequest("ConfigID must be a positive number")
	case o.Visitor == nil:
		return nil, badRequest("Visitor must not be nil: it says which visitor a request is from")
	case len(o.Origins) == 0:
		return nil, badRequest("Origins must not be empty: name the sites whose pages may ask")
	}
	for _, origin := range o.Origins {
		if err := checkOrigin(origin); err != nil {
			return nil, err
		}
	}
	o.Origins = slices.Clone(o.Origins)
	o.TTL, o.PerMinute = cmp.Or(o.TTL, DefaultTTL), cmp.Or(o.PerMinute, DefaultPerMinute)
	switch {
	case o.TTL > management.MaxUserTTL:
		return nil, fault.New(fault.TTLTooLong, "TTL must be at most "+management.MaxUserTTL.String())
	case o.TTL < minTTL || o.TTL%time.Second != 0:
		return nil, badRequest("TTL must be a whole number of seconds, at least " + minTTL.String())
	case o.PerMinute < 0:
		return nil, badRequest("PerMinute must be a positive number")
	}
	if o.OnError == nil {
		o.OnError = func(*http.Request, error) {}
	}
	return &Handler{o: o, limit: limiter{most: o.PerMinute}}, nil
}

// checkOrigin accepts the form that browsers send. "*" is refused, because it would let
// pages of any site send requests with the visitor's cookies.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || origin != u.Scheme+"://"+u.Host {
		return badRequest(`each of Origins must be a scheme and a host without a path, as in "https://shop.example"`)
	}
	_, err = appinit.Policy{}.HTTP("the origin", origin)
	return err
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(h.o.Origins, origin) {
		refuse(w, http.StatusForbidden, fault.Forbidden, "pages of this origin may not ask for a conversation")
		return
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Allow-Credentials", "true")
	header.Set("Access-Control-Expose-Headers", "Retry-After")
	switch r.Method {
	case http.MethodPost:
		h.answer(w, r)
	case http.MethodOptions:
		header.Set("Access-Control-Allow-Methods", http.MethodPost)
		header.Set("Access-Control-Allow-Headers", "authorization, content-type")
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	default:
		header.Set("Allow", "OPTIONS, POST")
		refuse(w, http.StatusMethodNotAllowed, fault.MethodNotAllowed, "ask with POST")
	}
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	visitor, err := h.o.Visitor(r)
	if err != nil {
		h.o.OnError(r, err)
		refuse(w, http.StatusInternalServerError, fault.ServerError, "this site can't identify you at the moment; try again later")
		return
	}
	if !utf8.ValidString(visitor) { // the service can't tell such ids apart
		h.o.OnError(r, badRequest("the id that Visitor returned must be UTF-8"))
		refuse(w, http.StatusInternalServerError, fault.ServerError, "this site can't identify you at the moment; try again later")
		return
	}
	if visitor == "" {
		refuse(w, http.StatusUnauthorized, fault.Unauthorized, "sign in first")
		return
	}
	if wait := h.limit.take(visitor); wait > 0 {
		seconds := int64((wait + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		refuse(w, http.StatusTooManyRequests, fault.RateLimited, "too many requests; try again later")
		return
	}
	conversation, err := h.open(r, visitor)
	if err != nil {
		if !errors.Is(err, fault.Aborted) { // the visitor has left
			h.o.OnError(r, err)
		}
		refuse(w, http.StatusBadGateway, fault.ServerError, "the conversation can't begin at the moment; try again later")
		return
	}
	writeJSON(w, http.StatusOK, conversation)
}

// open mints a visitor's token and exchanges it by appInit for the conversation's token,
// which expires no later.
func (h *Handler) open(r *http.Request, visitor string) (*Conversation, error) {
	token, err := h.o.Client.Tokens.Agent(r.Context(), management.TokenInput{
		AgentID: h.o.AgentID, ConfigID: h.o.ConfigID, UserID: visitor, TTL: h.o.TTL,
	})
	if err != nil {
		return nil, err
	}
	init, err := h.o.Client.Application.AppInit(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return &Conversation{*init, max(0, time.Until(token.ExpiresAt).Milliseconds())}, nil
}

func refuse(w http.ResponseWriter, status int, code fault.Code, message string) {
	writeJSON(w, status, Refusal{code, message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only when the page has disconnected
}

func badRequest(detail string) error { return fault.New(fault.BadRequest, detail) }
