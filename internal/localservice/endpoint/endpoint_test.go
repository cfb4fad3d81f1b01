package endpoint

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// roundTripper is not an *http.Transport.
type roundTripper struct{ http.RoundTripper }

// TestDefaultTransportOfTheApplication: programs replace it, for example to trace requests, and a
// service that starts in one makes a client even when it has no endpoint.
func TestDefaultTransportOfTheApplication(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = roundTripper{before}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	reply := must.Get(NewClient().Get(server.URL))(t)
	_ = reply.Body.Close()
	expect.Equal(t, reply.StatusCode, http.StatusNotFound, "status")
}
