package chat

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

const folder = "/e2e/chat/testdata/"

// openPage opens the empty page of these tests, whose scripts can use the exports of chat.js.
func openPage(t *testing.T) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	return h, openAt(h)
}

// openAt opens that page of a server.
func openAt(h *pagetest.Server) *pagetest.Page {
	p := h.Open(folder)
	p.Prelude = `const {connect, visitor} = await import("` + folder + `chat.js")`
	return p
}
