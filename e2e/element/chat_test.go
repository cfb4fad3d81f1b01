package element

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

// said is an expression for the log as it is shown, one text for each turn.
const said = `[...find("[part=log]").querySelectorAll("[part~=turn]")].map((turn) => turn.innerText.replace(/\s+/g, " ").trim())`

// The end of an answer is in view, although its buttons come after its last widget, and stays
// in view when the log gets smaller, beside a longer text in the field or the sentence about the end,
// and when it is shown after an answer that came while it was hidden.
func TestTheEndOfAnAnswerIsInView(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	for _, step := range []struct{ when, act string }{
		{"answered", `await place("agent-chat")
			await element.send("What can you do?")
			await until(() => seen(".followups") && seen("[part~=good]"))`},
		{"typed", `find("textarea").value = "A text\nof\nseveral\nlines"
			find("textarea").dispatchEvent(new Event("input", { bubbles: true }))`},
		{"smaller", `element.style.blockSize = element.offsetHeight / 2 + "px"`},
		{"shown", `element.style.display = "none"
			await element.send("What is a thread?")
			element.style.display = ""`},
		{"ended", `element.end()
			await until(() => element.phase === "ended")`},
	} {
		var below int
		p.Do(&below, step.act+`
			for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame) // a new size is observed at the end of a frame
			const log = find("[part=log]")
			if (log.scrollTop === 0) throw new Error("the answer is too short to be scrolled")
			return Math.round(log.scrollHeight - log.scrollTop - log.clientHeight)`)
		if below > 1 {
			t.Errorf("%s: %d pixels of the answer are below the log", step.when, below)
		}
	}
}

// The first message starts a conversation in text, which needs neither the picture's
// program nor a button.
func TestChatBeginsWithItsFirstMessage(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.Do(nil, `await place("agent-chat", {"agent-name": "Robin"})
		find("textarea").focus()`)
	p.Axe("idle")
	p.SetMedia("forced-colors", "active")
	var colors []string
	p.Do(&colors, `return [".greeting .agent-icon", ".greeting > p"].map((name) => getComputedStyle(find(name)).color)`)
	if colors[0] != colors[1] {
		t.Errorf("with forced colors the icon of the greeting has the color %s, its text %s", colors[0], colors[1])
	}
	p.SetMedia("forced-colors", "none")
	p.SetMedia("prefers-contrast", "more")
	p.Do(&colors, `find("textarea").blur() // a border with the focus has a color of its own
		return [getComputedStyle(element).color, getComputedStyle(find("[part=disclosure]")).color, getComputedStyle(find(".agent-composer")).borderTopColor]`)
	if colors[0] != colors[1] || colors[0] != colors[2] {
		t.Errorf("with more contrast text, notice and border have the colors %s", colors)
	}
	p.Do(nil, `find("textarea").focus()`)
	p.SetMedia("prefers-contrast", "no-preference")
	p.Keys("What is a thread?\r")
	var got struct {
		Said   []string
		Loaded []string
	}
	p.Do(&got, `
		await until(() => seen(".sources") && seen(".followups") && find("[aria-live=polite]").textContent !== "")
		return {said: `+said+`, loaded: performance.getEntriesByType("resource").map(({name}) => new URL(name).pathname).filter((path) => path.endsWith(".wasm"))}`)
	if len(got.Said) != 2 || got.Said[0] != "You What is a thread?" || !strings.HasPrefix(got.Said[1], "Robin ") {
		t.Errorf("the log has %q", got.Said)
	}
	for _, file := range got.Loaded { // both parts of the program for text
		if !strings.HasPrefix(file, "/js/dist/chat.") {
			t.Errorf("loaded %q", got.Loaded)
		}
	}
	p.Axe("live, with widgets")

	// A suggested question by keyboard; the focus goes on to the field.
	p.Do(nil, `find(".followups button").focus()`)
	p.Keys("\r")
	p.Do(nil, `await until(() => find("[part=log]").querySelectorAll("[part~=turn]").length === 4 && !element.shadowRoot.querySelector("[part~=stop]").checkVisibility())
		await until(() => element.shadowRoot.activeElement === find("textarea"))`)

	// A form's values become variables of the prompt.
	p.Keys("Ask me for my details\r")
	p.Do(nil, `await until(() => seen(".agent-widget form"))`)
	p.Axe("live, with a form")
	thread := threadOf(p)
	p.Do(nil, `element.end(); await until(() => element.phase === "ended")`)
	h.AwaitSessionCompleted(thread)
	p.Axe("ended")
	p.Do(nil, `find("textarea").focus()`)
	p.Keys("My name is Ada.\r")
	p.Do(nil, `await until(() => find("[part=log]").innerText.includes("Nice to meet you, Ada"))`)
	if again := threadOf(p); again == thread {
		t.Error("the second conversation has the thread of the first")
	}
}

func threadOf(p *pagetest.Page) (thread string) {
	p.Do(&thread, `return element.session.threadId`)
	return thread
}
