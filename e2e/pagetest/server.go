package pagetest

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/pageserver"
)

// Server is the local service of one test, behind a proxy that records requests. It
// ends with the test.
type Server struct {
	*localservice.Service
	// URL is the address of the proxy.
	URL string

	t     *testing.T
	ctx   context.Context
	proxy *proxy
}

// New starts a server. It sets the address of the proxy, the pages to serve and a voice
// that sounds the same on every machine; all other options are those of o.
func New(t *testing.T, o localservice.Options) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	h := &Server{t: t, ctx: ctx, proxy: newProxy()}
	server := httptest.NewServer(h.proxy)
	t.Cleanup(server.Close)
	h.URL = server.URL
	o.PublicURL = server.URL
	o.Pages, o.Page = &pageserver.Files{FS: os.DirFS(root), Paths: served}, "/example/avatar/"
	o.Voice = "builtin"
	for h.Service == nil {
		o.Addr = freeAddr(t)
		service, err := localservice.Start(ctx, o)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue // another program took the port meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		h.Service = service
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	h.proxy.forwardTo(o.Addr)
	return h
}

// Context ends when the test has taken too long.
func (h *Server) Context() context.Context { return h.ctx }

// served are the examples, the npm package as built, and the tests of pages with their
// testdata.
var served = []string{"example", "js/dist", "e2e"}

// freeAddr returns a loopback address that is free at the moment: a service behind a
// proxy does not report the address on which it listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}
