package element

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// The parts of agentruntime/ui around one session: a conversation from the button that starts
// to the one that ends, by keyboard.
func TestPartsAroundOneSession(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open(folder + "composed.html")
	p.Prelude = `const {bar, composer, errors, session, state, transcript} = await import("` + folder + `composed.js")
		const part = (name) => document.querySelector("[part~=" + name + "]")`
	p.AwaitTrue(`document.body.dataset.ready === ""`)
	p.Axe("idle")
	p.Do(nil, `part("start").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`states.includes("speaking")`)
	p.Axe("speaking")
	p.AwaitTrue(`document.querySelector("[part=log]").innerText.includes("How can I help you?")`)
	thread := h.OnlySession().ThreadID
	p.Do(nil, `part("volume").focus()`)
	p.Keys("\x1b")
	p.Do(nil, `composer.field.focus()`)
	p.Keys("My name is Ada.")
	p.AwaitTrue(`!document.querySelector("[part~=send]").disabled`)
	p.Keys("\r")
	p.AwaitTrue(`document.querySelector("[part=log]").innerText.includes("Ada.") && document.querySelectorAll("[part~=agent]").length > 1`)
	var turns []string
	p.Do(&turns, `return [...document.querySelectorAll("[part~=turn] .who")].map(({textContent}) => textContent)`)
	if !slices.Contains(turns, "You") || turns[0] != "Robin" {
		t.Errorf("the transcript names %q", turns)
	}
	p.Do(nil, `part("device-menu").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.querySelector("[part=devices] select") !== null`)
	p.Axe("with the menus of devices")
	p.Keys("\x1b")
	p.AwaitTrue(`document.querySelector("[part=devices]") === null && document.activeElement.matches("[part~=device-menu]")`)
	p.NothingCut()
	p.Do(nil, `part("end").focus()`)
	p.Keys("\r")
	h.AwaitSessionCompleted(thread)
	var got struct {
		States []string
		Errors []string
	}
	p.Do(&got, `return {states, errors}`)
	if !slices.Contains(got.States, "speaking") || got.States[len(got.States)-1] != "over" || len(got.Errors) > 0 {
		t.Errorf("the states were %q, the errors %q", got.States, got.Errors)
	}
}
