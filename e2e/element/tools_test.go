package element

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// A face has a volume, and full screen with all its controls.
func TestToolsOfAFace(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Do(nil, `await place("agent-avatar", {microphone: "none"})`)
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live" && seen("[part~=full-screen]"))`)
	press(p, "device-menu")
	var volume float64
	p.Do(&volume, `
		await until(() => seen("[type=range]"))
		find("[type=range]").focus()
		return find("[type=range]").valueAsNumber`)
	p.Keys(kb.ArrowLeft + kb.ArrowLeft)
	p.Do(&volume, `await until(() => element.session.audioOutputVolume < 1); return find("video").volume`)
	expect.Equal(t, volume, 0.9, "the volume is")
	p.Axe("with a volume")
	press(p, "device-menu")
	press(p, "full-screen")
	p.Do(nil, `await until(() => element.shadowRoot.fullscreenElement === find("[part=frame]") && button("full-screen").ariaPressed === "true")`)
	var inside bool
	p.Do(&inside, `return seen("[part~=end]") && find("[part=composer]").getBoundingClientRect().bottom <= innerHeight`)
	if !inside {
		t.Error("a control is not in the full screen")
	}
	press(p, "full-screen")
	p.Do(nil, `await until(() => document.fullscreenElement === null && button("full-screen").ariaPressed === "false")`)
}

// The button of tap-to-talk has its own colours under a pointer too, in an element and in a part beside it.
func TestTapToTalkUnderAPointer(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Do(nil, `await place("agent-avatar", {agent: "tap", microphone: "click"})`)
	press(p, "start")
	p.Do(nil, `
		await until(() => element.phase === "live" && seen("[part~=tap]"))
		const {ControlBar} = await import("/js/dist/ui.js")
		const sheet = Object.assign(document.createElement("link"), {rel: "stylesheet", href: "/js/dist/ui.css"})
		const loaded = new Promise((resolve) => (sheet.onload = resolve))
		document.head.append(sheet)
		await loaded
		document.querySelector("main").prepend(new ControlBar(element.session).root)`)
	for _, where := range []string{`button("tap")`, `document.querySelector(".agent-controls .tap")`} {
		const colours = `const {color, backgroundColor} = getComputedStyle(target); return color + " on " + backgroundColor`
		var rest, under string
		p.Do(&rest, `const target = `+where+`;`+colours)
		var at struct{ X, Y float64 }
		p.Do(&at, `const {x, y, width, height} = `+where+`.getBoundingClientRect(); return {X: x + width / 2, Y: y + height / 2}`)
		must.Do(t, p.Run(p.Context(), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X, at.Y)))
		p.Do(&under, `const target = `+where+`; await until(() => target.matches(":hover"));`+colours)
		expect.Equal(t, under, rest, "%s under a pointer is", where)
	}
}

// An agent that takes them sees the visitor's screen or camera, while the visitor sees what it
// sees; others have no such buttons.
func TestSharing(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	// The dialog for the choice of a screen is the browser's own; this page has one to show.
	p.Call(nil, "tools.js", "aScreenToShare")
	press(p, "start")
	p.Permit("camera", false)
	press(p, "share-camera")
	p.Do(nil, `await until(() => seen("[part=message]") && find("[part=message]").textContent.includes("did not allow it") && button("share-camera").ariaPressed === "false")`)
	p.Permit("camera", true)
	// The agent is said to see it when the first still was sent, so that a question after that is
	// about that still.
	sees := func(source, question, size string) {
		t.Helper()
		press(p, "share-"+source)
		p.Do(nil, `await until(() => find("[aria-live=polite]").textContent.includes("The agent sees your `+source+`.")
				&& button("share-`+source+`").ariaPressed === "true" && find("[part=preview] video")?.videoWidth > 0 && seen("[part=preview]"))
			await element.send("`+question+`")
			await until(() => find("[part=log]").innerText.includes("`+size+`"))`)
	}
	sees("camera", "What does my camera show?", "640")
	p.Axe("with a camera that is shared")
	p.Do(nil, `globalThis.camera = find("[part=preview] video").srcObject.getTracks()[0]`)
	sees("screen", "What is on my screen?", "1600")
	var ended string
	p.Do(&ended, `return camera.readyState`)
	expect.Equal(t, ended, "ended", "after a change to the screen the camera is")
	// The browser has a button of its own that ends it.
	p.Do(nil, `shown.dispatchEvent(new Event("ended"))
		await until(() => !seen("[part=preview]") && button("share-screen").ariaPressed === "false")`)
	press(p, "share-screen")
	p.Do(nil, `await until(() => seen("[part=preview]"))`)
	press(p, "end")
	p.Do(nil, `await until(() => element.phase === "ended" && !seen("[part=preview]") && shown.readyState === "ended" && !seen("[part~=share-screen]"))
		navigator.mediaDevices.getDisplayMedia = () => new Promise((resolve) => globalThis.choose = () => resolve(screenOf()))`)
	// A screen that is chosen after the end is shown to nobody.
	press(p, "start")
	press(p, "share-screen")
	p.Do(nil, `await until(() => globalThis.choose)`)
	press(p, "end")
	p.Do(nil, `await until(() => element.phase === "ended")
		choose()
		await until(() => shown.readyState === "ended" && !seen("[part=preview]"))
		element.remove()
		await place("agent-avatar", {agent: "silent", microphone: "none"})`)
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live")`)
	var none bool
	p.Do(&none, `return !seen("[part~=share-screen]") && !seen("[part~=share-camera]")`)
	if !none {
		t.Error("an agent that sees nothing has buttons to share")
	}
}
