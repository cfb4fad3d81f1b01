package api

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// Codes of the session API's exceptions. A client distinguishes them from a token by
// the body alone: the status is 200 (wire-protocol §9.7).
const (
	codeStart   = "START_SESSION_ERROR"
	codeMissing = "MISSING_MANDATORY_PARAMETER"
	codeInvalid = "INVALID_PARAMETER"
	codeWidget  = "INVALID_WIDGET_ID"
)

// sessionStart mints a token for a caller with the admin secret.
func (s *server) sessionStart(w http.ResponseWriter, r *http.Request) {
	text, err := s.startSession(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, text)
}

func (s *server) startSession(r *http.Request) (string, error) {
	if err := parseForm(r); err != nil {
		return "", err
	}
	g := token.Grant{
		Secret: r.PostForm.Get("secret"), UserID: r.PostForm.Get("userId"),
		Privileges: r.PostForm.Get("privileges"),
	}
	partnerID, err := number(r, "partnerId", 0)
	if err != nil {
		return "", err
	}
	kind, err := number(r, "type", token.TypeUser)
	if err != nil {
		return "", err
	}
	seconds, err := number(r, "expiry", 0)
	if err != nil {
		return "", err
	}
	if g.Secret == "" || partnerID == 0 {
		return "", exception(codeMissing, "secret and partnerId are required")
	}
	g.PartnerID, g.Type = partnerID, int(kind)
	// Anything longer is refused anyway; this keeps the product below in range.
	g.TTL = time.Duration(min(max(seconds, -1), 1<<31)) * time.Second
	text, err := s.Tokens.Start(r.Context(), g)
	var refusal *token.Refusal
	if errors.As(err, &refusal) {
		err = exception(codeStart, refusal.Error())
	}
	return text, err
}

// sessionStartWidget mints the token of a widget, without authentication.
func (s *server) sessionStartWidget(w http.ResponseWriter, r *http.Request) {
	err := parseForm(r)
	if err == nil && r.PostForm.Get("widgetId") == "" {
		err = exception(codeMissing, "widgetId is required")
	}
	var text string
	var claims token.Claims
	if err == nil {
		text, claims, err = s.Tokens.StartWidget(r.Context(), r.PostForm.Get("widgetId"))
	}
	if errors.Is(err, store.ErrNotFound) {
		err = exception(codeWidget, "no widget with that id")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"ks": text, "partnerId": claims.PartnerID, "userId": claims.UserID,
		"objectType": "KalturaStartWidgetSessionResponse",
	})
}

// sessionEnd ends a token and its session group.
func (s *server) sessionEnd(w http.ResponseWriter, r *http.Request) {
	err := parseForm(r)
	if err == nil && r.PostForm.Get("ks") == "" {
		err = exception(codeMissing, "ks is required")
	}
	if err == nil {
		err = s.Tokens.End(r.Context(), r.PostForm.Get("ks"))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, nil)
}

// ping says that the session API is there (wire-protocol §1.5).
func (s *server) ping(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, true) }

// parseForm reads a form-encoded body. Only the body counts: a secret in a query
// would end up in logs.
func parseForm(r *http.Request) error {
	err := r.ParseForm()
	var tooLarge *http.MaxBytesError
	if err == nil || errors.As(err, &tooLarge) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return problem(http.StatusBadRequest, "want a form-encoded body")
}

func number(r *http.Request, name string, fallback int64) (int64, error) {
	text := r.PostForm.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, exception(codeInvalid, fmt.Sprintf("%s: want a number", name))
	}
	return n, nil
}
