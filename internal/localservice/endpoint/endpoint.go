// Package endpoint is the address of an OpenAI-compatible service, which the brain,
// the voice and the recogniser can use.
package endpoint

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Endpoint is an OpenAI-compatible endpoint.
type Endpoint struct {
	BaseURL string // up to and including the version, such as "https://api.openai.com/v1"
	Key     string // "" for servers that need none
	Model   string // "" for the default of the purpose
}

// ModelOr returns the model, or the default of the purpose.
func (e Endpoint) ModelOr(fallback string) string {
	if e.Model == "" {
		return fallback
	}
	return e.Model
}

// NewClient returns an HTTP client with connections of its own, which can be closed
// with CloseIdleConnections.
func NewClient() *http.Client {
	return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
}

// Options are those of requests to the endpoint. They are for the services of the
// library, not for openai.NewClient, which would send the key in OPENAI_API_KEY to
// any server.
func (e Endpoint) Options(client *http.Client) []option.RequestOption {
	options := []option.RequestOption{option.WithBaseURL(e.BaseURL), option.WithHTTPClient(client), option.WithMaxRetries(1)}
	if e.Key != "" {
		options = append(options, option.WithAPIKey(e.Key))
	}
	return options
}

// WithoutBody keeps only the status of an endpoint's error reply, because its text may
// quote the key or the user.
func WithoutBody(err error) error {
	var reply *openai.Error
	if errors.As(err, &reply) {
		return fmt.Errorf("endpoint answers with status %d", reply.StatusCode)
	}
	return err
}
