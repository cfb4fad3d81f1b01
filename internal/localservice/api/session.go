package api

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// Codes of the session API's exceptions. A client distinguishes them from a token by
// the body alone: the status is 200 (protocol §9.7).
const (
	codeStart   = "START_SESSION_ERROR"
	codeMissing = "MISSING_MANDATORY_PARAMETER"
	codeInvalid = "INVALID_PARAMETER"
	codeWidget  = "INVALID_WIDGET_ID"
)

func (s *server) sessionRoutes(mux routes) {
	mux.Handle("POST "+SessionPrefix+"/service/session/action/start", s.form(s.sessionStart))
	mux.Handle("POST "+SessionPrefix+"/service/session/action/startWidgetSession", s.form(s.sessionStartWidget))
	mux.Handle("POST "+SessionPrefix+"/service/session/action/end", s.form(s.sessionEnd))
	mux.HandleFunc(SessionPrefix+"/service/system/action/ping", s.ping)
}

// form reads the form of a request, runs the handler and writes what it returns as JSON.
func (s *server) form(handle func(*http.Request) (any, error)) http.Handler {
	return s.paced(func(r *http.Request) (any, error) {
		if err := parseForm(r); err != nil {
			return nil, err
		}
		return handle(r)
	})
}

// paced runs a handler of requests without a token in their header, at the pace of their
// addresses, and writes what it returns as JSON.
func (s *server) paced(handle func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var reply any
		err := s.Work.Wait(r.Context(), quota.Client{Addr: remoteAddr(r)}, requestWork)
		if err == nil {
			reply, err = handle(r)
		}
		s.reply(w, r, reply, err)
	})
}

// sessionStart mints a token for a caller with the admin secret.
func (s *server) sessionStart(r *http.Request) (any, error) {
	g := token.Grant{
		Secret: r.PostForm.Get("secret"), UserID: r.PostForm.Get("userId"),
		Privileges: r.PostForm.Get("privileges"),
	}
	kind, seconds := int64(token.TypeUser), int64(0)
	if err := cmp.Or(readNumber(r, "partnerId", &g.PartnerID), readNumber(r, "type", &kind), readNumber(r, "expiry", &seconds)); err != nil {
		return nil, err
	}
	if g.Secret == "" || g.PartnerID == 0 {
		return nil, exception(codeMissing, "secret and partnerId are required")
	}
	g.Type = int(kind)
	// Anything longer is refused anyway; this keeps the multiplication in range.
	g.TTL = time.Duration(min(max(seconds, -1), 1<<31)) * time.Second
	text, err := s.Tokens.Start(r.Context(), g)
	return text, refused(err)
}

// refused makes an exception of a refusal of [token.Authority], and returns any other error as it is.
func refused(err error) error {
	var refusal *token.Refusal
	if errors.As(err, &refusal) {
		return exception(codeStart, refusal.Error())
	}
	return err
}

// sessionStartWidget mints the token of a widget, without authentication.
func (s *server) sessionStartWidget(r *http.Request) (any, error) {
	id := r.PostForm.Get("widgetId")
	if id == "" {
		return nil, exception(codeMissing, "widgetId is required")
	}
	text, claims, err := s.Tokens.StartWidget(r.Context(), id)
	if errors.Is(err, store.ErrNotFound) {
		err = exception(codeWidget, "no widget with that id")
	}
	return map[string]any{
		"ks": text, "partnerId": claims.PartnerID, "userId": claims.UserID,
		"objectType": "KalturaStartWidgetSessionResponse",
	}, err
}

// sessionEnd ends a token and its session group.
func (s *server) sessionEnd(r *http.Request) (any, error) {
	ks := r.PostForm.Get("ks")
	if ks == "" {
		return nil, exception(codeMissing, "ks is required")
	}
	return nil, refused(s.Tokens.End(r.Context(), ks))
}

// ping reports that the session API is available (protocol §1.5).
func (s *server) ping(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, true) }

// parseForm reads a form-encoded body. Only the body counts: a secret in a query
// would end up in logs.
func parseForm(r *http.Request) error {
	err := r.ParseForm()
	var tooLarge *http.MaxBytesError
	if err == nil || errors.As(err, &tooLarge) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrBodiesAtOnce) || errors.Is(err, dialogue.ErrBusy) {
		return err
	}
	return problem(http.StatusBadRequest, "want a form-encoded body")
}

// readNumber reads a number of a form, if it is there.
func readNumber(r *http.Request, name string, to *int64) (err error) {
	if text := r.PostForm.Get(name); text != "" {
		if *to, err = strconv.ParseInt(text, 10, 64); err != nil {
			return exception(codeInvalid, name+": want a number")
		}
	}
	return nil
}
