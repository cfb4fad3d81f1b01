package main

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// ask has one turn of a visitor, and returns its thread.
func ask(t *testing.T, genieURL, token, text string) string {
	t.Helper()
	web := fetch.New()
	defer web.Close()
	turn := must.Get(converse.Client{HTTPClient: fetch.As(web), URL: genieURL, Token: token}.Turn(t.Context(), converse.Request{UserMessage: text}, converse.Throw))(t)
	return turn.ThreadID
}
