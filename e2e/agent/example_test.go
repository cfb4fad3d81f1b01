package agent

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

const opening = "Robin: Hello there! I'm Robin, the demo receptionist. How can I help you?"

// open opens the page with an agent, ready to be asked in text.
func open(t *testing.T, agent string) (*pagetest.Server, *pagetest.Page) {
	h := pagetest.New(t, localservice.Options{})
	p := h.Open("/example/agent/?agent=" + agent)
	p.Ready()
	return h, p
}

// face switches the conversation to the avatar by keyboard, with the two radio buttons.
// Afterwards the focus is in the text field again.
func face(p *pagetest.Page) {
	p.Do(nil, `document.querySelector("[name=mode]:checked").focus()`)
	p.Keys(kb.ArrowRight)
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live"`)
	p.AwaitTrue(`document.getElementById("mode").getAttribute("aria-busy") === "false"`)
	p.Do(nil, `document.querySelector("textarea").focus()`)
}

// text switches it back to text.
func text(p *pagetest.Page) {
	p.Do(nil, `document.querySelector("[name=mode]:checked").focus()`)
	p.Keys(kb.ArrowLeft)
	p.AwaitTrue(`document.getElementById("face").hidden && document.getElementById("mode").getAttribute("aria-busy") === "false"`)
	p.Do(nil, `document.querySelector("textarea").focus()`)
}

// One conversation goes on with a face and back in text: what was said stays on
// the page, and the agent knows it.
func TestSwitchKeepsTheConversation(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	p.Ask("My name is Ada.", "Ada")
	face(p)
	thread := h.OnlySession().ThreadID
	p.AwaitAnnouncement("How can I help you?")
	var got struct{ Colours int }
	p.Do(&got, `const {picture} = await import("/e2e/pagetest/page/measure.js"); return {Colours: (await picture(document.getElementById("video"))).colours}`)
	if got.Colours < 100 {
		t.Errorf("the picture has %d colours", got.Colours)
	}
	p.Ask("What is my name?", "Your name is Ada.")
	p.AwaitTrue(`document.querySelector("[name=mode]:checked").value === "avatar"`)
	text(p)
	p.Ask("What did we talk about?", "What is my name?")
	p.WantTranscript(
		"You: My name is Ada.", "Robin: Nice to meet you, Ada. I'll remember your name.",
		opening,
		"You: What is my name?", "Robin: Your name is Ada.",
		"You: What did we talk about?", "Robin: You said this: My name is Ada. What is my name?",
	)
	if asked := h.UserMessages(thread); !slices.Equal(asked, []string{"My name is Ada.", "What is my name?", "What did we talk about?"}) {
		t.Errorf("the thread has %q", asked)
	}
	if n := h.Count("POST", "/thread/session_completed"); n != 0 {
		t.Errorf("the service was told %d times that the conversation is over", n)
	}
}

// A switch in the middle of an answer cuts it short, and says so.
func TestSwitchCutsAnAnswer(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: []byte(`
rules:
  - when: {exact: "Forever"}
    steps: [{repeat: {steps: [{say: "on and "}, {pause: 5}]}}]
`)})
	p := h.Open("/example/agent/?agent=silent")
	p.Ready()
	p.Keys("Forever\r")
	p.AwaitTrue(`document.querySelector(".turn:last-child .text").textContent.startsWith("on and on and")`)
	face(p)
	p.AwaitTrue(`document.querySelector(".turn:last-child .remark")?.textContent === "This answer was cut short."`)
	p.AwaitTrue(`document.querySelector("#composer .stop").hidden && document.getElementById("status").textContent === ""`)
	p.Ask("Who are you?", "I'm Sam")
}

// The conversation continues in text when the avatar is not available.
func TestFaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	p.Ask("My name is Ada.", "Ada")
	h.Control("/capacity", map[string]any{"exhausted": true})
	p.Do(nil, `document.querySelector("[name=mode]:checked").focus()`)
	p.Keys(kb.ArrowRight)
	p.AwaitTrue(`document.querySelector(".note")?.textContent ===
		"All agents are busy right now. Please try again in a moment. The conversation goes on in text."`)
	p.AwaitTrue(`document.querySelector("[name=mode]:checked").value === "chat" && document.getElementById("face").hidden`)
	p.AwaitTrue(`document.activeElement.value === "chat"`)
	p.Do(nil, `document.querySelector("textarea").focus()`)
	p.Ask("What is my name?", "Your name is Ada.")
	h.Control("/capacity", map[string]any{"exhausted": false})
	face(p)
	p.AwaitAnnouncement("How can I help you?")
	p.Ask("What is my name?", "Your name is Ada.")
}

func TestVoiceIsStopped(t *testing.T) {
	t.Parallel()
	h, p := open(t, "silent")
	face(p)
	p.Keys("Tell me a long story.\r")
	p.AwaitTrue(`document.getElementById("caption").textContent.startsWith("Once upon a time")`)
	p.AwaitTrue(`!document.querySelector("#composer .stop").hidden && !document.querySelector("#composer .send").hidden`)
	p.Keys("\x1b")
	p.AwaitTrue(`document.getElementById("caption").textContent === "" && document.querySelector("#composer .stop").hidden`)
	h.AwaitState(live.Listening)
	// What is typed cuts a voice short.
	p.Keys("Tell me a long story.\r")
	p.AwaitTrue(`document.getElementById("caption").textContent.startsWith("Once upon a time")`)
	p.Ask("Who are you?", "I'm Sam")
}

// What is said into the microphone is in the log like what is typed.
func TestMicrophone(t *testing.T) {
	t.Parallel()
	// The fake microphone plays "Hello", and soon more, which may interrupt the first answer
	// before it is spoken; then the next answer is announced.
	heard := `hear: [` + strings.Repeat(`"Who are you?", `, 20) + `]`
	h := pagetest.New(t, localservice.Options{Script: []byte(heard)})
	p := h.Open("/example/agent/?agent=silent")
	p.Ready()
	if err := p.SetPermission(p.Context(), "microphone", browsertest.Denied); err != nil {
		t.Fatal(err)
	}
	p.AwaitTrue(`!document.getElementById("controls").checkVisibility()`)
	face(p)
	p.Press("#controls .microphone")
	p.AwaitTrue(`document.getElementById("status").textContent === "The microphone is not allowed here. Allow it in the browser's settings for this page, or type instead."`)
	p.AwaitTrue(`document.querySelector("#controls .microphone").ariaPressed === "false"`)
	if err := p.SetPermission(p.Context(), "microphone", browsertest.Granted); err != nil {
		t.Fatal(err)
	}
	p.Press("#controls .microphone")
	p.AwaitTrue(`document.querySelector("#controls .microphone").ariaPressed === "true"`)
	p.AwaitAnnouncement("I'm Sam")
	if said := p.Transcript(); said[0] != "You: Who are you?" {
		t.Errorf("the log shows %q", said)
	}
	p.Press("#controls .sound")
	p.AwaitTrue(`document.querySelector("#controls .sound").ariaPressed === "false" && document.getElementById("video").muted`)
	text(p)
	p.AwaitTrue(`watched.count().microphones === 0 && watched.count().peers === 0`)
}

// With tap to talk, the agent hears the visitor between two taps, or while the button is
// held; keys can tap too.
func TestTapToTalk(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: []byte(`hear: ["Who are you?", "What is my name?"]`)})
	p := h.Open("/example/agent/?agent=tap")
	p.Ready()
	face(p)
	p.AwaitAnnouncement("Hold the button while you speak.")
	p.AwaitTrue(`document.querySelector("#controls .microphone").hidden`)
	if want := (pagetest.AccessibilityNode{Role: "button", Name: "Hold to talk"}); !slices.Contains(p.AccessibilityNodes(), want) {
		t.Errorf("no %+v", want)
	}
	if err := p.SetPermission(p.Context(), "microphone", browsertest.Denied); err != nil {
		t.Fatal(err)
	}
	p.Press("#controls .tap")
	p.AwaitTrue(`document.getElementById("status").textContent === "The microphone is not allowed here. Allow it in the browser's settings for this page, or type instead."`)
	if err := p.SetPermission(p.Context(), "microphone", browsertest.Granted); err != nil {
		t.Fatal(err)
	}
	const (
		listens = `document.querySelector("#controls .tap").ariaPressed === "true" && document.querySelector("#controls .tap").textContent === "Listening…"`
		rests   = `document.querySelector("#controls .tap").ariaPressed === "false"`
		// Long enough that the service recognizes the utterance even if a part of it arrives after the end of the window.
		spoken = `const {LevelMeter} = await import("/e2e/pagetest/page/measure.js"); const meter = await LevelMeter.at(watched.microphones.at(-1)); await meter.speech(1000); await meter.close()`
	)

	p.Press("#controls .tap")
	p.AwaitTrue(listens)
	p.Do(nil, spoken)
	p.Press("#controls .tap")
	p.AwaitTrue(rests)
	p.AwaitAnnouncement("I'm Toni")

	// Held, as long as the visitor speaks.
	hold(t, p, "#controls .tap", func() {
		p.AwaitTrue(listens)
		p.Do(nil, `await new Promise((resolve) => setTimeout(resolve, 500))`) // longer than a tap
		p.Do(nil, spoken)
	})
	p.AwaitTrue(rests)
	p.AwaitAnnouncement("your name")
	if said := p.Transcript(); len(said) != 5 || said[1] != "You: Who are you?" || said[3] != "You: What is my name?" {
		t.Errorf("the log shows %q", said)
	}

	// By keyboard, without speech: there is no answer to wait for.
	p.Do(nil, `watched.microphones.at(-1).enabled = false; document.querySelector("#controls .tap").focus()`)
	p.Keys(" ")
	p.AwaitTrue(listens)
	p.Keys(" ")
	p.AwaitTrue(rests + ` && !document.querySelector("#composer .stop").hidden`)
	p.Keys("\x1b")
	p.AwaitTrue(`document.querySelector("#composer .stop").hidden && document.activeElement.matches(".tap")`)

	// A short press, although the page is busy for longer.
	p.Do(nil, `document.querySelector("#controls .tap").addEventListener("pointerdown", () => {
		for (const end = performance.now() + 500; performance.now() < end; );
	}, {once: true})`)
	p.Press("#controls .tap")
	p.AwaitTrue(listens)
	p.Press("#controls .tap")
	p.AwaitTrue(rests)
}

// hold keeps the mouse button pressed on an element while during runs.
func hold(t *testing.T, p *pagetest.Page, selector string, during func()) {
	var at struct{ X, Y float64 }
	p.Do(&at, `const {x, y, width, height} = document.querySelector("`+selector+`").getBoundingClientRect(); return {X: x + width / 2, Y: y + height / 2}`)
	mouse := func(event input.DispatchMouseEventType) {
		t.Helper()
		if err := p.Run(p.Context(), chromedp.MouseEvent(event, at.X, at.Y, chromedp.ButtonLeft, chromedp.ClickCount(1))); err != nil {
			t.Fatal(err)
		}
	}
	mouse(input.DispatchMouseEventTypeMousePressed)
	during()
	mouse(input.DispatchMouseEventTypeMouseReleased)
}

// What is spoken can be rated like what is written.
func TestSpokenAnswerIsRated(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	face(p)
	p.AwaitAnnouncement("How can I help you?")
	p.Ask("My name is Ada.", "Nice to meet you, Ada.")
	p.Ask("What is my name?", "Your name is Ada.")
	var rateable []int
	p.Do(&rateable, `return [...document.querySelectorAll(".turn[data-who=agent]")].map((turn) => turn.querySelectorAll("[aria-pressed]").length)`)
	if !slices.Equal(rateable, []int{0, 2, 2}) { // an opening answers nothing
		t.Errorf("buttons to rate an answer: %v", rateable)
	}
	rate := func(turn, label, want string) {
		t.Helper()
		p.Press(turn + ` [aria-label="` + label + `"]`)
		p.AwaitTrue(`document.querySelector('` + turn + ` [aria-pressed="true"]')?.ariaLabel === "` + label + `" && document.getElementById("announcer").textContent === "Thank you."`)
		v := h.Await(label, func(v pagetest.Request) bool { return v.Path == "/feedback/add" && strings.Contains(v.Body, want) })
		if v.Status != http.StatusOK {
			t.Errorf("%s: status %d", label, v.Status)
		}
	}
	rate(".turn:nth-child(3)", "Good answer", `"is_positive":true`)
	rate(".turn:nth-child(5)", "Bad answer", `"is_positive":false`)
}

// The visitor can continue a conversation that the service has ended.
func TestEndedConversationGoesOn(t *testing.T) {
	t.Parallel()
	h, p := open(t, "silent")
	p.Ask("My name is Ada.", "Ada")
	face(p)
	h.Control("/sessions/newest/end", nil)
	p.AwaitTrue(`document.getElementById("face").hidden && document.querySelector("#composer .send").disabled`)
	p.AwaitTrue(`document.activeElement.textContent === "Go on"`) // the text can't have the focus any more
	p.AwaitTrue(`document.querySelectorAll(".chip").length === 0`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	p.Ask("What is my name?", "Your name is Ada.")
	if said := p.Transcript(); !strings.HasPrefix(said[0], "You: My name is Ada.") {
		t.Errorf("the log shows %q", said)
	}
}

// In portrait and landscape, a phone shows the face, enough of the conversation, and the text
// field.
func TestPhoneHasRoomForBoth(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	face(p)
	for _, size := range [][2]int64{{390, 844}, {844, 390}, {360, 640}} {
		p.SetSize(size[0], size[1])
		var got struct {
			Log, Stage, Below float64
		}
		p.Do(&got, `
			const box = (id) => document.getElementById(id).getBoundingClientRect()
			return {Log: box("log").height, Stage: box("stage").height, Below: box("composer").bottom - Math.max(innerHeight, 660)}`)
		if got.Log < 100 || got.Stage < 140 || got.Below > 0 {
			t.Errorf("%v: %+v", size, got)
		}
	}
}

// The tab key reaches each control once, in the order of the page, and the focus is visible.
func TestKeysReachEverything(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.AwaitTrue(`document.querySelectorAll(".chip").length === 3`)
	face(p)
	p.AwaitAnnouncement("How can I help you?")
	p.AwaitTrue(`document.querySelector(".latest").hidden && document.activeElement.localName === "textarea"`)
	p.Do(nil, `document.querySelector("nav a").focus()`)
	var got []string
	for range 30 { // more than the page has controls
		var at string
		// The focus may scroll the log, whose button "to the end" is shown or hidden at
		// the scroll event in the next frame.
		p.Do(&at, `
			await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
			const e = document.activeElement
			if (e === document.body) return ""
			const drawn = e.type === "radio" ? e.parentElement : e.localName === "textarea" ? e.form : e // a switch is drawn by its labels, the field by its form
			return (e.role ?? e.ariaLabel ?? e.labels?.[0]?.innerText ?? e.textContent).trim().split("\n")[0] + (getComputedStyle(drawn).outlineStyle === "none" ? " unseen" : "")`)
		if at == "" {
			break
		}
		got = append(got, at)
		p.Keys("\t")
	}
	want := []string{
		"Face", "Text", "Both", "Tag", "Widgets", "Deck", "Playground", "Agent", "Face", "New conversation", "Microphone", "Sound", "Volume",
		"log", "Copy this answer", "What is agentruntime?", "What can you do?", "How do I add an agent to my page?",
		"Your message", "Send", "group", "Previous page", "Next page", "Events",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tab key goes to %q, want %q", got, want)
	}
}

func TestEverybodyCanUseIt(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	face(p)
	p.AwaitAnnouncement("How can I help you?")
	things := p.AccessibilityNodes()
	for _, want := range []pagetest.AccessibilityNode{
		{Role: "heading", Name: "Text and face"},
		{Role: "group", Name: "How the agent answers"},
		{Role: "radio", Name: "Text"},
		{Role: "radio", Name: "Face"},
		{Role: "region", Name: "The agent"},
		{Role: "group", Name: "Voice"},
		{Role: "button", Name: "Microphone"},
		{Role: "log", Name: "Conversation"},
		{Role: "textbox", Name: "Your message"},
	} {
		if !slices.Contains(things, want) {
			t.Errorf("no %+v in %+v", want, things)
		}
	}
	p.Accessible()
}
