package pagetest

import (
	"encoding/json"
	"slices"
	"strings"
)

// This file has the actions of a visitor in the example pages with a conversation
// (example/shared/conversation.js).

// Ready waits until something can be asked.
func (p *Page) Ready() {
	p.t.Helper()
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
}

// Ask types a question, and waits until the answer is announced to screen readers.
func (p *Page) Ask(question, answer string) {
	p.t.Helper()
	p.Keys(question + "\r")
	p.AwaitAnnouncement(answer)
}

// AwaitAnnouncement waits until the last announcement to screen readers contains a
// text, and the agent is done.
func (p *Page) AwaitAnnouncement(text string) {
	p.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		p.t.Fatal(err)
	}
	p.AwaitTrue(`document.getElementById("announcer").textContent.includes(` + string(quoted) + `) && document.querySelector("#composer .stop").hidden`)
}

// Transcript returns the conversation as it is shown, one line for each turn.
func (p *Page) Transcript() (lines []string) {
	p.t.Helper()
	err := p.Eval(p.ctx, `[...document.querySelectorAll("#log .turn")].map((turn) =>
		turn.ariaLabel + ": " + turn.querySelector(".text").innerText.replace(/\s+/g, " ").trim())`, &lines)
	if err != nil {
		p.t.Fatal(err)
	}
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
	if err := p.Click(p.ctx, selector); err != nil {
		p.t.Fatal(err)
	}
}
