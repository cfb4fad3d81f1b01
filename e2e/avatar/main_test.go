package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.Talking) }

const folder = "/e2e/avatar/testdata/"

// stage opens the empty page of these tests, whose scripts find what talk.js has.
func stage(h *pagetest.House) *pagetest.Page {
	p := h.Open(folder)
	p.Prelude = `const {agents, failure, Ear, held, open, picture, relayed, settled} = await import("` + folder + `talk.js")`
	return p
}
