package element

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// An answer can be rated and copied, and the conversation copied and downloaded, by keyboard.
func TestToolsOfATranscript(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
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
	refuse(h, "/feedback/add", 500)
	press(p, "good")
	p.Do(nil, `await until(() => find("[part=message]").textContent.includes("The service has a problem"))
		await until(() => button("bad").ariaPressed === "true")`)
}

// A face has a volume, and full screen with all its controls.
func TestToolsOfAFace(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
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
