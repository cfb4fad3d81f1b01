// Package endpoint provides the address and the client of an OpenAI-compatible service,
// for the brain, the voice and the recogniser.
package endpoint

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"
)

// Endpoint is an OpenAI-compatible endpoint.
type Endpoint struct {
	BaseURL string // up to and including the version, such as "https://api.openai.com/v1"
	Key     string // "" for servers that need none
	Model   string // "" for the default of the purpose
}

// NewClient returns an HTTP client with connections of its own, which can be closed
// with CloseIdleConnections; that of the application where it has replaced
// [http.DefaultTransport].
func NewClient() *http.Client {
	client := &http.Client{}
	if rt, ok := http.DefaultTransport.(*http.Transport); ok {
		client.Transport = rt.Clone()
	}
	return client
}

// retryDelay is the pause before a request is sent again.
const retryDelay = 500 * time.Millisecond

// maxReply bounds a reply, in bytes. The client keeps a line of a stream until it is complete.
const maxReply = 64 << 20

// retrying sends a request again, once, when it failed or when the status of the reply is
// 429 or 5xx.
type retrying struct{ *http.Client }

func (c retrying) Do(r *http.Request) (*http.Response, error) {
	reply, err := c.twice(r)
	if err == nil {
		reply.Body = http.MaxBytesReader(nil, reply.Body, maxReply)
	}
	return reply, err
}

func (c retrying) twice(r *http.Request) (*http.Response, error) {
	reply, err := c.Client.Do(r)
	if err == nil && reply.StatusCode != http.StatusTooManyRequests && reply.StatusCode < http.StatusInternalServerError {
		return reply, nil
	}
	if r.GetBody == nil {
		return reply, err
	}
	select {
	case <-r.Context().Done():
		return reply, err
	case <-time.After(retryDelay):
	}
	body, bodyErr := r.GetBody()
	if bodyErr != nil {
		return reply, err
	}
	if err == nil {
		reply.Body.Close()
	}
	again := r.Clone(r.Context())
	again.Body = body
	return c.Client.Do(again)
}

// Client returns a client for the endpoint, which sends its requests with h.
func (e Endpoint) Client(h *http.Client) *openai.Client {
	config := openai.DefaultConfig(e.Key)
	config.BaseURL = e.BaseURL
	config.HTTPClient = retrying{h}
	return openai.NewClientWithConfig(config)
}

// Status returns the HTTP status of an endpoint's error reply, 0 for other errors.
func Status(err error) int {
	status, _ := replied(err)
	return status
}

// replied returns the status of an endpoint's error reply, 0 if the error came in a stream that
// had started successfully.
func replied(err error) (status int, ok bool) {
	var described *openai.APIError
	var other *openai.RequestError
	switch {
	case errors.As(err, &other): // may wrap an APIError
		return other.HTTPStatusCode, true
	case errors.As(err, &described):
		return described.HTTPStatusCode, true
	}
	return 0, false
}

// WithoutBody keeps only the status of an endpoint's error reply, because its text may
// quote the key or the user.
func WithoutBody(err error) error {
	switch status, ok := replied(err); {
	case !ok:
		return err
	case status == 0:
		return errors.New("endpoint breaks off with an error")
	default:
		return fmt.Errorf("endpoint answers with status %d", status)
	}
}
