package parts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

// openStudio starts the service and the studio, and opens its page.
func openStudio(t *testing.T) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	described := must.Get(json.Marshal(h.Info()))(t)
	p := pagetest.Open(t, pagetest.StartProgram(t, "example/studio", "Build an agent:", string(described)+"\n", "-addr", "127.0.0.1:0"))
	p.AwaitTrue(`document.querySelectorAll("#agents li").length > 0 && document.querySelectorAll("#faces input").length > 0`)
	return h, p
}

// upload chooses a file with a text as knowledge.
func upload(t *testing.T, p *pagetest.Page, name, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	must.Do(t, p.Run(p.Context(), chromedp.SetUploadFiles("#knowledge", []string{file})))
}

// TestAnAgentIsBuiltByKeyboard: a person makes an agent that knows a document, talks to
// it, and reads what was said.
func TestAnAgentIsBuiltByKeyboard(t *testing.T) {
	t.Parallel()
	h, p := openStudio(t)
	p.Do(nil, `document.getElementById("new").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.id === "name"`)
	p.Keys("Harbour guide")
	p.Do(nil, `document.getElementById("opening").focus()`)
	p.Keys("Welcome to the harbour.")
	p.Do(nil, `document.getElementById("directive").focus()`)
	p.Keys("You answer questions about the harbour.")
	upload(t, p, "lighthouse.md", "# The lighthouse\n\nThe lighthouse of Porto Moniz opens at nine in the morning.\n")
	p.Do(nil, `document.getElementById("create").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.ariaLabel === "Talk: Harbour guide"`)
	expect.Equal(t, p.Text("#agents li:first-child p"), "Welcome to the harbour.", "the card shows")
	var address string
	p.Do(&address, `return document.activeElement.href`)

	visitor := h.Open(strings.Replace(strings.TrimPrefix(address, h.Info().GenieURL), "/avatar/", "/chat/", 1))
	visitor.Ready()
	visitor.Ask("When does the lighthouse open?", "nine in the morning")

	p.Do(nil, `document.querySelector('#agents [aria-label="Conversations: Harbour guide"]').focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.querySelectorAll("#threads a").length === 1`)
	p.Do(nil, `document.querySelector("#threads a").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.id === "thread" && document.getElementById("lines").innerText.includes("nine in the morning")`)
	expect.Equal(t, p.Text("#lines li:last-child .by"), "Harbour guide", "the answer is by")
	p.Accessible()
	p.HeaderFits()
	p.NothingCut()

	// The links back, and the browser's Back.
	p.Do(nil, `document.getElementById("all-threads").click()`)
	p.AwaitTrue(`document.getElementById("thread").hidden && document.activeElement.id === "conversations-title"`)
	p.Do(nil, `history.back()`)
	p.AwaitTrue(`document.activeElement.id === "thread" && document.querySelector("#threads [aria-current]") !== null`)
	p.Do(nil, `document.querySelector("#conversations > .back a").click()`)
	p.AwaitTrue(`document.getElementById("conversations").hidden && document.getElementById("agents").checkVisibility()`)

	p.Do(nil, `document.querySelector('#agents [aria-label="Edit: Harbour guide"]').click()`)
	p.AwaitTrue(`document.activeElement.id === "form-title" && !document.getElementById("delete").hidden`)
	p.Do(nil, `document.getElementById("delete").focus()`)
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
			location.hash = "#new"
			document.getElementById("name").value = "Twin"
			document.getElementById("tool-name").value = "show_map"
			document.getElementById("tool-description").value = "Shows a map."
			document.getElementById("create").click()`)
		p.AwaitTrue(`/ready/.test(document.getElementById("status").textContent) || document.getElementById("form-status").hasAttribute("data-bad")`)
	}
	p.Allow("400")
	p.AwaitTrue(`document.activeElement.id === "tool-name" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	expect.Equal(t, p.Text("#form-status"), "The name of a tool must be one that no other tool has.", "the page says")
	var twins int
	p.Do(&twins, `return document.querySelectorAll('[aria-label="Talk: Twin"]').length`)
	expect.Equal(t, twins, 1, "agents of that name")
	upload(t, p, "book.txt", strings.Repeat("\x00", 50_000_000))
	p.Do(nil, `
		document.getElementById("name").value = "Librarian"
		document.getElementById("create").click()`)
	p.AwaitTrue(`document.activeElement.id === "knowledge" || document.getElementById("form-status").hasAttribute("data-bad")`)
	expect.Equal(t, p.Text("#form-status"), "A file may have up to 4 MB.", "the page says")
}

// TestAnAgentIsEdited: on a phone, a person changes what an agent is called, how it begins,
// what it knows and which tools it has; what is refused is said beside the form.
func TestAnAgentIsEdited(t *testing.T) {
	t.Parallel()
	h, p := openStudio(t)
	p.SetSize(360, 740)
	info := h.Info()
	robin, _ := info.Agent("receptionist")
	p.Do(nil, `location.hash = "#edit/`+robin.AgentID+`"`)
	p.AwaitTrue(`document.getElementById("opening").value.includes("{{ user_name")`)
	p.AwaitTrue(`document.getElementById("opening-hint").textContent.includes("hears: Hello there! I'm Robin")`)
	if shown := p.Text("#agents"); strings.Contains(shown, "{{") {
		t.Errorf("the list shows a template: %q", shown)
	}
	p.Accessible()

	// The first save is refused, and the form keeps what was typed.
	p.Allow("400")
	p.Do(nil, `
		document.getElementById("name").value = "Marina"
		document.getElementById("opening").value = "Hello {{ sys__weather }}"
		document.getElementById("tool-name").value = "show_ferry"
		document.getElementById("tool-description").value = "Shows a ferry."
		document.getElementById("create").click()`)
	p.AwaitTrue(`document.activeElement.id === "opening" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	if text := p.Text("#form-status"); !strings.HasPrefix(text, "The opening line can't be used: ") || strings.Contains(text, "_phrase") {
		t.Errorf("the page says %q", text)
	}

	// The tool of the refused attempt was deleted, or its name would be taken. Documents of the
	// account can't be beside those of the service.
	upload(t, p, "ferries.txt", "The last ferry to Porto Santo leaves at seven in the evening.")
	p.Do(nil, `
		document.getElementById("opening").value = "Good morning {{ user_name | default('sailor') }}."
		document.getElementById("directive").value = "You know the ferries."
		document.querySelectorAll("[name=face]")[1].click()
		document.getElementById("create").click()`)
	p.AwaitTrue(`document.activeElement.id === "knowledge"`)
	expect.Equal(t, p.Text("#form-status"), "The agent can't have documents beside those of the service; remove these first.", "the page says")
	p.Do(nil, `
		document.querySelector("#documents input").click()
		document.getElementById("create").click()`)
	p.AwaitTrue(`document.getElementById("status").textContent === "Marina is saved."`)
	p.AwaitTrue(`document.activeElement.ariaLabel === "Talk: Marina"`)
	p.Do(nil, `for (const element of [document.getElementById("status"), document.activeElement]) {
		const {top, bottom} = element.getBoundingClientRect()
		if (top < 0 || bottom > innerHeight) throw new Error(element.textContent + " is not in view")
	}`)
	expect.Equal(t, p.Text("#agents li:first-child p"), "Good morning sailor.", "the card shows")

	// The page to which the studio leads has the same name, what was changed, and a link back.
	var address string
	p.Do(&address, `return document.activeElement.href`)
	visitor := h.Open(strings.Replace(strings.TrimPrefix(address, h.Info().GenieURL), "/avatar/", "/chat/", 1))
	visitor.Ready()
	visitor.Ask("When does the last ferry leave?", "seven in the evening")
	if lines := visitor.Transcript(); !strings.HasPrefix(lines[len(lines)-1], "Marina: ") {
		t.Errorf("the page calls the agent %q", lines)
	}
	var back string
	visitor.Do(&back, `return document.getElementById("studio").href`)
	var here string
	p.Do(&here, `return location.origin`)
	expect.Equal(t, back, here+"/#conversations/"+robin.AgentID, "the link back leads to")

	// The document and the tool can be removed again; what was not changed stays.
	p.Do(nil, `location.hash = "#edit/`+robin.AgentID+`"`)
	p.AwaitTrue(`document.querySelector('[aria-label="Remove show_ferry"]') !== null && document.querySelector('[aria-label="Remove ferries.txt"]') !== null`)
	p.Accessible()
	p.NothingCut()
	p.Do(nil, `
		document.querySelector('[aria-label="Remove show_ferry"]').click()
		document.querySelector('[aria-label="Remove ferries.txt"]').click()
		document.getElementById("create").click()`)
	p.AwaitTrue(`document.getElementById("status").textContent === "Marina is saved."`)
	p.Do(nil, `location.hash = "#edit/`+robin.AgentID+`"`)
	p.AwaitTrue(`document.getElementById("directive").value === "You know the ferries." && !document.getElementById("create").disabled`)
	var left []string
	p.Do(&left, `return [...document.querySelectorAll(".parts li")].map(({innerText}) => innerText)`)
	for _, part := range left {
		if strings.Contains(part, "ferr") {
			t.Errorf("the agent still has %q", part)
		}
	}

	// A link of an agent that was deleted.
	p.Do(nil, `location.hash = "#edit/none"`)
	p.AwaitTrue(`document.getElementById("status").textContent === "This agent does not exist any more." && document.getElementById("agents").checkVisibility()`)
}
