package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// apiError is an error with a status and a body of its own.
type apiError struct {
	status int
	body   any
	text   string
	wrong  *detail // about a field of the request; nil for other errors
}

func (e *apiError) Error() string { return e.text }

// problem is an error whose body is {"message": text} (protocol §9.7).
func problem(status int, text string) error {
	return &apiError{status: status, body: map[string]string{"message": text}, text: text}
}

// detail is one entry of a 422 body (protocol §9.7).
type detail struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// invalid is the 422 for one field of the body.
func invalid(kind, msg string, path ...any) error {
	d := detail{Loc: append([]any{"body"}, path...), Msg: msg, Type: kind}
	return &apiError{http.StatusUnprocessableEntity, map[string]any{"detail": []detail{d}}, msg, &d}
}

func missing(path ...any) error { return invalid("missing", "Field required", path...) }

func tooLong(most int, path ...any) error {
	return invalid("string_too_long", fmt.Sprintf("String should have at most %d characters", most), path...)
}

func tooMany(most int, path ...any) error {
	return invalid("too_long", fmt.Sprintf("List should have at most %d items", most), path...)
}

func outOfRange(least, most int, path ...any) error {
	return invalid("less_than_equal", fmt.Sprintf("Input should be from %d to %d", least, most), path...)
}

// exception is an error with status 200, as the session API reports it
// (protocol §9.7, "Error inside a 200 JSON body").
func exception(code, message string) error {
	return &apiError{status: http.StatusOK, text: message, body: map[string]any{
		"objectType": "KalturaAPIException", "code": code, "message": message, "args": map[string]string{},
	}}
}

// missingRecord is the error of a write of a record that refers to one that does not exist.
func missingRecord(err *store.MissingError) error {
	switch err.Kind {
	case store.IntellectKind:
		return exception("AGENT_PARTNER_CONFIG_NOT_FOUND", "AGENT_PARTNER_CONFIG_NOT_FOUND")
	case store.AvatarKind:
		return titled("AVATAR_NOT_FOUND")
	case store.CatalogKind:
		return exception("CATALOG_ITEM_NOT_FOUND", "CATALOG_ITEM_NOT_FOUND: "+err.Type)
	case store.InsightKind, store.EmailKind:
		return problem(http.StatusBadRequest, err.Error())
	}
	return problem(http.StatusForbidden, err.Error()+", or it may not be used") // as of skills (service.md, Skills)
}

// fail writes the reply for err. An internal error is logged, and the client gets a
// 500 without details.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known *apiError
	var tooLarge *http.MaxBytesError
	var missing *store.MissingError
	switch {
	case errors.As(err, &known):
	case errors.As(err, &missing):
		err = missingRecord(missing)
	case errors.Is(err, store.ErrInUse):
		err = problem(http.StatusConflict, err.Error())
	case errors.Is(err, store.ErrTaken):
		err = problem(http.StatusConflict, store.ErrTaken.Error())
	case errors.Is(err, store.ErrNotFound):
		err = problem(http.StatusNotFound, "not found")
	case errors.Is(err, dialogue.ErrNoAgent):
		err = problem(http.StatusNotFound, "AGENT_NOT_FOUND")
	case errors.Is(err, dialogue.ErrTooManyVars):
		err = invalid("value_error", err.Error(), "request_vars")
	case errors.Is(err, dialogue.ErrBusy), errors.Is(err, quota.ErrBusy):
		w.Header().Set("Retry-After", "1")
		err = problem(http.StatusTooManyRequests, err.Error())
	case errors.Is(err, ErrBodiesAtOnce):
		w.Header().Set("Retry-After", "1")
		err = problem(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, dialogue.ErrNotStored):
		s.Logger.Error("request failed", "path", r.URL.Path, "error", err)
		w.Header().Set("Retry-After", "1")
		err = problem(http.StatusServiceUnavailable, dialogue.ErrNotStored.Error())
	case store.IsFull(err):
		s.Logger.Error("request failed", "path", r.URL.Path, "error", err)
		err = problem(http.StatusInsufficientStorage, "the service has no room for more: delete what is not needed, or ask for a larger -max-data")
	case errors.As(err, &tooLarge):
		err = problem(http.StatusRequestEntityTooLarge, "the body is too large")
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close") // the rest of the body would look like the next request
		err = problem(http.StatusRequestTimeout, "the body took too long")
	case errors.Is(err, context.Canceled), errors.Is(err, dialogue.ErrClientGone): // the client is gone
		err = problem(http.StatusServiceUnavailable, "cancelled")
	default:
		s.Logger.Error("request failed", "path", r.URL.Path, "error", err)
		err = problem(http.StatusInternalServerError, "internal error")
	}
	errors.As(err, &known)
	writeJSON(w, known.status, known.body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // never happens: a reply is built of plain values
		status, text = http.StatusInternalServerError, []byte(`{"message":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(text, '\n')) //nolint:errcheck // the client is gone
}
