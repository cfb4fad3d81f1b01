package chat

import (
	"strings"
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

// A key that moves the focus a moment later does not press what gets it; all tests
// that type depend on this.
func TestAKeyPressesOneElement(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open(folder)
	p.Do(nil, `
		document.body.innerHTML = "<input><button>Never</button>"
		const [input, button] = document.body.children
		window.typed = ""
		window.pressed = 0
		input.addEventListener("keydown", () => setTimeout(() => button.focus()))
		input.addEventListener("keypress", ({key}) => (typed += key + " "))
		button.addEventListener("click", () => pressed++)
		input.focus()`)
	for range 20 {
		p.Keys("\r")
		p.AwaitTrue(`document.activeElement.tagName === "BUTTON"`)
		p.Do(nil, `document.querySelector("input").focus()`)
	}
	p.Keys("A")
	var got struct {
		Typed   string
		Pressed int
	}
	p.Do(&got, `return {typed, pressed}`)
	if want := strings.Repeat("Enter ", 20) + "A "; got.Typed != want || got.Pressed != 0 {
		t.Errorf("typed %q, want %q; the button was pressed %d times", got.Typed, want, got.Pressed)
	}
}
