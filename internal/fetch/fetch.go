// Package fetch is HTTP for the runtime: the page's own fetch under js, net/http
// natively, behind one small interface. It also turns replies of the service's HTTP
// APIs into values or errors (Call, Refusal).
//
// It handles requests, streamed replies, their abort through context, and keepalive
// requests of a page that is being unloaded. It must not depend on endpoints, sessions or
// the meaning of tokens, and only the native files may import net/http, whose client
// alone would double the size of the wasm.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// Client does HTTP requests. HTTPClient implements it; tests may use their own.
type Client interface {
	// Do sends r and returns as soon as the reply's headers have arrived,
	// whatever its status is. The caller closes the reply's Body. The end of
	// ctx aborts the request at any moment, also in the middle of the body.
	//
	// The error is ctx.Err() when ctx ended, a fault with bad_request when r
	// can't be sent at all, and a fault with network_error otherwise, which is
	// retryable if no reply had begun.
	Do(ctx context.Context, r *Request) (*Response, error)
}

// Sender starts requests in the background.
type Sender interface {
	// Send starts r with keepalive and returns at once. In a page the request
	// has been passed to the browser when Send returns, so that it survives the
	// page even if Send was called from a pagehide listener. done is called later
	// on another goroutine with the reply's status, or with the error of a
	// request that got no reply; it is not called once the page was unloaded.
	// Browsers refuse keepalive bodies above 64 KiB in total.
	Send(r *Request, done func(status int, err error))
}

var _ Network = (*HTTPClient)(nil)

// Request is one HTTP request. A page sends it without cookies or other
// credentials of its own and bypasses the HTTP cache. No redirect is followed, because
// nearly every request has a token or private content, and a page can't see the target
// of a redirect: a redirect is a network_error, and nothing is sent to its target.
type Request struct {
	// Method defaults to POST, which nearly every call of the service uses.
	Method string
	// URL is absolute, http or https, without user and password.
	URL    string
	Header Header
	Body   Body
	// Keepalive lets the request outlive the page. Send implies it.
	Keepalive bool
	// SendLimit bounds a request of Send natively, where Close waits for it; zero means 15 s.
	SendLimit time.Duration
	// Repeatable means that the request is idempotent, so that Call may repeat it
	// like a GET. It is not sent as a header, which the service's CORS rules would
	// have to allow.
	Repeatable bool
	// Once means that a second execution has another effect or another reply, so that Call
	// does not repeat it after a reply that broke off.
	Once bool
}

// Response is a reply whose body is still being received.
type Response struct {
	Status int
	Header Header
	// Body is never nil. Data is taken from the network only as Body is read.
	// Closing it before its end aborts the request.
	Body io.ReadCloser
}

// OK reports whether the status is a 2xx.
func (r *Response) OK() bool { return r.Status >= 200 && r.Status <= 299 }

// RequestID returns the service's trace id, "" if it sent none (protocol
// §9.2).
func (r *Response) RequestID() string {
	return cmp.Or(r.Header.Get("x-request-id"), r.Header.Get("x-kaltura-request-id"))
}

// Header is a set of HTTP headers with lower-case names. Several values of one
// name are joined with ", ", as in a page.
type Header map[string]string

// Get returns the value of the header with the given name in any case.
func (h Header) Get(name string) string { return h[strings.ToLower(name)] }

// Set sets the header with the given name in any case. h must not be nil.
func (h Header) Set(name, value string) { h[strings.ToLower(name)] = value }

// Authorize returns the headers of a request with a token, and with the trace context of the
// application: that goes where tokens go, and nowhere else.
func Authorize(token string, trace httpclient.TraceContext) Header {
	h := Header{"authorization": "KS " + token}
	if trace.Traceparent != "" {
		h["traceparent"] = trace.Traceparent
		if trace.Tracestate != "" {
			h["tracestate"] = trace.Tracestate
		}
	}
	return h
}

// DefaultLimit bounds a reply that is read as a whole, in bytes (protocol §9.7).
const DefaultLimit = 10 << 20

// ReadAll reads the rest of r's body, closes it, and fails with
// response_too_large when it is longer than limit bytes; 0 means DefaultLimit.
func ReadAll(r *Response, limit int64) ([]byte, error) {
	limit = cmp.Or(limit, DefaultLimit)
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fault.New(fault.ResponseTooLarge, "").WithStatus(r.Status)
	}
	return data, nil
}

// method returns the method r is sent with.
func (r *Request) method() string { return cmp.Or(r.Method, "POST") }

// check rejects invalid requests, because the errors of browsers and net/http for them
// look like those of a failing network. Messages don't repeat values, which may be
// secret.
func (r *Request) check() error {
	u, err := url.Parse(r.URL)
	switch {
	case err != nil:
		return fault.New(fault.BadRequest, "the address of the request must be a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fault.New(fault.BadRequest, "the address of the request must be an absolute http or https URL")
	case u.User != nil:
		return fault.New(fault.BadRequest, "the address of the request must not have a user or password in it")
	}
	if !isToken(r.method()) {
		return fault.New(fault.BadRequest, "the method of the request must be an HTTP token")
	}
	for name, value := range r.Header {
		if !isToken(name) || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c >= 0x7F }) {
			return fault.New(fault.BadRequest, "a header of the request has characters that can't be sent: "+name)
		}
	}
	return nil
}

// isToken reports whether s is a name in the sense of HTTP (RFC 9110 §5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7F || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c)
	})
}

// place returns host and path of r for an error message, without the query,
// and the path alone.
func (r *Request) place() (hostPath, path string) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "", ""
	}
	return u.Host + u.Path, u.Path
}

// failure returns the error that [Client] specifies for a failed request: ctx.Err(), a
// fault inside err, or what with err as its cause.
func failure(ctx context.Context, err error, what *fault.Error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return what.Wrap(err)
}

// unanswered returns the error of a request that got no reply. The request may not have
// arrived, and may succeed when it is repeated.
func (r *Request) unanswered() *fault.Error {
	hostPath, path := r.place()
	return fault.New(fault.NetworkError, r.method()+" "+hostPath+" got no reply"+perhaps).At(path)
}

// unreadable returns the error of an incomplete or invalid reply. The service may have
// executed the request.
func (r *Request) unreadable() *fault.Error {
	hostPath, path := r.place()
	return fault.New(fault.NetworkError, "the reply to "+r.method()+" "+hostPath+" could not be read to its end").
		At(path).WithRetryable(false)
}
