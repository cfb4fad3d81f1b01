//go:build !js

package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// dialTimeout covers name resolution and connecting.
	dialTimeout = 10 * time.Second
	// idleTimeout is how long a connection is kept for the next request.
	idleTimeout = 30 * time.Second
	// idlePerHost lets a load generator with many sessions reuse its connections.
	idlePerHost = 16
	// sendTimeout bounds a request of Send. The end-of-conversation call can
	// block for about 10 s on the server (wire-protocol §8.9).
	sendTimeout = 15 * time.Second
)

// errRedirect is why a redirected request failed.
var errRedirect = errors.New("the server redirects the request, and redirects are not followed")

// perhaps is empty: natively, the error of a request without a reply wraps its cause.
const perhaps = ""

// Transport does requests with net/http, over connections of its own and
// without cookies.
type Transport struct {
	client http.Client
	sends  sync.WaitGroup
}

// New returns a Transport. The caller must close it.
func New() *Transport {
	return &Transport{client: http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			ForceAttemptHTTP2:   true,
			IdleConnTimeout:     idleTimeout,
			MaxIdleConnsPerHost: idlePerHost,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}}
}

// Close waits for the requests of Send, each of which ends by itself, and
// closes idle connections. It must not run together with Send.
func (t *Transport) Close() {
	t.sends.Wait()
	t.client.CloseIdleConnections()
}

// Do implements Client.
func (t *Transport) Do(ctx context.Context, r *Request) (*Response, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	// inner ends with ctx, or when the body is closed, which aborts a reply that was
	// not read to its end.
	inner, cancel := context.WithCancel(ctx)
	resp, err := t.do(inner, r)
	if err != nil {
		cancel()
		return nil, failure(ctx, err, r.unanswered())
	}
	header := make(Header, len(resp.Header))
	for name, values := range resp.Header {
		header.Set(name, strings.Join(values, ", "))
	}
	return &Response{
		Status: resp.StatusCode,
		Header: header,
		Body:   &body{ctx: ctx, cancel: cancel, request: r, body: resp.Body},
	}, nil
}

// Send implements Sender. The request ends after 15 s at the latest.
func (t *Transport) Send(r *Request, done func(status int, err error)) {
	t.sends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		resp, err := t.Do(ctx, r)
		status := 0
		if err == nil {
			status = resp.Status
			_, _ = ReadAll(resp, 0) // so that the connection can be reused
		}
		if done != nil {
			done(status, err)
		}
	})
}

func (t *Transport) do(ctx context.Context, r *Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method(), r.URL, bytes.NewReader(r.Body.Data))
	if err != nil {
		return nil, err
	}
	if r.Body.ContentType != "" {
		req.Header.Set("Content-Type", r.Body.ContentType)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := t.client.Do(req)
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err // without the address, whose query may be secret
	}
	return resp, err
}

// body is a reply's body that returns the errors specified by Client.
type body struct {
	ctx     context.Context // that of Do, to distinguish its end from a network failure
	cancel  context.CancelFunc
	request *Request
	body    io.ReadCloser
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil && err != io.EOF {
		err = failure(b.ctx, err, b.request.unreadable())
	}
	return n, err
}

func (b *body) Close() error {
	b.cancel()
	return b.body.Close()
}
