package agent

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/must"
)

// open opens the page with an agent, ready to be asked in text.
func open(t *testing.T, agent, script string) (*pagetest.Server, *pagetest.Page) {
	h := pagetest.New(t, localservice.Options{Script: []byte(script)})
	p := h.Open("/example/agent/?agent=" + agent)
	p.Ready()
	return h, p
}

// face switches the conversation to the avatar. Afterwards the focus is in the text field again.
func face(p *pagetest.Page) {
	switchMode(p, `inAgent("video").checkVisibility() && !inAgent("[part=poster]").checkVisibility()`)
}

// text switches it back to text.
func text(p *pagetest.Page) { switchMode(p, `!inAgent("video").checkVisibility()`) }

func switchMode(p *pagetest.Page, done string) {
	p.AwaitTrue(`document.querySelector("agent-avatar").phase === "live"`)
	p.PressInside("[part~=mode]")
	p.AwaitTrue(done + ` && !inAgent("[part~=mode]").disabled`)
	p.Do(nil, `inAgent("textarea").focus()`)
}

// Everybody can use the page, in which one conversation goes on with a face, and rate what is spoken like what is written. A
// phone, in portrait and landscape, has room for the face, enough of the conversation, and the text field.
func TestEverybodyCanUseIt(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist", "")
	p.Axe("idle")
	p.HeaderFits()
	p.NothingCut()
	p.Ask("My name is Ada.", "Ada")
	face(p)
	p.AwaitTrue(`inAgent("[part=disclosure]").checkVisibility() && inAgent("[part=disclosure]").textContent.includes("AI")`)
	p.AwaitAnswer("How can I help you?")
	p.Ask("What is my name?", "Your name is Ada.")
	p.WantTranscript(
		"You: My name is Ada.", "Robin: Nice to meet you, Ada. I'll remember your name.",
		"Robin: Hello there! I'm Robin, the demo receptionist. How can I help you?",
		"You: What is my name?", "Robin: Your name is Ada.",
	)
	p.HasNodes([]pagetest.AccessibilityNode{
		{Role: "heading", Name: "Text and face"},
		{Role: "button", Name: "Microphone"},
		{Role: "log", Name: "What was said"},
		{Role: "textbox", Name: "Your message"},
	})

	var rateable []int
	p.Do(&rateable, `return [...inAgent("[part=log]").querySelectorAll("[part~=turn].agent")].map((turn) => turn.querySelectorAll("[part~=rating]").length)`)
	if !slices.Equal(rateable, []int{2, 0, 2}) { // an opening answers nothing
		t.Errorf("buttons to rate an answer: %v", rateable)
	}
	const last = `[...inAgent("[part=log]").querySelectorAll("[part~=good]")].at(-1)`
	p.Do(nil, last+`.focus()`)
	p.Keys("\r")
	v := h.Await("a good rating", func(v pagetest.Request) bool {
		return v.Path == "/feedback/add" && strings.Contains(v.Body, `"is_positive":true`)
	})
	expect.Equal(t, v.Status, http.StatusOK, "status")
	p.AwaitTrue(last + `.ariaPressed === "true"`)

	for _, size := range [][2]int64{{390, 844}, {844, 390}, {360, 640}} {
		p.SetSize(size[0], size[1])
		var got struct {
			Log, Stage, Below float64
		}
		p.Do(&got, `
			const box = (selector) => inAgent(selector).getBoundingClientRect()
			return {Log: box("[part=log]").height, Stage: box("[part=stage]").height, Below: box("textarea").bottom - innerHeight}`)
		if got.Log < 100 || got.Stage < 140 || got.Below > 0 {
			t.Errorf("%v: %+v", size, got)
		}
	}
	p.NothingCut()
	p.Do(nil, `scrollTo(0, 0)`)
	p.AwaitTrue(`inAgent("video").getBoundingClientRect().top >= 0 && inAgent("video").getBoundingClientRect().bottom <= innerHeight`)
	p.Accessible()
}

// The conversation continues in text when the avatar is not available, and after the service has ended it.
func TestFaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	h, p := open(t, "silent", "")
	p.Ask("My name is Ada.", "Ada")
	h.Control("/capacity", map[string]any{"exhausted": true})
	p.PressInside("[part~=mode]")
	p.AwaitTrue(`inAgent("[part=message]").textContent === "All agents are busy right now. Please try again in a moment."`)
	p.AwaitTrue(`document.querySelector("agent-avatar").mode === "text" && !inAgent("video").checkVisibility()`)
	p.Do(nil, `inAgent("textarea").focus()`)
	p.Ask("What is my name?", "Your name is Ada.")
	h.Control("/capacity", map[string]any{"exhausted": false})
	face(p)
	p.Ask("What did I say first?", "My name is Ada.")
	h.AwaitState(live.Listening) // what is spoken when the conversation ends is cut
	h.Control("/sessions/newest/end", nil)
	p.AwaitTrue(`document.querySelector("agent-avatar").phase === "ended"`)
	p.Axe("ended")
	p.Do(nil, `inAgent("textarea").focus()`)
	p.Ask("What did we talk about?", "What is my name?")
	if said := p.Transcript(); len(said) != 8 || said[0] != "You: My name is Ada." {
		t.Errorf("the log shows %q", said)
	}
}

const notAllowed = `inAgent("[part=microphone-problem]").textContent.includes("The microphone is not allowed here.")`

// What is said into the microphone is in the log like what is typed.
func TestMicrophone(t *testing.T) {
	t.Parallel()
	// The fake microphone plays "Hello", and soon more, which may interrupt the first answer before it is spoken; then the next
	// answer is the one that is shown.
	_, p := open(t, "silent", `hear: [`+strings.Repeat(`"Who are you?", `, 20)+`]`)
	p.Permit("microphone", false)
	p.Ask("My name is Ada.", "Ada")
	face(p)
	p.PressInside("[part~=microphone]")
	p.AwaitTrue(notAllowed + ` && inAgent("[part~=microphone]").ariaPressed === "false"`)
	p.Permit("microphone", true)
	p.PressInside("[part~=microphone]")
	p.AwaitTrue(`inAgent("[part~=microphone]").ariaPressed === "true"`)
	p.AwaitTrue(`[...inAgent("[part=log]").querySelectorAll("[part~=turn].agent")].some((turn) => turn.textContent.includes("I'm Sam"))`)
	if said := p.Transcript(); said[2] != "You: Who are you?" {
		t.Errorf("the log shows %q", said)
	}
	text(p)
	p.AwaitTrue(`watched.count().microphones === 0 && watched.count().peers === 0`)
}

// With tap to talk, the agent receives the visitor's sound between two taps, or while the button is held. js/test/taptotalk.test.ts has the
// other ways to press it.
func TestTapToTalk(t *testing.T) {
	t.Parallel()
	_, p := open(t, "tap", `hear: ["Who are you?", "What is my name?"]`)
	p.Ask("Who are you?", "I'm Toni")
	face(p)
	p.AwaitAnswer("Hold the button while you speak.")
	p.AwaitTrue(`!inAgent("[part~=microphone]").checkVisibility()`)
	p.HasNodes([]pagetest.AccessibilityNode{{Role: "button", Name: "Hold to talk"}})
	p.Permit("microphone", false)
	tap := func() {
		// Both events have one time: the press is short, however long the browser takes to handle it.
		now := input.TimeSinceEpoch(float64(time.Now().UnixMicro()) / 1e6)
		hold(t, p, func() {}, func(event *input.DispatchMouseEventParams) { event.Timestamp = now })
	}
	tap()
	p.AwaitTrue(notAllowed)
	p.Permit("microphone", true)
	const (
		listens = `inAgent("[part~=tap]").ariaPressed === "true" && inAgent("[part~=tap]").textContent === "Listening…"`
		rests   = `inAgent("[part~=tap]").ariaPressed === "false"`
		// Long enough that the service recognizes the utterance even if a part of it arrives after the end of the window.
		spoken = `const {LevelMeter} = await import("/e2e/pagetest/page/measure.js"); const meter = await LevelMeter.at(watched.microphones.at(-1)); await meter.speech(1000); await meter.close()`
	)

	tap()
	p.AwaitTrue(listens)
	p.Do(nil, spoken)
	tap()
	p.AwaitTrue(rests)
	p.AwaitAnswer("I'm Toni")

	// Held, as long as the visitor speaks.
	hold(t, p, func() {
		p.AwaitTrue(listens)
		p.Do(nil, `await new Promise((resolve) => setTimeout(resolve, 500))`) // longer than a tap
		p.Do(nil, spoken)
	})
	p.AwaitTrue(rests)
	p.AwaitAnswer("your name")
	if said := p.Transcript(); len(said) != 7 || said[3] != "You: Who are you?" || said[5] != "You: What is my name?" {
		t.Errorf("the log shows %q", said)
	}
}

// hold keeps the mouse button pressed on the button for tap to talk while during runs.
func hold(t *testing.T, p *pagetest.Page, during func(), options ...chromedp.MouseOption) {
	t.Helper()
	var at struct{ X, Y float64 }
	p.Do(&at, `const {x, y, width, height} = inAgent("[part~=tap]").getBoundingClientRect(); return {X: x + width / 2, Y: y + height / 2}`)
	options = append(options, chromedp.ButtonLeft, chromedp.ClickCount(1))
	mouse := func(event input.DispatchMouseEventType) {
		t.Helper()
		must.Do(t, p.Run(p.Context(), chromedp.MouseEvent(event, at.X, at.Y, options...)))
	}
	mouse(input.DispatchMouseEventTypeMousePressed)
	during()
	mouse(input.DispatchMouseEventTypeMouseReleased)
}
