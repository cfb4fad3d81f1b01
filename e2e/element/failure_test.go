package element

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// Ways in which a start fails in a real page: the visitor reads what they can do, the page gets
// the error and its code, and the console one line of the element. The rows of the table in
// js/test/element.test.ts are the errors of every step; these are real causes.
func TestNoStartFailsInSilence(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		tags     []string // default: a face and a text
		setup    string   // runs before the start
		refuse   string   // the prefix of requests that the service refuses with status
		status   int
		code     string
		sentence string
		final    bool // another attempt can't help
	}{
		{name: "unknown widget", setup: `element.widgetId = "no-such-widget"`, code: "agent_not_found", sentence: "asked for an agent that does not exist", final: true},
		{name: "address without encryption", setup: `element.ovpUrl = "http://service.example"`, code: "insecure_transport", sentence: "not set up correctly", final: true},
		{name: "service out of reach", setup: `element.ovpUrl = "http://127.0.0.1:1"`, code: "network_error", sentence: "could not be reached"},
		{
			name: "no WebAssembly", setup: `delete globalThis.WebAssembly`,
			code: "unsupported_browser", sentence: "up-to-date browser", final: true,
		},
		{
			name: "no WebRTC", tags: []string{"face"}, setup: `delete globalThis.RTCPeerConnection`,
			code: "unsupported_browser", sentence: "up-to-date browser", final: true,
		},
		{
			name: "content policy", code: "load_failed", sentence: "could not be loaded",
			setup: `const policy = document.createElement("meta")
				policy.httpEquiv = "Content-Security-Policy"
				policy.content = "script-src 'self' 'unsafe-inline'"
				document.head.append(policy)`,
		},
		{name: "program not served", refuse: "/js/dist/agentruntime.wasm", tags: []string{"face"}, status: http.StatusNotFound, code: "load_failed", sentence: "could not be loaded"},
		{name: "module not served", refuse: "/js/dist/shared", status: http.StatusNotFound, code: "load_failed", sentence: "could not be loaded"},
		{name: "no free agent", tags: []string{"face"}, setup: `/capacity`, code: "capacity_unavailable", sentence: "try again in a moment"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := pagetest.New(t, localservice.Options{})
			if row.setup == "/capacity" {
				h.Control("/capacity", map[string]any{"exhausted": true})
				row.setup = ""
			}
			tags := row.tags
			if tags == nil {
				tags = []string{"face", "text"}
			}
			for _, modes := range tags {
				p := openPage(h)
				for _, text := range []string{"agentruntime: <agent-avatar>", "Failed to load resource", "net::ERR", "Content Security Policy", "agentruntime: "} {
					p.Allow(text)
				}
				p.Do(nil, `await place("agent-avatar", {modes: "`+modes+`", microphone: "none"})
					globalThis.told = record(["phaseChange", "error"])
					`+row.setup)
				if row.refuse != "" {
					refuse(h, row.refuse, row.status)
				}
				var got struct {
					Rejected, Message string
					Errors, Codes     []string
					Button, Veil      bool
				}
				p.Do(&got, `
					const rejected = await element.start().then(() => "", ({code}) => code)
					await until(() => element.phase === "error")
					return {
						rejected, message: find("[part=message]").textContent, button: seen("[part~=start]"), veil: seen("[part=veil]"),
						errors: told.all("error").map(({code}) => code),
						codes: told.all("phaseChange").filter(({phase}) => phase === "error").map(({code}) => code),
					}`)
				if got.Rejected != row.code || !slices.Equal(got.Errors, []string{row.code}) || !slices.Equal(got.Codes, []string{row.code}) {
					t.Errorf("%s: rejected with %q, error events %q, codes of phaseChange %q; want %s once", modes, got.Rejected, got.Errors, got.Codes, row.code)
				}
				if !strings.Contains(got.Message, row.sentence) || got.Veil {
					t.Errorf("%s: the visitor reads %q, veil %v", modes, got.Message, got.Veil)
				}
				if row.final && (strings.Contains(got.Message, "again") || got.Button && modes != "text") {
					t.Errorf("%s: another attempt is offered: %q, button %v", modes, got.Message, got.Button)
				}
				lines := 0
				for _, m := range p.Console() {
					if m.Type == "error" && strings.HasPrefix(m.Text, "agentruntime") {
						lines++
						if !strings.Contains(m.Text, "#"+row.code) {
							t.Errorf("%s: the console says %q", modes, m.Text)
						}
					}
				}
				if lines != 1 {
					t.Errorf("%s: %d lines of the console, want 1: %v", modes, lines, p.Console())
				}
				h.Intercept(nil)
				p.Close()
			}
		})
	}
}
