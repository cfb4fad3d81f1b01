// Package controlapi is the control address of the local service: a small JSON
// API, on loopback and behind a token, with which a person or a test makes
// happen what a network or a busy service does to a client.
//
// It owns what is HTTP about that; the sessions do the work. It must not be
// reachable from a page: the token is in no reply of the service itself.
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

	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
)

const (
	// maxBody bounds a request, in bytes.
	maxBody = 1 << 20
	// patience bounds how long a busy session may take to answer.
	patience = 10 * time.Second
	// newest is the name of the session that began last.
	newest = "newest"
)

// Recovery is the switch of connection-state recovery; socketio.Server has it.
type Recovery interface {
	SetRecovery(window time.Duration)
	RefuseNextRecovery()
}

// Config is what can be controlled. All fields are required.
type Config struct {
	Token    string // for the header Authorization: Bearer
	Hub      *live.Hub
	Recovery Recovery
	Links    map[string]*netem.Link // by name
	Logger   *slog.Logger
}

type server struct{ Config }

// New returns the handler of every command; docs/local-service.md lists them.
func New(c Config) http.Handler {
	s := &server{c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sessions", s.list)
	mux.HandleFunc("GET /sessions/{id}", s.session(func(ctx context.Context, x *live.Session, _ *http.Request) (any, error) {
		return x.Info(ctx)
	}))
	for name, command := range map[string]func(context.Context, *live.Session, *http.Request) (any, error){
		"drop":       drop,
		"kill-media": func(ctx context.Context, x *live.Session, _ *http.Request) (any, error) { return nil, x.KillMedia(ctx) },
		"stop-video": stopVideo,
		"fail-video": func(ctx context.Context, x *live.Session, _ *http.Request) (any, error) { return nil, x.FailVideo(ctx) },
		"end":        func(ctx context.Context, x *live.Session, _ *http.Request) (any, error) { return nil, x.End(ctx) },
		"expire-pause": func(ctx context.Context, x *live.Session, _ *http.Request) (any, error) {
			return nil, x.ExpirePause(ctx)
		},
		"send":  send,
		"fatal": fatal,
	} {
		mux.HandleFunc("POST /sessions/{id}/"+name, s.session(command))
	}
	mux.HandleFunc("POST /capacity", s.capacity)
	mux.HandleFunc("POST /recovery", s.recovery)
	mux.HandleFunc("GET /links", s.links)
	mux.HandleFunc("POST /links", s.setLinks)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, &failure{http.StatusNotFound, "no_command", "there is no such command"})
	})
	return s.guard(mux)
}

// guard asks for the token and bounds the body.
func (s *server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(text)) // equal lengths, so that the time says nothing
		if !bearer || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			fail(w, &failure{http.StatusUnauthorized, "unauthorized", "want the header Authorization: Bearer <control token>"})
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
	reply(w, map[string]any{"sessions": s.Hub.Sessions(ctx)})
}

// session is a command for one session: its socket id, its thread's id, or
// "newest".
func (s *server) session(command func(context.Context, *live.Session, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		x, err := s.find(ctx, r.PathValue("id"))
		if err != nil {
			fail(w, err)
			return
		}
		result, err := command(ctx, x, r)
		if err != nil {
			fail(w, err)
			return
		}
		if result == nil {
			result = struct{}{}
		}
		reply(w, result)
	}
}

func (s *server) find(ctx context.Context, id string) (*live.Session, error) {
	x, err := s.Hub.Session(id)
	if err == nil {
		return x, nil
	}
	infos := s.Hub.Sessions(ctx)
	for i := len(infos) - 1; i >= 0; i-- { // of two sessions on one thread the younger
		if id == newest || id == infos[i].ThreadID {
			return s.Hub.Session(infos[i].ID)
		}
	}
	return nil, err
}

func drop(_ context.Context, x *live.Session, _ *http.Request) (any, error) {
	x.DropSocket()
	return nil, nil
}

func stopVideo(ctx context.Context, x *live.Session, r *http.Request) (any, error) {
	body := struct {
		Stopped bool `json:"stopped"`
	}{true}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	return nil, x.StopVideo(ctx, body.Stopped)
}

func send(ctx context.Context, x *live.Session, r *http.Request) (any, error) {
	var body struct {
		Event   string          `json:"event"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.Event == "" {
		return nil, badRequest("event is missing")
	}
	return nil, x.Send(ctx, body.Event, body.Payload)
}

func fatal(ctx context.Context, x *live.Session, r *http.Request) (any, error) {
	var body struct {
		Event string `json:"event"`
		Code  string `json:"code"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	return nil, x.Fatal(ctx, body.Event, body.Code)
}

func (s *server) capacity(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Exhausted    *bool `json:"exhausted"`
		TierExceeded *bool `json:"tierExceeded"`
	}
	if err := decode(r, &body); err != nil {
		fail(w, err)
		return
	}
	if body.Exhausted != nil {
		s.Hub.SetExhausted(*body.Exhausted)
	}
	if body.TierExceeded != nil {
		s.Hub.SetTierExceeded(*body.TierExceeded)
	}
	reply(w, struct{}{})
}

func (s *server) recovery(w http.ResponseWriter, r *http.Request) {
	var body struct {
		RefuseNext bool   `json:"refuseNext"`
		WindowMs   *int64 `json:"windowMs"`
	}
	if err := decode(r, &body); err != nil {
		fail(w, err)
		return
	}
	if body.WindowMs != nil {
		s.Recovery.SetRecovery(time.Duration(max(0, *body.WindowMs)) * time.Millisecond)
	}
	if body.RefuseNext {
		s.Recovery.RefuseNextRecovery()
	}
	reply(w, struct{}{})
}

func (s *server) links(w http.ResponseWriter, _ *http.Request) {
	conditions := map[string]string{}
	for name, l := range s.Links {
		conditions[name] = l.Conditions().String()
	}
	reply(w, conditions)
}

// setLinks sets the conditions of the links that are named; all of them, or none
// when one can't be read.
func (s *server) setLinks(w http.ResponseWriter, r *http.Request) {
	var body map[string]string
	if err := decode(r, &body); err != nil {
		fail(w, err)
		return
	}
	parsed := map[string]netem.Conditions{}
	for name, text := range body {
		if s.Links[name] == nil {
			fail(w, badRequest(fmt.Sprintf("there is no link %q", name)))
			return
		}
		c, err := netem.Parse(text)
		if err != nil {
			fail(w, badRequest(err.Error()))
			return
		}
		parsed[name] = c
	}
	for name, c := range parsed {
		s.Links[name].Set(c)
	}
	s.links(w, r)
}

// failure is an error with its place in HTTP.
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
	d.DisallowUnknownFields() // a mistyped command should not look as if it had worked
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return badRequest(err.Error())
	}
	return nil
}

func fail(w http.ResponseWriter, err error) {
	f := new(failure)
	switch {
	case errors.As(err, &f):
	case errors.Is(err, live.ErrNoSession):
		f = &failure{http.StatusNotFound, "no_session", err.Error()}
	case errors.Is(err, live.ErrEnded):
		f = &failure{http.StatusGone, "session_ended", err.Error()}
	case errors.Is(err, live.ErrNotPaused):
		f = &failure{http.StatusConflict, "not_paused", err.Error()}
	case errors.Is(err, live.ErrNoMedia):
		f = &failure{http.StatusConflict, "no_media", err.Error()}
	case errors.Is(err, live.ErrNotFatal):
		f = &failure{http.StatusBadRequest, "not_fatal", err.Error()}
	default:
		f = &failure{http.StatusInternalServerError, "internal", err.Error()}
	}
	write(w, f.status, map[string]any{"error": map[string]string{"code": f.code, "message": f.message}})
}

func reply(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that is gone does not miss it
}
