package element

import (
	"fmt"
	"math"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

// An element that is moved keeps its conversation; one that is removed ends it.
func TestMovedAndRemoved(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.Do(nil, `await place("agent-avatar", {microphone: "none"})`)
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live" && seen("video") && !seen("[part=poster]"))`)
	before := h.OnlySession().ID
	thread := h.OnlySession().ThreadID
	var moved struct {
		Phase   string
		Picture struct{ Colours int }
		Paused  bool
	}
	p.Do(&moved, `
		const section = document.createElement("section")
		document.querySelector("main").append(section)
		section.append(element)
		const shown = await picture(find("video"))
		return {phase: element.phase, picture: shown, paused: find("video").paused}`)
	if moved.Phase != "live" || moved.Paused || moved.Picture.Colours < 16 || h.OnlySession().ID != before {
		t.Errorf("after the move: %+v", moved)
	}
	p.Do(nil, `element.remove(); await settled(() => held().peers === 0 && held().sockets === 0)`)
	h.AwaitSessionCompleted(thread)
	h.AwaitUnsubscribe()
	h.AwaitNoSessions(h.Context())
	p.Do(nil, `document.querySelector("main").append(element)`)
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live")`)
}

// The attribute preload determines what is loaded, and when.
func TestPreload(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.Do(nil, `
		await place("agent-avatar", {preload: "hover"})
		if (performance.getEntriesByType("resource").some(({name}) => name.endsWith(".wasm"))) throw new Error("loaded before anything came near")
		button("start").focus()
		await until(() => performance.getEntriesByType("resource").some(({name}) => name.endsWith("/agentruntime.wasm")))
		await until(() => find("[part=poster] img").naturalWidth > 0)`)
	p.Axe("idle, with the agent's poster")
	h.AwaitState(live.Joined) // the session is prepared
	prepared := h.OnlySession().ID
	inits := h.Count("POST", "/v1/application/appInit")
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live")`)
	if id := h.OnlySession().ID; id != prepared {
		t.Errorf("the conversation has the session %s, prepared was %s", id, prepared)
	}
	if n := h.Count("POST", "/v1/application/appInit"); n != inits {
		t.Errorf("appInit was called %d times more", n-inits)
	}
}

// With preload="visible", the program is loaded once the element comes near the visible part of the page, and not before,
// and not for a visitor who saves data.
func TestPreloadWhenVisible(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Call(nil, "life.js", "preloadWhenVisible")
}

// What a page puts into the slots is shown, in place of the element's own where it has
// one, and the custom properties of the page count.
func TestSlotsAndCustomProperties(t *testing.T) {
	t.Parallel()
	p := openPage(pagetest.New(t, localservice.Options{}))
	var got struct {
		Shown, Own           []string
		Width, Height        float64
		Colour, Font, Before string
	}
	p.Call(&got, "life.js", "slotsAndCustomProperties")
	expect.List(t, got.Shown, []string{"poster", "disclosure"}, "shown in their slots")
	expect.Equal(t, len(got.Own), 0, "also shown: %q", got.Own)
	if math.Abs(got.Width-2*got.Height) > 2 {
		t.Errorf("the stage is %.0f×%.0f", got.Width, got.Height)
	}
	if got.Colour != "rgb(0, 80, 80)" || got.Before == got.Colour || got.Font != "serif" {
		t.Errorf("colour %s, before %s; font %s", got.Colour, got.Before, got.Font)
	}
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live" && element.querySelector("[slot=controls]").checkVisibility())`)
}

// cut finds the parts of the element that are outside of the window or too small for a finger.
const cut = `
	const edge = document.documentElement.clientWidth
	const parts = [...element.shadowRoot.querySelectorAll("button, textarea, select, meter, video, p, .stage, .log")].filter((part) => part.checkVisibility() && !part.closest(".agent-hidden"))
	const found = parts.filter((part) => {
		const {left, right, width, height} = part.getBoundingClientRect()
		const small = part.matches("button, textarea, select") && (width < 44 || height < 44)
		return left < 0 || right > edge + 0.5 || small || (part.matches("button, .stage, p") && part.scrollWidth > part.clientWidth + 1)
	}).map((part) => part.outerHTML.slice(0, 80))
	if (document.documentElement.scrollWidth > edge) found.push("the page scrolls sideways")
	return {found, height: element.getBoundingClientRect().height}`

// Nothing is cut on small screens, in either direction of writing; on a phone on its side
// all of a face is in the window.
func TestSmallScreensAndRightToLeft(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	sizes := [][2]int64{{320, 568}, {667, 375}, {1200, 800}}
	look := func(state string) {
		t.Helper()
		for _, size := range sizes {
			p.SetSize(size[0], size[1])
			for _, dir := range []string{"ltr", "rtl"} {
				var got struct {
					Found  []string
					Height float64
				}
				p.Do(&got, fmt.Sprintf(`document.documentElement.dir = %q`, dir)+cut)
				for _, part := range got.Found {
					t.Errorf("%s, %d×%d, %s: cut or too small: %s", state, size[0], size[1], dir, part)
				}
				if got.Height > float64(size[1]) {
					t.Errorf("%s, %d×%d, %s: the element is %.0f pixels high", state, size[0], size[1], dir, got.Height)
				}
			}
		}
		p.Do(nil, `document.documentElement.dir = "ltr"`)
	}
	for _, modes := range []string{"face", "face text", "text"} {
		p.Do(nil, fmt.Sprintf(`
			globalThis.element?.remove()
			const word = "Lentokonesuihkuturbiinimoottoriapumekaanikkoaliupseerioppilas"
			await place("agent-avatar", {agent: "silent", modes: %q, microphone: "click", greeting: word, disclosure: word})
			Object.assign(element, {suggestions: [word], labels: {start: word}})`, modes))
		look(modes + ", idle")
		p.Do(nil, `await element.start(); await until(() => element.phase === "live")`)
		look(modes + ", live")
		if modes == "text" {
			continue // it has no row of buttons
		}
		var order bool
		p.Do(&order, `document.documentElement.dir = "rtl"
			return button("end").getBoundingClientRect().left < button("sound").getBoundingClientRect().left`)
		if !order {
			t.Errorf("%s: right to left, the last button is not the leftmost", modes)
		}
	}
}

// A greeting with more questions than the log has room for begins at its top, and can be scrolled; one with few is in the middle.
func TestGreetingThatIsHigherThanItsLog(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.SetSize(320, 568)
	const above = `
		const [log, first, last] = [find("[part=log]"), find("[part=greeting] svg"), find("[part=greeting] ul")].map((each) => each.getBoundingClientRect())
		return {above: first.top - log.top, below: log.bottom - last.bottom, scrolls: find("[part=log]").scrollHeight > find("[part=log]").clientHeight}`
	type room struct {
		Above, Below float64
		Scrolls      bool
	}
	var many, few room
	p.Do(&many, `await place("agent-chat", {properties: {suggestions: Array.from({length: 9}, (_, i) => "What is the answer to question " + i + "?")}})`+above)
	if many.Above < 0 || !many.Scrolls {
		t.Errorf("with nine questions %+v", many)
	}
	p.Do(&few, `element.suggestions = ["Why?"]`+above)
	if few.Scrolls || few.Above < 50 || math.Abs(few.Above-few.Below) > 1 {
		t.Errorf("with one question %+v", few)
	}
}

// The avatar's element without a pointer: every control is reached with Tab, and does what its
// label says.
func TestByKeyboardAlone(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Do(nil, `await place("agent-avatar", {microphone: "click"})`)
	at := func(part string) {
		t.Helper()
		p.Keys("\t")
		p.Do(nil, `await until(() => element.shadowRoot.activeElement?.part.contains("`+part+`"))`)
	}
	at("start")
	p.Keys("\r")
	p.Do(nil, `await until(() => element.phase === "live")
		await until(() => element.shadowRoot.activeElement === find("textarea"))`) // where the focus goes when its button is gone
	p.Keys("Tell me a long story.\r")
	p.Do(nil, `await until(() => find("[part=caption]").textContent.startsWith("Once upon a time"))`)
	p.Keys("\x1b")
	p.Do(nil, `await until(() => find("[part=caption]").textContent === "")
		button("microphone").focus()`)
	p.Keys(" ")
	p.Do(nil, `await until(() => button("microphone").ariaPressed === "true" && element.session.micStarted)`)
	p.Keys(" ")
	p.Do(nil, `await until(() => button("microphone").ariaPressed === "false" && !element.session.micEnabled)`)
	at("sound")
	p.Keys("\r")
	p.Do(nil, `await until(() => element.session.audioOutputMuted && button("sound").ariaPressed === "false")`)
	at("captions")
	p.Keys("\r")
	p.Do(nil, `await until(() => button("captions").ariaPressed === "false")`)
	at("device-menu")
	p.Keys("\r")
	p.Do(nil, `await until(() => button("device-menu").ariaExpanded === "true" && find("select").options.length > 0)
		find("select").focus()`)
	p.Keys("\x1b")
	p.Do(nil, `await until(() => !seen("[part=devices]") && element.shadowRoot.activeElement === button("device-menu"))`)
	at("end")
	p.Keys("\r")
	p.Do(nil, `await until(() => element.phase === "ended" && element.shadowRoot.activeElement === button("start"))`)
	p.Keys("\r")
	p.Do(nil, `await until(() => element.phase === "live")`)
}
