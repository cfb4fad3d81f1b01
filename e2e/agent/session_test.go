package agent

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

const folder = "/e2e/agent/testdata/"

// openPage opens the empty page of these tests, whose scripts can use the exports of agent.js.
func openPage(t *testing.T) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open(folder)
	p.Prelude = `const {connect} = await import("` + folder + `agent.js")`
	return h, p
}

// completions counts the requests that reported the end of a session.
func completions(h *pagetest.Server) int {
	return h.Count(http.MethodPost, "/thread/session_completed")
}

// What is said over one transport is known over the other, picture and voice play in
// between, and the service receives one report of the end.
func TestOneConversationOverBothTransports(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	var got struct {
		Text, Spoken, Again, Everything string
		Picture                         struct{ Width, Height, Colours int }
		Loud                            bool
		Transports                      []string
		Same                            []bool
		Thread                          string
		Threads                         []string
		Timings                         map[string]int
		Old                             string
		OldThread                       string
	}
	p.Call(&got, "session.js", "oneConversationOverBothTransports")
	if !strings.Contains(got.Text, "Sam") || got.Spoken != "true: Your name is Sam." ||
		got.Again != "The first thing you said was: My name is Sam." || !strings.Contains(got.Everything, "What is my name?") {
		t.Errorf("said %+v", got)
	}
	if got.Picture.Width == 0 || got.Picture.Colours < 16 || !got.Loud {
		t.Errorf("the picture is %+v, the voice heard: %v", got.Picture, got.Loud)
	}
	if !slices.Equal(got.Transports, []string{"avatar idle", "chat idle"}) || slices.Contains(got.Same, false) {
		t.Errorf("transports %q, of the right kinds: %v", got.Transports, got.Same)
	}
	if got.Thread == "" || slices.ContainsFunc(got.Threads, func(id string) bool { return id != got.Thread }) || got.OldThread != got.Thread {
		t.Errorf("threads %q, of the first transport %q", got.Threads, got.OldThread)
	}
	if got.Old != "invalid_state" || len(got.Timings) != 0 {
		t.Errorf("the old transport answers %q; timings %v in text", got.Old, got.Timings)
	}
	expect.Equal(t, completions(h), 0, "told of ends during the conversation")
	if small, large := h.Count("GET", "/js/dist/chat.wasm"), h.Count("GET", "/js/dist/agentruntime.wasm"); small != 0 || large != 1 {
		t.Errorf("chat.wasm was fetched %d times, agentruntime.wasm %d times", small, large)
	}

	var changes []string
	p.Do(&changes, `
		talk.session.disconnect()
		talk.session.disconnect()
		await talk.session.dispose()
		return talk.changes`)
	h.AwaitSessionCompleted(got.Thread)
	expect.Equal(t, completions(h), 1, "told of ends")
	want := []string{
		"connecting", "transport chat", "connected", "switching", "transport avatar", "connected", "mode avatar",
		"switching", "transport chat", "connected", "mode chat", "closed", "ended disconnect",
	}
	if !slices.Equal(changes, want) {
		t.Errorf("changes %q\nwant    %q", changes, want)
	}
	h.AwaitNoSessions(h.Context())
}

// What a page can call as soon as it is connected is in the first part of the program: it
// works while the second part can't be had.
func TestFirstCallsNeedNoSecondPart(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	h.Refuse("/js/dist/agentruntime.rest-", http.StatusServiceUnavailable)
	p.Allow("Failed to load resource") // after the first turn
	var answer string
	p.Call(&answer, "session.js", "firstCalls")
	if answer == "" {
		t.Error("there is no answer")
	}
}
