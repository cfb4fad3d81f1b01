package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.WithVoice) }

const folder = "/e2e/avatar/testdata/"

// openPage opens the empty page of these tests, whose scripts can use the exports of talk.js.
func openPage(h *pagetest.Server) *pagetest.Page {
	p := h.Open(folder)
	p.Prelude = `const {agents, failure, LevelMeter, held, open, picture, relayed, settled} = await import("` + folder + `talk.js")`
	return p
}
