//go:build js && wasm

package fetch

import (
	"context"
	"errors"
	"io"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// errClosed is the error of reading a closed body.
var errClosed = errors.New("read from a closed reply body")

// perhaps is appended to the message for a request without a reply, because browsers
// report all these causes as "Failed to fetch".
const perhaps = ": is the page online, the address right and without a redirect, and the request allowed " +
	"by the server's CORS headers and by connect-src of the page's Content-Security-Policy?"

var (
	objectCtor     = js.Global().Get("Object")
	uint8ArrayCtor = js.Global().Get("Uint8Array")
	arrayFrom      = js.Global().Get("Array").Get("from").Call("bind", js.Global().Get("Array"))
)

// HTTPClient does requests with the page's fetch. It looks the global fetch up for every
// request, so that a page can wrap it, for tests or for statistics.
type HTTPClient struct {
	fetch js.Value // instead of the global one; undefined for that
}

// New returns an HTTPClient.
func New() *HTTPClient { return &HTTPClient{} }

// Using returns an HTTPClient that calls the function fetch instead of the global one.
func Using(fetch js.Value) *HTTPClient { return &HTTPClient{fetch} }

func over(httpclient.Client) *HTTPClient { return New() }

// As returns c in the form of an option HTTPClient, for packages of this module and their
// tests.
func As(c Client) httpclient.Client { return c }

// Carried returns the client that [As] was called with, nil for any other h.
func Carried(h httpclient.Client) Client {
	c, _ := h.(Client)
	return c
}

// Close does nothing: the browser owns the connections, and requests of Send outlive
// the page.
func (c *HTTPClient) Close() {}

// Do implements Client. It waits, so it must not be called in a callback.
func (c *HTTPClient) Do(ctx context.Context, r *Request) (*Response, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// inner ends with ctx, or when the body is closed early.
	inner, cancel := context.WithCancel(ctx)
	signal, unhook := jsbridge.SignalFromContext(inner)
	done := func() {
		unhook() // the reply is complete
		cancel()
	}
	promise, err := c.start(r, signal, r.Keepalive)
	if err != nil {
		done()
		return nil, failure(ctx, err, r.unanswered())
	}
	reply, err := jsbridge.Await(inner, promise)
	if err != nil {
		if ctx.Err() == nil {
			done()
		} // else the hook runs, or has run, and aborts the request
		return nil, failure(ctx, err, r.unanswered())
	}
	resp, err := response(reply)
	if err != nil {
		cancel()
		return nil, failure(ctx, err, r.unreadable())
	}
	reader, err := streamReader(reply)
	if err != nil {
		cancel()
		return nil, failure(ctx, err, r.unreadable())
	}
	resp.Body = &body{ctx: ctx, inner: inner, abort: cancel, done: done, request: r, reader: reader}
	return resp, nil
}

// Send implements Sender. It calls fetch before it returns, because a page that is
// being unloaded may not run any later code.
func (c *HTTPClient) Send(r *Request, done func(status int, err error)) {
	err := r.check()
	var promise js.Value
	if err == nil {
		promise, err = c.start(r, js.Undefined(), true)
	}
	go func() {
		if err != nil {
			done(0, failure(context.Background(), err, r.unanswered()))
			return
		}
		reply, err := jsbridge.Await(context.Background(), promise)
		if err != nil {
			done(0, failure(context.Background(), err, r.unanswered()))
			return
		}
		resp, err := response(reply)
		if err != nil {
			done(0, failure(context.Background(), err, r.unreadable()))
			return
		}
		discard(reply)
		done(resp.Status, nil)
	}()
}

// SendAtHide leaves r to the browser, which sends it at pagehide even if the program can't run
// then, unless withdraw was called. See jsbridge.AtHide for cached.
func (c *HTTPClient) SendAtHide(r *Request, cached bool) (withdraw func()) {
	if r.check() != nil {
		return func() {}
	}
	fetch, init, err := c.prepare(r, js.Undefined(), true)
	if err != nil {
		return func() {}
	}
	send, err := jsbridge.Call(fetch, "bind", js.Undefined(), r.URL, init)
	if err != nil {
		return func() {}
	}
	return jsbridge.AtHide(r.URL+string(r.Body.Data), send, cached)
}

// start calls fetch and returns its promise.
func (c *HTTPClient) start(r *Request, signal js.Value, keepalive bool) (js.Value, error) {
	fetch, init, err := c.prepare(r, signal, keepalive)
	if err != nil {
		return js.Undefined(), err
	}
	return jsbridge.Invoke(fetch, r.URL, init)
}

// prepare returns fetch and its second argument.
func (c *HTTPClient) prepare(r *Request, signal js.Value, keepalive bool) (fetch js.Value, init js.Value, err error) {
	headers := objectCtor.New()
	if r.Body.ContentType != "" {
		headers.Set("content-type", r.Body.ContentType)
	}
	for name, value := range r.Header {
		headers.Set(name, value)
	}
	init = objectCtor.New()
	init.Set("method", r.method())
	init.Set("headers", headers)
	init.Set("signal", signal)
	init.Set("keepalive", keepalive)
	init.Set("credentials", "omit") // the token is the only credential
	init.Set("cache", "no-store")
	init.Set("redirect", "error")
	// Sends the page's origin to other hosts, whatever the page's own policy is, but
	// not the page's path, which may identify a person.
	init.Set("referrerPolicy", "strict-origin")
	if len(r.Body.Data) > 0 {
		data := uint8ArrayCtor.New(len(r.Body.Data))
		js.CopyBytesToJS(data, r.Body.Data)
		init.Set("body", data)
	}
	if c.fetch.IsUndefined() {
		fetch, err = jsbridge.Get(js.Global(), "fetch")
		return fetch, init, err
	}
	return c.fetch, init, nil
}

// response reads the status and headers of a reply. The page may have replaced fetch,
// so any property may be missing, and reading it may throw.
func response(reply js.Value) (*Response, error) {
	status, err := jsbridge.Get(reply, "status")
	if err != nil {
		return nil, err
	}
	resp := &Response{Header: Header{}}
	if status.IsUndefined() || jsbridge.FromJS("status", status, &resp.Status) != nil {
		return nil, errors.New("fetch must return a Response")
	}
	headers, err := jsbridge.Get(reply, "headers")
	if err != nil {
		return nil, err
	}
	pairs, err := jsbridge.Invoke(arrayFrom, headers)
	if err != nil {
		return nil, err
	}
	var list [][]string
	if jsbridge.FromJS("headers", pairs, &list) != nil {
		return nil, errors.New("the headers of fetch's Response must be iterable")
	}
	for _, pair := range list {
		if len(pair) != 2 {
			return nil, errors.New("the headers of fetch's Response must be iterable")
		}
		resp.Header.Set(pair[0], pair[1])
	}
	return resp, nil
}

// streamReader returns a reader of the reply's stream, or null for a reply without a
// body, such as a 204.
func streamReader(reply js.Value) (js.Value, error) {
	stream, err := jsbridge.Get(reply, "body")
	if err != nil || !stream.Truthy() {
		return js.Null(), err
	}
	return jsbridge.Call(stream, "getReader")
}

// discard cancels a reply that will not be read.
func discard(reply js.Value) {
	stream, err := jsbridge.Get(reply, "body")
	if err != nil || !stream.Truthy() {
		return
	}
	if promise, err := jsbridge.Call(stream, "cancel"); err == nil {
		_, _ = jsbridge.Await(context.Background(), promise)
	}
}

// body reads a reply's stream, one chunk per read from the browser, so that
// backpressure reaches the sender.
type body struct {
	ctx, inner  context.Context // ctx is that of Do; inner also ends with Close
	abort, done func()
	request     *Request
	reader      js.Value
	rest        []byte // of the last chunk
	err         error  // io.EOF or an error, after the last chunk
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		b.rest, b.err = b.next()
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// next waits for one chunk. At the end of the body or after an error it releases the reader
// and the context.
func (b *body) next() ([]byte, error) {
	chunk, err := b.pull()
	switch {
	case err == nil:
		return chunk, nil
	case err == io.EOF:
		b.done()
	case b.ctx.Err() == nil && b.inner.Err() != nil:
		err = errClosed
	default:
		b.abort()
		err = failure(b.ctx, err, b.request.unreadable())
	}
	b.reader = js.Null()
	return nil, err
}

func (b *body) pull() ([]byte, error) {
	if err := b.inner.Err(); err != nil {
		return nil, err
	}
	if b.reader.IsNull() {
		return nil, io.EOF
	}
	promise, err := jsbridge.Call(b.reader, "read")
	if err != nil {
		return nil, err
	}
	result, err := jsbridge.Await(b.inner, promise)
	if err != nil {
		return nil, err
	}
	// The stream of a replaced fetch may return anything, such as a chunk whose length
	// throws.
	var chunk struct {
		Done  bool   `json:"done"`
		Value []byte `json:"value"`
	}
	err = jsbridge.FromJS("chunk", result, &chunk)
	switch {
	case err == nil && chunk.Done:
		return nil, io.EOF
	case err != nil || chunk.Value == nil:
		return nil, errors.New("the body of fetch's Response must consist of bytes")
	}
	return chunk.Value, nil
}

// Close aborts the request, unless its body has been read to the end.
func (b *body) Close() error {
	b.rest = nil
	if b.err == nil {
		b.abort()
	}
	return nil
}
