package element

import (
	"fmt"
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

// In a widget a text has the direction of its own language, also in a page of the other direction.
func TestWidgetsOfAnotherDirection(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	for _, test := range []struct{ dir, text string }{{"rtl", "This is a whole sentence."}, {"ltr", "זה משפט שלם."}} {
		var wrong []string
		p.Do(&wrong, fmt.Sprintf(`
			const {drawWidget} = await import("/js/dist/ui.js")
			if (!document.querySelector("link[href$='ui.css']")) await new Promise((onload) => document.head.append(Object.assign(document.createElement("link"), {rel: "stylesheet", href: "/js/dist/ui.css", onload})))
			document.documentElement.dir = %q
			const text = %q
			const url = "https://docs.example/"
			const contents = {
				flashcards: {title: text, cards: [{front: text, back: text, label: text}]},
				sources: {sources: [{title: text, url, snippet: text}]},
				summary: {title: text, summary: text, bullets: [text]},
				showLink: {url, label: text, description: text},
				contentGallery: {title: text, items: [{title: text, description: text, imageUrl: "", url}]},
				gradedQuestion: {title: text, question: text, options: [{text, correct: true}]},
				userPropertiesForm: {title: text, fields: [{key: "name", type: "str", label: text, required: true, description: text}]},
			}
			const wrong = []
			for (const [name, content] of Object.entries(contents)) {
				const element = drawWidget({[name]: content})
				if (name === "sources") element.open = true
				document.body.append(element)
				let found = 0
				const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
				while (walker.nextNode()) {
					const node = walker.currentNode
					if (node.data !== text) continue
					found++
					// The sentence ends with its full stop, not before its first word.
					const left = (at) => {
						const range = document.createRange()
						range.setStart(node, at)
						range.setEnd(node, at + 1)
						return range.getBoundingClientRect().left
					}
					if (left(text.length - 1) > left(text.length - 2) !== (document.dir === "rtl")) wrong.push(name + ": " + node.parentElement.outerHTML)
				}
				if (found === 0) wrong.push(name + ": the text is not there")
				element.remove()
			}
			return wrong`, test.dir, test.text))
		for _, each := range wrong {
			t.Errorf("in a page with the direction %s: %s", test.dir, each)
		}
	}
}
