// Package fault declares the error type of the runtime and every code that an error
// can have, each once, in the table of this package.
//
// It also implements redaction (session §C.1), which is applied where text leaves
// the runtime: in an Error, where a session passes events, audit events and log messages to
// the application (runtime/session), and where a panic is printed on the console
// (internal/jsbridge).
//
// It does not depend on sessions, sockets, HTTP clients or JavaScript, and imports no
// other package of this module, so that all of them may import it.
package fault

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Phase is the part of connecting that failed (protocol Appendix A).
type Phase string

// The phases.
const (
	PhaseServerConnect Phase = "serverConnect"
	PhaseJoin          Phase = "join"
	PhaseJoinComplete  Phase = "joinComplete"
	PhaseAgent         Phase = "agent"
	PhaseASR           Phase = "asr"
	PhaseWHEP          Phase = "whep"
	PhaseConnect       Phase = "connect"
	PhaseReconnect     Phase = "reconnect"
)

// Phases are all phases, in their order.
var Phases = []Phase{PhaseServerConnect, PhaseJoin, PhaseJoinComplete, PhaseAgent, PhaseASR, PhaseWHEP, PhaseConnect, PhaseReconnect}

// docsBase and a code make the problem URI of an error (session §C.1
// "type").
const docsBase = "https://github.com/agentruntime/agentruntime/blob/main/docs/errors.md#"

// Error is the error of every exported call of the runtime (session
// §C.1). Build one with New, From, FromStatus or FromBody, which redact their arguments.
// Its text and its JSON are redacted too, for fields that were assigned by hand. The With
// methods change the receiver and return it: call them before another goroutine gets the
// Error.
type Error struct {
	// Code is the stable name to switch on.
	Code Code
	// Title is a few words for people, Detail the longer text; both redacted.
	Title, Detail string
	// Status is the HTTP status, or the service's own number, 0 if none.
	Status int
	// Phase is the part of connecting that failed, empty elsewhere.
	Phase Phase
	// Retryable reports that the same call may succeed later; false does not exclude
	// it (protocol Appendix A).
	Retryable bool
	// Instance is the path of the request, RequestID the service's trace id.
	Instance, RequestID string
	// Headers are the few reply headers that help a diagnosis.
	Headers map[string]string
	// Body is the redacted reply or extra data, made of JSON's own types.
	Body any
	// Timings are milliseconds per connect step, on failed connects.
	Timings map[string]int64
	// Cause is the inner error. Its text is redacted when it is printed.
	Cause error
}

var (
	_ error                                      = (*Error)(nil)
	_ interface{ MarshalJSON() ([]byte, error) } = (*Error)(nil)
)

// New returns an error with the title, status and retryable flag of the code's
// table row. An empty detail becomes the row's meaning.
func New(code Code, detail string) *Error {
	info, _ := Lookup(code)
	if detail == "" {
		detail = info.Meaning
	}
	return &Error{
		Code:      code,
		Title:     info.Title,
		Detail:    Redact(detail),
		Status:    info.Status,
		Retryable: info.Retry == RetryYes || info.Retry == RetryUnlessStatus,
	}
}

// InPhase sets the part of connecting that failed.
func (e *Error) InPhase(p Phase) *Error {
	e.Phase = p
	return e
}

// WithTitle replaces the table's title.
func (e *Error) WithTitle(title string) *Error {
	e.Title = Redact(title)
	return e
}

// WithStatus sets the HTTP status. An error that is retryable only as a network
// failure (such as whep_failed) is then no longer retryable.
func (e *Error) WithStatus(status int) *Error {
	e.Status = status
	if info, _ := Lookup(e.Code); status != 0 && info.Retry == RetryUnlessStatus {
		e.Retryable = false
	}
	return e
}

// WithRetryable overrides the table's retryable flag.
func (e *Error) WithRetryable(retryable bool) *Error {
	e.Retryable = retryable
	return e
}

// WithBody keeps a redacted copy of body.
func (e *Error) WithBody(body any) *Error {
	e.Body = RedactValue(body)
	return e
}

// WithTimings keeps the milliseconds per connect step.
func (e *Error) WithTimings(timings map[string]int64) *Error {
	e.Timings = timings
	return e
}

// At sets the path of the request that failed. Query and fragment are cut off,
// because they may contain secrets.
func (e *Error) At(path string) *Error {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	e.Instance = Redact(path)
	return e
}

// Wrap sets the cause, whose text is redacted; errors.Is and errors.As find err.
// connect_failed becomes retryable when the cause is that the caller aborted.
func (e *Error) Wrap(err error) *Error {
	if err == nil {
		return e
	}
	e.Cause = cause{err, Redact(err.Error())}
	info, _ := Lookup(e.Code)
	if info.Retry == RetryIfAborted && (errors.Is(err, context.Canceled) || errors.Is(err, Aborted)) {
		e.Retryable = true
	}
	return e
}

// Error returns "code: detail", with phase, status and cause if they are set.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Phase != "" {
		b.WriteString(" in phase ")
		b.WriteString(string(e.Phase))
	}
	if e.Status != 0 {
		b.WriteString(" (status ")
		b.WriteString(strconv.Itoa(e.Status))
		b.WriteString(")")
	}
	if m := e.Message(); m != "" {
		b.WriteString(": ")
		b.WriteString(m)
	}
	if e.Cause != nil {
		b.WriteString(": ")
		b.WriteString(Redact(e.Cause.Error()))
	}
	return b.String()
}

// GoString keeps %#v from printing the fields, which would show a raw cause.
func (e *Error) GoString() string { return "&fault.Error{" + strconv.Quote(e.Error()) + "}" }

// Message returns the text for people: the detail, or the title.
func (e *Error) Message() string {
	if e.Detail != "" {
		return Redact(e.Detail)
	}
	return Redact(e.Title)
}

// Type returns the problem URI of session §C.1: the address of the code in the
// documentation, or about:blank for a code that is not in the table.
func (e *Error) Type() string {
	if _, ok := Lookup(e.Code); !ok {
		return "about:blank"
	}
	return docsBase + string(e.Code)
}

// Is makes errors.Is(err, fault.Timeout) compare codes.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// MarshalJSON returns the safe form that JavaScript gets from toJSON()
// (session §C.1).
func (e *Error) MarshalJSON() ([]byte, error) {
	safe := map[string]any{
		"type": e.Type(), "code": string(e.Code), "title": Redact(e.Title), "retryable": e.Retryable,
	}
	texts := map[string]string{"detail": e.Detail, "phase": string(e.Phase), "instance": e.Instance, "requestId": e.RequestID}
	if e.Cause != nil {
		texts["cause"] = e.Cause.Error()
	}
	for name, text := range texts {
		if text != "" {
			safe[name] = Redact(text)
		}
	}
	if e.Status != 0 {
		safe["status"] = e.Status
	}
	if len(e.Headers) > 0 {
		safe["headers"] = RedactValue(e.Headers)
	}
	if e.Body != nil {
		safe["body"] = RedactValue(e.Body)
	}
	if len(e.Timings) > 0 {
		safe["timings"] = e.Timings
	}
	return json.Marshal(safe)
}

// cause hides an error behind its redacted text, however it is printed. It has no
// Unwrap, so that walking the chain by hand doesn't reach the raw text either.
type cause struct {
	err  error
	text string
}

func (c cause) Error() string        { return c.text }
func (c cause) GoString() string     { return strconv.Quote(c.text) }
func (c cause) Is(target error) bool { return errors.Is(c.err, target) }
func (c cause) As(target any) bool   { return errors.As(c.err, target) }
