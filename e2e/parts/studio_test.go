package parts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// openStudio starts the service and the studio, and opens its page.
func openStudio(t *testing.T) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	described, err := json.Marshal(h.Info())
	if err != nil {
		t.Fatal(err)
	}
	p := pagetest.Open(t, startProgram(t, "example/studio", "Build an agent:", string(described)+"\n", "-addr", "127.0.0.1:0"))
	p.AwaitTrue(`document.querySelectorAll("#agents li").length > 0 && document.querySelectorAll("#faces input").length > 0`)
	return h, p
}

// TestAnAgentIsBuiltByKeyboard: a person makes an agent that knows a document, talks to
// it, and reads what was said.
func TestAnAgentIsBuiltByKeyboard(t *testing.T) {
	t.Parallel()
	h, p := openStudio(t)
	document := filepath.Join(t.TempDir(), "lighthouse.md")
	if err := os.WriteFile(document, []byte("# The lighthouse\n\nThe lighthouse of Porto Moniz opens at nine in the morning.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Do(nil, `document.getElementById("new").focus()`)
	p.Keys("\rHarbour guide")
	p.Do(nil, `document.getElementById("opening").focus()`)
	p.Keys("Welcome to the harbour.")
	p.Do(nil, `document.getElementById("directive").focus()`)
	p.Keys("You answer questions about the harbour.")
	if err := p.Run(p.Context(), chromedp.SetUploadFiles("#knowledge", []string{document})); err != nil {
		t.Fatal(err)
	}
	p.Do(nil, `document.getElementById("create").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.ariaLabel === "Talk: Harbour guide"`)
	if got := p.Text("#agents li:first-child p"); got != "Welcome to the harbour." {
		t.Errorf("the card shows %q", got)
	}
	var address string
	p.Do(&address, `return document.activeElement.href`)

	visitor := h.Open(strings.Replace(strings.TrimPrefix(address, h.Info().GenieURL), "/avatar/", "/chat/", 1))
	visitor.Ready()
	visitor.Ask("When does the lighthouse open?", "nine in the morning")

	p.Do(nil, `document.querySelector('[aria-label="Conversations: Harbour guide"]').focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.querySelectorAll("#threads button").length === 1`)
	p.Do(nil, `document.querySelector("#threads button").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.id === "thread" && document.getElementById("lines").innerText.includes("nine in the morning")`)
	p.Accessible()
	p.NothingCut(320, 568)
	p.NothingCut(667, 375)

	p.Do(nil, `document.querySelector('[aria-label="Delete: Harbour guide"]').focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.value === "cancel"`)
	p.Keys("\t\r")
	p.AwaitTrue(`document.getElementById("status").textContent === "Harbour guide is deleted."`)
	p.Do(nil, `if (document.querySelector('[aria-label="Talk: Harbour guide"]')) throw new Error("the deleted agent is listed")`)
}

// TestRefusalsAreShown: what can't be done is said in words, and nothing is left of it.
func TestRefusalsAreShown(t *testing.T) {
	t.Parallel()
	_, p := openStudio(t)
	for range 2 { // the second tool of that name is refused
		p.Do(nil, `
			document.getElementById("name").value = "Twin"
			document.getElementById("tool-name").value = "show_map"
			document.getElementById("tool-description").value = "Shows a map."
			document.getElementById("create").click()`)
		p.AwaitTrue(`/ready|use/.test(document.getElementById("form-status").textContent)`)
	}
	p.Allow("502")
	p.AwaitTrue(`document.getElementById("form-status").hasAttribute("data-bad")`)
	var twins int
	p.Do(&twins, `return document.querySelectorAll('[aria-label="Talk: Twin"]').length`)
	if twins != 1 {
		t.Errorf("%d agents of that name, want 1", twins)
	}
}
