package element

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

// An answer can be rated and copied, and the conversation copied and downloaded, by keyboard.
func TestToolsOfATranscript(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.Do(nil, `await place("agent-chat", {"agent-name": "Robin"})
		await element.send("My name is Ada.")
		await until(() => seen("[part~=good]") && seen("[part~=download]") && !seen("[part~=stop]"))
		globalThis.copied = []
		navigator.clipboard.writeText = async (text) => void copied.push(text)
		globalThis.saved = []
		const create = URL.createObjectURL
		URL.createObjectURL = (blob) => (saved.push(blob.text()), create(blob))`)
	p.Axe("with an answer's buttons")
	press(p, "good")
	h.Await("a good rating", func(v pagetest.Request) bool {
		return v.Path == "/feedback/add" && strings.Contains(v.Body, `"is_positive":true`)
	})
	p.Do(nil, `await until(() => button("good").ariaPressed === "true" && button("bad").ariaPressed === "false" && find("[aria-live=polite]").textContent.includes("Thank you."))`)
	press(p, "bad")
	h.Await("a bad rating", func(v pagetest.Request) bool {
		return v.Path == "/feedback/add" && strings.Contains(v.Body, `"is_positive":false`)
	})
	for _, part := range []string{"copy-answer", "copy", "download"} {
		press(p, part)
	}
	var got struct{ Copied, Saved []string }
	p.Do(&got, `await until(() => copied.length === 2 && saved.length === 1)
		return {copied, saved: await Promise.all(saved)}`)
	whole := got.Saved[0]
	if got.Copied[1] != whole || !strings.HasPrefix(whole, "You: My name is Ada.\n\nRobin: Nice to meet you, Ada") || !strings.HasSuffix(whole, got.Copied[0]) {
		t.Errorf("copied and saved: %q", got)
	}
	// What the browser or the service refuses is told.
	p.Do(nil, `navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"))`)
	press(p, "copy")
	p.Do(nil, `await until(() => seen("[part=message]") && find("[part=message]").textContent.includes("did not let this page copy"))`)
	p.Allow("500")
	h.Refuse("/feedback/add", 500)
	press(p, "good")
	p.Do(nil, `await until(() => find("[part=message]").textContent.includes("The service has a problem"))
		await until(() => button("bad").ariaPressed === "true")`)
	// A visitor begins anew, and can write at once.
	press(p, "fresh")
	p.Do(nil, `await until(() => element.phase === "idle" && seen("[part~=greeting]") && !seen("[part~=tools]") && !seen("[part~=fresh]"))
		if (element.shadowRoot.activeElement !== find("textarea")) throw new Error("the field has not the focus")`)
}

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
	if volume != 0.9 {
		t.Errorf("the volume is %v", volume)
	}
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
	if ended != "ended" {
		t.Errorf("after a change to the screen the camera is %s", ended)
	}
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
