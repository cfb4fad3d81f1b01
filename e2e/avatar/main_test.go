package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.WithVoice) }

const folder = "/e2e/avatar/testdata/"

// open starts a service, and opens the page of [openPage].
func open(t *testing.T) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	return h, openPage(h)
}

// openPage opens the empty page of these tests, whose scripts can use the exports of talk.js.
func openPage(h *pagetest.Server) *pagetest.Page {
	p := h.Open(folder)
	p.Prelude = `const {agents, failure, LevelMeter, held, open, picture, relayed, settled} = await import("` + folder + `talk.js")`
	return p
}
