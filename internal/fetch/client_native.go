//go:build !js

package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

const (
	// dialTimeout covers name resolution and connecting.
	dialTimeout = 10 * time.Second
	// idleTimeout is how long a connection is kept for the next request.
	idleTimeout = 30 * time.Second
	// idlePerHost lets a load generator with many sessions reuse its connections.
	idlePerHost = 16
	// sendTimeout bounds a request of Send that has no limit. The end-of-conversation call can
	// block for about 10 s on the server (protocol §8.9).
	sendTimeout = 15 * time.Second
)

// errRedirect is why a redirected request failed.
var errRedirect = errors.New("the server redirects the request, and redirects are not followed")

// perhaps is empty: natively, the error of a request without a reply wraps its cause.
const perhaps = ""

// HTTPClient does requests with net/http.
type HTTPClient struct {
	client http.Client
	own    bool // the connections are closed with it
	sends  sync.WaitGroup
}

// New returns an HTTPClient with connections of its own and without cookies. The caller must
// close it.
func New() *HTTPClient {
	return &HTTPClient{own: true, client: http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			ForceAttemptHTTP2:   true,
			IdleConnTimeout:     idleTimeout,
			MaxIdleConnsPerHost: idlePerHost,
		},
		CheckRedirect: refuse,
	}}
}

func refuse(*http.Request, []*http.Request) error { return errRedirect }

// over returns an HTTPClient that uses h, or connections of its own if h is nil or carries a
// Client.
func over(h httpclient.Client) *HTTPClient {
	if h == nil || Carried(h) != nil {
		return New()
	}
	c := &HTTPClient{client: *h}
	c.client.CheckRedirect = refuse
	return c
}

// As returns c in the form of an option HTTPClient, for packages of this module and their
// tests. Only [Open] and [Carried] can use it.
func As(c Client) httpclient.Client { return &http.Client{Transport: carrier{c}} }

// Carried returns the client that [As] was called with, nil for any other h.
func Carried(h httpclient.Client) Client {
	if h == nil {
		return nil
	}
	c, _ := h.Transport.(carrier)
	return c.Client
}

// carrier is a Client inside an http.Client.
type carrier struct{ Client }

// RoundTrip is never called.
func (carrier) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("fetch: a carried client does no requests of net/http")
}

// Close waits for the requests of Send, each of which ends by itself, and closes idle
// connections of its own. It must not run together with Send.
func (c *HTTPClient) Close() {
	c.sends.Wait()
	if c.own {
		c.client.CloseIdleConnections()
	}
}

// Do implements Client.
func (c *HTTPClient) Do(ctx context.Context, r *Request) (*Response, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	// inner ends with ctx, or when the body is closed, which aborts a reply that was
	// not read to its end.
	inner, cancel := context.WithCancel(ctx)
	resp, err := c.do(inner, r)
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

// Send implements Sender. The request ends at its limit.
func (c *HTTPClient) Send(r *Request, done func(status int, err error)) {
	c.sends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(r.SendLimit, sendTimeout))
		defer cancel()
		resp, err := c.Do(ctx, r)
		status := 0
		if err == nil {
			status = resp.Status
			_, _ = ReadAll(resp, 0) // so that the connection can be reused
		}
		done(status, err)
	})
}

func (c *HTTPClient) do(ctx context.Context, r *Request) (*http.Response, error) {
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
	resp, err := c.client.Do(req)
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
