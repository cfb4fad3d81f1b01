package localservice_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// With TLS, a client that trusts the certificate reaches everything under https, by every
// host name of the service, and nothing is served without encryption.
func TestTLS(t *testing.T) {
	t.Parallel()
	const delay = 25 * time.Millisecond
	certificate := must.Get(localservice.NewCertificate("agent.test", "192.0.2.7"))(t)
	s := servicetest.Start(t, localservice.Options{
		Certificate: certificate, HTTP: netem.Conditions{Delay: delay},
		Page: "/example/", Pages: pages(fstest.MapFS{"example/index.html": {Data: []byte("<p>page")}}),
	})
	info := s.Info()
	for name, address := range map[string]string{
		"page": info.Page, "agentic": info.AgenticURL, "genie": info.GenieURL, "session": info.OVPURL, "messaging": info.MessagingURL,
		"socket": info.ConversationManagerURL, "media": info.SRSBaseURL,
	} {
		if !strings.HasPrefix(address, "https://127.0.0.1:") {
			t.Errorf("%s is %s", name, address)
		}
	}
	if !strings.HasPrefix(info.ControlURL, "http://127.0.0.1:") {
		t.Errorf("control is %s", info.ControlURL)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate.Leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	began := time.Now()
	reply := must.Get(client.Get(info.Page))(t)
	body, err := io.ReadAll(reply.Body)
	_ = reply.Body.Close()
	if err != nil || string(body) != "<p>page" || reply.ProtoMajor != 2 {
		t.Errorf("the page: %q, %v, %s", body, err, reply.Proto)
	}
	// One round trip for the handshake of TLS 1.3, one for the page.
	if took := time.Since(began); took < 4*delay {
		t.Errorf("the page came after %s: the handshake did not pass through the link", took)
	}
	if policy := reply.Header.Get("Content-Security-Policy"); !strings.Contains(policy, " wss://127.0.0.1:") {
		t.Errorf("the policy forbids the socket: %s", policy)
	}
	if hash := localservice.CertificateHash(certificate); len(hash) != 44 || info.CertificateHash != hash {
		t.Errorf("the hash is %q, want %q", info.CertificateHash, hash)
	}
	for _, host := range []string{"localhost", "pages.localhost", "127.0.0.1", "::1", "agent.test", "192.0.2.7"} {
		if err := certificate.Leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if plain, err := http.Get(strings.Replace(info.Page, "https:", "http:", 1)); err == nil {
		_ = plain.Body.Close()
		if plain.StatusCode == http.StatusOK {
			t.Error("the page was served without encryption")
		}
	}
}
