package element

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// Sound waits for a click or a key here, as in most browsers.
func TestMain(m *testing.M) {
	pagetest.Main(m, browsertest.Options{Microphone: pagetest.WithVoice.Microphone})
}

const folder = "/e2e/element/testdata/"

// open starts a service, and opens the page of [openPage].
func open(t *testing.T) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	return h, openPage(h)
}

// openPage opens the empty page of these tests, whose scripts can use the exports of
// element.js.
func openPage(h *pagetest.Server) *pagetest.Page {
	p := h.Open(folder + "elements.html")
	p.Prelude = `const {agents, button, captions, find, held, picture, place, record, seen, service, settled, until} = await import("` + folder + `element.js")`
	return p
}

// press focuses the button with a part, and presses it with a key, as a visitor does who
// has no pointer.
func press(p *pagetest.Page, part string) {
	p.Do(nil, `await until(() => seen("button[part~=`+part+`]") && !button("`+part+`").disabled); button("`+part+`").focus()`)
	p.Keys("\r")
}

// hold keeps requests with that prefix waiting until the returned function is called.
func hold(h *pagetest.Server, prefix string) (release func()) {
	wait := make(chan struct{})
	h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, prefix) {
			<-wait
		}
		return false
	})
	return sync.OnceFunc(func() {
		h.Intercept(nil)
		close(wait)
	})
}
