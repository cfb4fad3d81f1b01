package avatar

import (
	"net/http"
	"os/exec"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// TestAComponentOfReactHasOneSession at the service though StrictMode mounts it twice, and
// none when it has left the page.
func TestAComponentOfReactHasOneSession(t *testing.T) {
	t.Parallel()
	bundle, err := exec.Command("node", "testdata/react.mjs").Output()
	if err != nil {
		t.Fatal(err)
	}
	h := pagetest.New(t, localservice.Options{})
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/react.js" {
			return false
		}
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(bundle)
		return true
	})
	p := h.Open(folder)
	var shown struct {
		Width int
		State string
	}
	p.Call(&shown, "react.js", "aComponentOfReactHasOneSession")
	if shown.Width == 0 || shown.State != "connected" {
		t.Errorf("the component shows %+v", shown)
	}
	h.OnlySession()
	if n := h.Count(http.MethodPost, "/v1/application/appInit"); n != 1 {
		t.Errorf("%d calls of appInit", n)
	}
	p.Do(nil, `globalThis.leave()`)
	h.AwaitNoSessions(h.Context())
	p.Do(nil, `if (globalThis.agent.error) throw globalThis.agent.error`)
}
