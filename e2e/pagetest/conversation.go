package pagetest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/must"
)

// This file has the actions of a visitor in the example pages with a conversation, which is in an element of the agent
// (example/shared/conversation.js, example/tokenserver).

// turns is an expression for the turns in the log.
const turns = `[...inAgent("[part=log]").querySelectorAll("[part~=turn]")]`

// Ready waits until something can be asked.
func (p *Page) Ready() {
	p.t.Helper()
	p.AwaitTrue(`inAgent("textarea:focus:not(:disabled)")`)
}

// Ask types a question, and waits until its answer contains a text and the agent is done.
func (p *Page) Ask(question, answer string) {
	p.t.Helper()
	p.Keys(question + "\r")
	p.AwaitTrue(turns + `.findLast((turn) => turn.matches(".user"))?.querySelector(".text").textContent === ` + JSON(question))
	p.AwaitAnswer(answer)
}

// AwaitAnswer waits until the last turn contains a text and the agent is done.
func (p *Page) AwaitAnswer(text string) {
	p.t.Helper()
	const last = turns + `.at(-1)`
	p.AwaitTrue(last + `?.matches(".agent") && ` + last + `.textContent.includes(` + JSON(text) + `) && !inAgent("[part~=stop]").checkVisibility()`)
}

// PressInside focuses the first element that the selector finds in the agent's element, and presses it by keyboard.
func (p *Page) PressInside(selector string) {
	p.t.Helper()
	p.AwaitTrue(`inAgent(` + JSON(selector) + `)?.checkVisibility()`)
	p.Do(nil, `inAgent(`+JSON(selector)+`).focus()`)
	p.Keys("\r")
}

// Transcript returns the conversation as it is shown, one line for each turn.
func (p *Page) Transcript() (lines []string) {
	p.t.Helper()
	p.Do(&lines, `return `+turns+`.map((turn) =>
		turn.querySelector(".who").textContent + ": " + turn.querySelector(".text").innerText.replace(/\s+/g, " ").trim())`)
	return lines
}

// WantTranscript compares the conversation with what it should be.
func (p *Page) WantTranscript(want ...string) {
	p.t.Helper()
	if got := p.Transcript(); !slices.Equal(got, want) {
		p.t.Errorf("the log shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Press clicks the first element that the selector finds, as a mouse does.
func (p *Page) Press(selector string) {
	p.t.Helper()
	must.Do(p.t, p.Click(p.ctx, selector))
}

// JSON writes a value for a script.
func JSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
