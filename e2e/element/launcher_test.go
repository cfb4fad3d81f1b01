package element

import (
	"image"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// agentIn is the beginning of scripts that use the agent in the launcher's panel.
const agentIn = `const inside = (selector) => element.agent?.shadowRoot?.querySelector(selector)
	const focused = () => [document.activeElement, element.shadowRoot.activeElement, element.agent?.shadowRoot?.activeElement]
`

// A visitor opens the launcher, talks, closes it, and finds the conversation again after a reload, all by keyboard.
func TestLauncher(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	put := `await place("agent-launcher", {greet: "Hello! Any questions?", "agent-name": "Robin"});` + agentIn
	p.Do(nil, put)
	p.Axe("closed, with a greeting")
	var got struct {
		Loaded, Focus []string
		Said          string
		Heard         bool
	}
	p.Do(&got, `return {loaded: performance.getEntriesByType("resource").map(({name}) => new URL(name).pathname).filter((path) => path.endsWith("/element.js") && path.includes("/dist/"))}`)
	if len(got.Loaded) > 0 {
		t.Errorf("loaded %q before the visitor came near", got.Loaded)
	}
	// The greeting comes first, then its button, then the launcher.
	p.Keys(kb.Tab + kb.Tab + kb.Tab)
	p.Do(nil, `if (!element.shadowRoot.activeElement?.matches("[part~=launcher]")) throw new Error("the focus is on " + element.shadowRoot.activeElement?.outerHTML)`)
	p.Keys("\r")
	p.Do(nil, agentIn+`await until(() => element.agent && focused()[2] === inside("textarea"))
		await Promise.all(element.shadowRoot.getAnimations().map(({finished}) => finished))`)
	p.Axe("open")
	p.Keys("My name is Ada.\r")
	p.Do(nil, agentIn+`await until(() => inside("[part=log]").innerText.includes("Nice to meet you, Ada") && element.agent.session.threadId && !inside("[part~=stop]").checkVisibility())`)
	p.Axe("talked")
	p.Keys(kb.Escape)
	p.Do(nil, agentIn+`await until(() => !element.open && focused()[1].matches("[part~=launcher]"))
		if (seen(".bubble")) throw new Error("it greets again")`)
	// An answer that comes while the panel is closed.
	p.Do(nil, `await element.agent.send("What is my name?"); await until(() => seen("[part=unread]"))`)
	p.Axe("closed, with a new answer")

	must.Do(t, p.Run(p.Context(), chromedp.Reload()))
	p.Do(nil, put+`
		if (seen(".bubble")) throw new Error("it greets again after a reload")
		find("[part~=launcher]").focus()`)
	p.Keys("\r")
	p.Do(nil, agentIn+`await until(() => inside("[part=log]")?.querySelectorAll(".agent-turn").length === 4 && element.agent.phase === "live")`)
	p.Do(&got, agentIn+`return {said: inside("[part=log]").innerText}`)
	if !strings.Contains(got.Said, "My name is Ada.") || !strings.Contains(got.Said, "Your name is Ada.") {
		t.Errorf("after the reload the log has %q", got.Said)
	}
	// A new conversation has another thread.
	p.Do(nil, `find("[part~=fresh]").focus()`)
	p.Keys("\r")
	p.Do(nil, agentIn+`await until(() => focused()[2] === inside("textarea") && inside("[part=log]").querySelectorAll(".agent-turn").length === 0)
		if (seen("[part~=fresh]")) throw new Error("a conversation that has not begun can be begun again")`)
	p.Keys("What is my name?\r")
	p.Do(nil, agentIn+`await until(() => inside("[part=log]").querySelectorAll(".agent-turn").length === 2 && !inside("[part~=stop]").checkVisibility())
		if (inside("[part=log]").innerText.includes("Ada")) throw new Error("the new conversation knows the old one")`)
}

// On a phone the panel fills the window and is modal; in Arabic everything is mirrored.
func TestLauncherOnAPhone(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.SetSize(360, 740)
	p.Do(nil, `document.documentElement.lang = "ar"; document.documentElement.dir = "rtl"
		await place("agent-launcher", {modes: "face", microphone: "none", "agent-name": "Robin of the front desk of the hotel at the lake"})
		await until(() => find("[part~=launcher]").title === "فتح المحادثة")`)
	p.SetSize(320, 256)
	p.Do(nil, `element.greet = "What would you like to know about the hotel? ".repeat(6)
		await until(() => find("[part~=greet]").checkVisibility())
		const {top} = find("[part~=dismiss]").getBoundingClientRect()
		if (top < 0) throw new Error(`+"`the button that dismisses the greeting is at ${top}`"+`)
		element.greet = null`)
	p.SetSize(360, 740)
	var got struct{ Button, Panel, Header, Close [2]int }
	const edges = `const edges = (selector) => { const {left, right} = find(selector).getBoundingClientRect(); return [left, right].map(Math.round) };`
	p.Do(&got, edges+`return {button: edges("[part~=launcher]")}`)
	expect.Equal(t, got.Button, [2]int{20, 80}, "the button is at")
	p.Do(nil, `find("[part~=launcher]").click()`+";"+agentIn+`await until(() => element.agent && inside("[part~=start]")?.textContent === "ابدأ المحادثة")`)
	p.Axe("open on a phone, in Arabic")
	p.Do(&got, edges+`return {panel: edges("[part=panel]"), header: edges("header"), close: edges("[part~=close]")}`)
	if got.Panel != [2]int{0, 360} || got.Header != got.Panel || got.Close[0] > 8 {
		t.Errorf("the panel is at %v, its header at %v, its button at %v", got.Panel, got.Header, got.Close)
	}
	p.Do(nil, `if (!find("[part=panel]").matches(":modal")) throw new Error("the page behind the panel can be reached")`)
	p.Do(nil, `document.body.prepend(element); if (!find("[part=panel]").matches(":modal")) throw new Error("the page behind the panel can be reached after a move")`)
	// A voice ends with the panel.
	p.Do(nil, agentIn+`await element.agent.start(); element.close(); await until(() => element.agent.phase === "ended")`)
	h.AwaitNoSessions(h.Context())
	p.SetSize(1280, 800)
	p.Do(nil, `element.show(); if (find("[part=panel]").matches(":modal")) throw new Error("the panel is modal where there is room for the page")`)
}

// Widgets that need more room than a panel with a face has can be reached, and so can everything else.
func TestLauncherHoldsTallWidgets(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Do(nil, `await place("agent-launcher", {modes: "face", microphone: "none"})
		element.show()
		await until(() => element.agent)`+";"+agentIn+`await element.agent.start()
		await element.agent.send("Talk.")
		await until(() => inside(".followups") && !inside(".veil").checkVisibility())
		inside("[part=log]").prepend(Object.assign(document.createElement("div"), {className: "agent-widget", style: "height: 700px"}))`)
	for _, window := range []image.Point{{1280, 800}, {700, 520}, {360, 740}, {740, 360}, {320, 256}} {
		p.SetSize(int64(window.X), int64(window.Y))
		var covered []string
		p.Do(&covered, agentIn+`await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
			return ["textarea", ".end", ".agent-widget", ".followups li:last-child button"].filter((selector) => {
				const wanted = inside(selector)
				wanted.scrollIntoView({block: "end", inline: "end"})
				const {left, width, bottom} = wanted.getBoundingClientRect()
				return !wanted.contains(element.agent.shadowRoot.elementFromPoint(left + width / 2, bottom - 10))
			})`)
		if len(covered) > 0 {
			t.Errorf("%v: %q can't be reached", window, covered)
		}
	}
}
