// Package controlapi is the control API of the local service: a small JSON API, on
// loopback and behind a token, with which a person or a test makes the service behave
// like a bad network or a busy service.
//
// The package contains the HTTP part; the sessions do the work. The token is in no
// reply of the service itself, so a page can't use the API unless
// localservice.Options.PageControl is set.
package controlapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/socketio"
)

const (
	// maxBody bounds a request, in bytes.
	maxBody = 1 << 20
	// patience bounds how long a busy session may take to answer.
	patience = 10 * time.Second
	// newest is the id that selects the session that began last.
	newest = "newest"
)

// Config contains the parts that can be controlled. All fields but Metrics are required.
type Config struct {
	Token   string // for the header Authorization: Bearer
	Hub     *live.Hub
	Sockets *socketio.Server
	Media   *media.Server
	Links   map[string]*netem.Link // by name
	Journal *brain.Journal
	Script  *brain.Scripted
	Store   *store.Store
	Logger  *slog.Logger
	// Metrics serves /metrics and the profiles; nil does not, as for pages.
	Metrics http.Handler
}

type server struct{ Config }

// New returns the handler of every command; docs/local-service.md lists them.
func New(c Config) http.Handler {
	s := &server{c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sessions", s.list)
	mux.HandleFunc("GET /sessions/{id}", s.session(func(ctx context.Context, x *live.Session, _ *live.Request) (any, error) {
		return x.Info(ctx)
	}))
	mux.HandleFunc("POST /sessions/{id}/drop", s.session(func(_ context.Context, x *live.Session, _ *live.Request) (any, error) {
		x.DropSocket()
		return struct{}{}, nil
	}))
	for name := range live.Commands {
		mux.HandleFunc("POST /sessions/{id}/"+name, s.session(func(ctx context.Context, x *live.Session, r *live.Request) (any, error) {
			return struct{}{}, x.Command(ctx, name, r)
		}))
	}
	mux.HandleFunc("POST /capacity", setting(func(body struct {
		Exhausted    *bool `json:"exhausted"`
		TierExceeded *bool `json:"tierExceeded"`
	},
	) {
		given(body.Exhausted, s.Hub.SetExhausted)
		given(body.TierExceeded, s.Hub.SetTierExceeded)
	}))
	mux.HandleFunc("POST /recovery", setting(func(body struct {
		RefuseNext bool   `json:"refuseNext"`
		WindowMs   *int64 `json:"windowMs"`
	},
	) {
		given(body.WindowMs, func(ms int64) { s.Sockets.SetRecovery(time.Duration(max(0, ms)) * time.Millisecond) })
		if body.RefuseNext {
			s.Sockets.RefuseNextRecovery()
		}
	}))
	mux.HandleFunc("GET /turns", s.received)
	mux.HandleFunc("POST /turns", setting(func(body struct {
		Acknowledged *bool `json:"acknowledged"`
	},
	) {
		given(body.Acknowledged, s.Hub.SetAcknowledging)
	}))
	mux.HandleFunc("GET /completions", s.completions)
	mux.HandleFunc("POST /script", s.script)
	mux.HandleFunc("POST /media", setting(func(body struct {
		SeparateStreams *bool `json:"separateStreams"`
	},
	) {
		given(body.SeparateStreams, s.Media.SeparateStreams)
	}))
	mux.HandleFunc("GET /links", s.links)
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
		mux.Handle("GET /debug/pprof/", s.Metrics)
	}
	mux.HandleFunc("POST /links", s.setLinks)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, nil, &failure{http.StatusNotFound, "no_command", "there is no such command"})
	})
	return s.guard(mux)
}

// guard checks the token and bounds the body.
func (s *server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(text)) // equal lengths, so that the time of the comparison reveals nothing
		if !bearer || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			reply(w, nil, &failure{http.StatusUnauthorized, "unauthorized", "want the header Authorization: Bearer <control token>"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		s.Logger.Info("control", "method", r.Method, "path", r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	reply(w, map[string]any{"sessions": s.Hub.Sessions(ctx)}, nil)
}

// session returns the handler of a command for one session, which the path names by
// its socket id, by its thread's id, or as "newest".
func (s *server) session(command func(context.Context, *live.Session, *live.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		var body live.Request
		x, err := s.find(ctx, r.PathValue("id"))
		if err == nil {
			err = decode(r, &body)
		}
		var result any
		if err == nil {
			result, err = command(ctx, x, &body)
		}
		reply(w, result, err)
	}
}

func (s *server) find(ctx context.Context, id string) (*live.Session, error) {
	x, err := s.Hub.Session(id)
	if err == nil {
		return x, nil
	}
	infos := s.Hub.Sessions(ctx)
	for i := len(infos) - 1; i >= 0; i-- { // of two sessions on one thread, the newer one
		if id == newest || id == infos[i].ThreadID {
			return s.Hub.Session(infos[i].ID)
		}
	}
	return nil, err
}

// setting returns the handler of a command for the whole service.
func setting[T any](set func(T)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		err := decode(r, &body)
		if err == nil {
			set(body)
		}
		reply(w, struct{}{}, err)
	}
}

// given calls set unless the value is missing.
func given[T any](value *T, set func(T)) {
	if value != nil {
		set(*value)
	}
}

func (s *server) received(w http.ResponseWriter, _ *http.Request) {
	turns := s.Journal.Turns()
	reply(w, map[string]any{"turns": append([]brain.Turn{}, turns...)}, nil)
}

func (s *server) completions(w http.ResponseWriter, r *http.Request) {
	ended, err := s.Store.Completed(r.Context())
	reply(w, map[string]any{"completions": append([]store.Completion{}, ended...)}, err)
}

// script replaces the script with the body, YAML or JSON; an empty body removes it.
func (s *server) script(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = s.Script.SetScript(text)
	}
	if err != nil {
		err = badRequest(err.Error())
	}
	reply(w, struct{}{}, err)
}

func (s *server) links(w http.ResponseWriter, _ *http.Request) {
	conditions := map[string]string{}
	for name, l := range s.Links {
		conditions[name] = l.Conditions().String()
	}
	reply(w, conditions, nil)
}

// setLinks sets the conditions of the named links: of all of them, or of none if one
// can't be parsed.
func (s *server) setLinks(w http.ResponseWriter, r *http.Request) {
	var body map[string]string
	err := decode(r, &body)
	parsed := map[string]netem.Conditions{}
	for name, text := range body {
		if s.Links[name] == nil {
			err = badRequest(fmt.Sprintf("there is no link %q", name))
		} else if c, wrong := netem.Parse(text); wrong != nil {
			err = badRequest(wrong.Error())
		} else {
			parsed[name] = c
		}
	}
	if err != nil {
		reply(w, nil, err)
		return
	}
	for name, c := range parsed {
		s.Links[name].Set(c)
	}
	s.links(w, r)
}

// failure is an error with its HTTP status and code.
type failure struct {
	status        int
	code, message string
}

func (f *failure) Error() string { return f.message }

func badRequest(message string) error {
	return &failure{http.StatusBadRequest, "bad_request", message}
}

// decode reads a body; an empty one leaves v as it is.
func decode(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields() // a misspelt field must not be ignored silently
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return badRequest(err.Error())
	}
	return nil
}

// failures maps the errors of sessions to their HTTP statuses and codes.
var failures = map[error]failure{
	live.ErrNoSession: {http.StatusNotFound, "no_session", ""},
	live.ErrEnded:     {http.StatusGone, "session_ended", ""},
	live.ErrNotPaused: {http.StatusConflict, "not_paused", ""},
	live.ErrNoMedia:   {http.StatusConflict, "no_media", ""},
	live.ErrNotFatal:  {http.StatusBadRequest, "not_fatal", ""},
	live.ErrNoEvent:   {http.StatusBadRequest, "bad_request", ""},
}

// reply writes v, or err.
func reply(w http.ResponseWriter, v any, err error) {
	status := http.StatusOK
	if err != nil {
		f := &failure{http.StatusInternalServerError, "internal", err.Error()}
		for known, as := range failures {
			if errors.Is(err, known) {
				f.status, f.code = as.status, as.code
			}
		}
		errors.As(err, &f)
		status, v = f.status, map[string]any{"error": map[string]string{"code": f.code, "message": f.message}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only when the caller is gone
}
