package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
)

// From turns any error into an *Error:
//
//   - nil stays nil, and an *Error anywhere in the chain is returned as it is;
//   - a bare Code becomes an error with that code;
//   - context.Canceled becomes aborted, a deadline (or any error whose Timeout
//     method returns true) becomes timeout;
//   - everything else becomes internal_error, with the error as its cause.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var code Code
	if errors.As(err, &code) {
		detail := err.Error()
		if detail == string(code) {
			detail = "" // so that New uses the code's meaning
		}
		return New(code, detail)
	}
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return New(Aborted, "").Wrap(err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return New(Timeout, "the time was up").Wrap(err)
	}
	return New(InternalError, "").Wrap(err)
}

// HeaderGetter reads one reply header; http.Header and fetch.Header implement it.
type HeaderGetter interface{ Get(name string) string }

// FromStatus makes the error for a reply with an HTTP error status: protocol §9.7
// defines the codes and where the message is looked for. A name of RefusalNames in the
// body says more than the status. header may be nil.
func FromStatus(status int, body []byte, header HeaderGetter) *Error {
	reply := parseReply(body)
	code, ok := namedCode(reply.raw)
	if !ok {
		code = statusCode(status)
	}
	e := New(code, reply.message()).WithStatus(status).WithBody(reply.body).WithHeaders(header)
	e.Retryable = status == RefusedForNow
	return e
}

// FromBody finds an error inside a reply with a success status (protocol
// §9.7 (a)–(d), service.md "Refusals with HTTP 200" rule 4). It returns nil
// when the body has no error, or is no JSON object.
func FromBody(status int, body []byte) *Error {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil
	}
	if len(body) > MaxRefusal {
		return nil // no exception object is that long
	}
	reply := parseReply(body)
	object, ok := reply.body.(map[string]any)
	if !ok || !isException(object) {
		return nil
	}
	code, ok := namedCode(reply.raw)
	if !ok {
		code = APIException
	}
	e := New(code, reply.message()).WithStatus(status).WithBody(reply.body)
	// The service's own name for the refusal, such as AVATAR_NOT_FOUND, is
	// what callers branch on (service.md "Avatars").
	if name, _ := object["code"].(string); readable(name) && code == APIException {
		e.WithTitle(Excerpt(name, MaxMessage))
	}
	return e
}

// WithHeaders keeps the diagnostic headers of a reply, and its request id.
// header may be nil.
func (e *Error) WithHeaders(header HeaderGetter) *Error {
	if header == nil {
		return e
	}
	for _, name := range DiagnosticHeaders {
		value := header.Get(name)
		if value == "" {
			continue
		}
		if e.Headers == nil {
			e.Headers = make(map[string]string)
		}
		e.Headers[name] = Excerpt(value, MaxMessage)
		if strings.HasSuffix(name, "request-id") {
			e.RequestID = e.Headers[name] // x-request-id is last in the list and overrides the other
		}
	}
	return e
}

func statusCode(status int) Code {
	for _, row := range StatusCodes {
		if row.Status == status {
			return row.Code
		}
	}
	if status >= 500 {
		return ServerError
	}
	return OtherError
}

func namedCode(text string) (Code, bool) {
	for _, row := range RefusalNames {
		if strings.Contains(text, row.Name) {
			return row.Code, true
		}
	}
	return "", false
}

// isException is the test of protocol §9.7 (a)–(d).
func isException(object map[string]any) bool {
	_, hasCode := object["code"].(string)
	_, hasMessage := object["message"].(string)
	_, hasArgs := object["args"]
	switch {
	case object["objectType"] == "KalturaAPIException":
		return true
	case hasCode && hasMessage && hasArgs:
		return true
	case hasMessage && object["error"] == true:
		return true
	}
	return onlyStatusKeys(object) && saysFailure(object)
}

// onlyStatusKeys reports whether object has no keys but those that describe an outcome,
// so that a record with a field called status isn't taken for an error.
func onlyStatusKeys(object map[string]any) bool {
	for key := range object {
		if !slices.Contains(OutcomeKeys[:], key) {
			return false
		}
	}
	return true
}

func saysFailure(object map[string]any) bool {
	if object["success"] == false || object["ok"] == false {
		return true
	}
	for _, key := range [...]string{"status", "statusCode"} {
		if n, ok := object[key].(float64); ok && n >= 400 {
			return true
		}
	}
	switch v := object["error"].(type) {
	case nil, bool: // a bare flag isn't the error's text
		return false
	case string:
		return v != ""
	case float64:
		return v != 0
	default:
		return true
	}
}

// reply is a failed reply's body: its text, and its value when it is JSON.
type reply struct {
	raw  string
	body any
}

func parseReply(body []byte) reply {
	if len(body) > MaxRefusal {
		body = body[:MaxRefusal]
	}
	r := reply{raw: strings.ToValidUTF8(string(body), "\uFFFD")}
	if json.Unmarshal(body, &r.body) != nil {
		r.body = nil
		if text := strings.TrimSpace(r.raw); text != "" {
			r.body = Excerpt(text, MaxMessage)
		}
	}
	return r
}

// message extracts the server's text in the order of protocol §9.7; an
// empty result means the generic text of the code.
func (r reply) message() string {
	text, _ := r.body.(string)
	if object, ok := r.body.(map[string]any); ok {
		text = objectMessage(object)
	}
	return Excerpt(strings.TrimSpace(text), MaxMessage)
}

// readable reports whether there is something to read in text.
func readable(text string) bool { return strings.TrimSpace(text) != "" }

func objectMessage(object map[string]any) string {
	if s, _ := object["message"].(string); readable(s) {
		return s
	}
	switch detail := object["detail"].(type) {
	case string:
		if readable(detail) {
			return detail
		}
	case []any:
		if s := joinDetails(detail); s != "" {
			return s
		}
	}
	switch e := object["error"].(type) {
	case string:
		return e
	case map[string]any:
		s, _ := e["message"].(string)
		return s
	}
	return ""
}

// joinDetails joins the items of a 422 reply: {loc, msg, type} or plain text.
func joinDetails(items []any) string {
	var parts []string
	for _, item := range items {
		text, _ := item.(string)
		if object, ok := item.(map[string]any); ok {
			text, _ = object["msg"].(string)
		}
		if readable(text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// PanicText is the text of p, a recovered panic: nearly always an error or a string.
// It replaces fmt, which would enlarge the WebAssembly files.
func PanicText(p any) string {
	switch p := p.(type) {
	case error:
		return p.Error()
	case string:
		return p
	case interface{ String() string }:
		return p.String()
	default:
		return "a value that is not text"
	}
}

// stackSize holds about forty frames; more doesn't help to find the place.
const stackSize = 8 << 10

// Stack returns the call stack of the calling goroutine. In a function that recovers a
// panic it includes the calls that led to the panic.
func Stack() string {
	stack := make([]byte, stackSize)
	return string(stack[:runtime.Stack(stack, false)])
}
