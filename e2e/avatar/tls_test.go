package avatar

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/pageserver"
)

// A whole conversation over https and wss, with the local service's own certificate, in a
// browser that accepts it by its hash and has no other exception.
func TestConversationOverTLS(t *testing.T) {
	t.Parallel()
	certificate := must.Get(localservice.NewCertificate())(t)
	service := servicetest.Start(t, localservice.Options{Certificate: certificate, Pages: &pageserver.Files{FS: os.DirFS("../.."), Paths: []string{"e2e", "js/dist"}}, Page: pagetest.Stage})
	o := pagetest.WithVoice
	o.Flags = append(slices.Clip(o.Flags), "--ignore-certificate-errors-spki-list="+localservice.CertificateHash(certificate))
	browser := must.Get(browsertest.Start(t.Context(), o))(t)
	defer browser.Close()
	p, err := browser.NewPage(t.Context(), service.Info().Page)
	must.Do(t, err)
	defer p.Close()
	var got struct {
		Secure        bool
		Picture       seen
		Answer        string
		Microphone    bool
		Plain         []string // resources without encryption
		Sockets, WHEP int
	}
	err = p.Eval(t.Context(), `(async () => (await import("`+folder+`tls.js")).everythingIsEncrypted())()`, &got)
	if err != nil {
		t.Fatalf("%v; the console: %v", err, p.Console())
	}
	got.Picture.want(t)
	if !got.Secure || len(got.Plain) > 0 || got.Sockets == 0 || got.WHEP == 0 {
		t.Errorf("secure context: %v, without encryption: %q, %d sockets, %d requests for media", got.Secure, got.Plain, got.Sockets, got.WHEP)
	}
	if got.Answer == "" || !got.Microphone {
		t.Errorf("the answer is %q, microphone %v", got.Answer, got.Microphone)
	}
	for _, m := range p.Console() {
		if strings.Contains(m.Text, "insecure") || m.Type == "error" || m.Type == browsertest.TypeException {
			t.Errorf("the page says %v", m)
		}
	}
}
