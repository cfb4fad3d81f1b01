package element

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Ways in which a start fails in a real page: the visitor reads what they can do, the page gets
// the error and its code, and the console one line of the element. The rows of the table in
// js/test/element.test.ts are the errors of every step; these are real causes.
func TestNoStartFailsInSilence(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		modes    string
		setup    string // runs before the start
		refuse   string // the prefix of requests that the service refuses
		code     string
		sentence string
	}{
		{name: "service out of reach", modes: "text", setup: `element.ovpUrl = "http://127.0.0.1:1"`, code: "network_error", sentence: "could not be reached"},
		{name: "no WebAssembly", modes: "text", setup: `delete globalThis.WebAssembly`, code: "unsupported_browser", sentence: "up-to-date browser"},
		{name: "no WebRTC", modes: "face", setup: `delete globalThis.RTCPeerConnection`, code: "unsupported_browser", sentence: "up-to-date browser"},
		{name: "module not served", modes: "text", refuse: "/js/dist/shared", code: "load_failed", sentence: "could not be loaded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, p := open(t)
			for _, text := range []string{"agentruntime: <agent-avatar>", "Failed to load resource", "net::ERR", "Content Security Policy", "agentruntime: "} {
				p.Allow(text)
			}
			p.Do(nil, `await place("agent-avatar", {modes: "`+row.modes+`", microphone: "none"})
				globalThis.told = record(["phaseChange", "error"])
				`+row.setup)
			if row.refuse != "" {
				h.Refuse(row.refuse, http.StatusNotFound)
			}
			var got struct {
				Rejected, Message string
				Errors, Codes     []string
				Veil              bool
			}
			p.Do(&got, `
				const rejected = await element.start().then(() => "", ({code}) => code)
				await until(() => element.phase === "error")
				return {
					rejected, message: find("[part=message]").textContent, veil: seen("[part=veil]"),
					errors: told.all("error").map(({code}) => code),
					codes: told.all("phaseChange").filter(({phase}) => phase === "error").map(({code}) => code),
				}`)
			if got.Rejected != row.code || !slices.Equal(got.Errors, []string{row.code}) || !slices.Equal(got.Codes, []string{row.code}) {
				t.Errorf("rejected with %q, error events %q, codes of phaseChange %q; want %s once", got.Rejected, got.Errors, got.Codes, row.code)
			}
			if !strings.Contains(got.Message, row.sentence) || got.Veil {
				t.Errorf("the visitor reads %q, veil %v", got.Message, got.Veil)
			}
			lines := 0
			for _, m := range p.Console() {
				if m.Type == "error" && strings.HasPrefix(m.Text, "agentruntime") {
					lines++
					if !strings.Contains(m.Text, "#"+row.code) {
						t.Errorf("the console says %q", m.Text)
					}
				}
			}
			if lines != 1 {
				t.Errorf("%d lines of the console, want 1: %v", lines, p.Console())
			}
		})
	}
}
