package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/house"
)

func TestMain(m *testing.M) { house.Main(m, house.Talking) }

const folder = "/e2e/avatar/testdata/"

// stage opens the empty page of these tests, whose scripts find what talk.js has.
func stage(h *house.House) *house.Page {
	p := h.Open(folder)
	p.Prelude = `const {agents, failure, Ear, held, open, picture, relayed, settled} = await import("` + folder + `talk.js")`
	return p
}
