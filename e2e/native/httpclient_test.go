package native

import (
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// tracer is an application's transport that notes the paths of requests.
type tracer struct {
	http.RoundTripper
	mu    sync.Mutex
	paths []string
}

func (r *tracer) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.paths = append(r.paths, q.URL.Path)
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(q)
}

// did reports whether a path was requested since the last call.
func (r *tracer) did(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := slices.ContainsFunc(r.paths, func(p string) bool { return strings.Contains(p, part) })
	r.paths = nil
	return found
}

// TestClientOfTheApplication: what a live session and a client for servers request, the WebSocket and the picture too, is done
// with the option HTTPClient. Only that client trusts the certificate of the service.
func TestClientOfTheApplication(t *testing.T) {
	certificate := must.Get(localservice.NewCertificate())(t)
	service := start(t, localservice.Options{Certificate: certificate})
	info := service.Info()
	roots := x509.NewCertPool()
	roots.AddCert(certificate.Leaf)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig.RootCAs = roots
	trace := &tracer{RoundTripper: transport}
	client := &http.Client{Transport: trace}
	defer client.CloseIdleConnections()

	who, _ := info.Agent("receptionist")
	o := appinit.Options{
		WidgetID: who.WidgetID,
		Config:   appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	}
	if _, err := appinit.Init(t.Context(), o); !errors.Is(err, fault.NetworkError) {
		t.Fatalf("without the certificate: %v", err)
	}
	o.HTTPClient = client
	init, err := appinit.Init(t.Context(), o)
	if err != nil || !trace.did(appinit.InitPath) {
		t.Fatalf("appInit: %v", err)
	}

	face := avatar.OptionsFor(init)
	face.HTTPClient = client
	a := connectFace(t, face)
	if paths := trace.paths; !slices.Contains(paths, "/socket.io/") || !slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, "/whep/") }) {
		t.Errorf("the live session requested %q", paths)
	}
	a.Close()
	if !trace.did("session_completed") {
		t.Error("the end was not reported with the client")
	}

	m := must.Get(management.New(management.Options{PartnerID: info.PartnerID, Secret: info.AdminSecret, Config: o.Config, HTTPClient: client}))(t)
	defer m.Close()
	if _, err := m.Tokens.Admin(t.Context(), management.AdminTokenInput{UserID: "owner"}); err != nil || !trace.did("/session/action/start") {
		t.Errorf("a token: %v", err)
	}
}
