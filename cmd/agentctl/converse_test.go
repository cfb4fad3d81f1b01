package main

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	brain "github.com/agentruntime/agentruntime/runtime/converse"
)

// converse has one turn of a visitor, and returns its thread.
func converse(t *testing.T, genieURL, token, text string) string {
	t.Helper()
	web := fetch.New()
	defer web.Close()
	turn, err := brain.Brain{Fetch: web, URL: genieURL, Token: token}.Once(t.Context(), brain.Request{UserMessage: text}, brain.Throw)
	if err != nil {
		t.Fatal(err)
	}
	return turn.ThreadID
}
