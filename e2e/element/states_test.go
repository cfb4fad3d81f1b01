package element

import (
	"image"
	"net/http"
	"strconv"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
)

// Every state of a face: what it shows, what can be done about it, and what axe says.
func TestStatesOfAFace(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	// The browser reports what is refused below, and what a repair of the media may ask of a
	// session that the service has closed meanwhile.
	p.Allow("Failed to load resource")
	p.Allow("503")
	p.Allow("agentruntime: <agent-avatar>: The conversation could not begin: no avatar is free")
	// On a busy machine axe takes longer than a session is usually reconnected.
	p.Do(nil, `await place("agent-avatar", {microphone: "click", properties: {options: {...service.session, reconnectWindowMs: 120_000}}})`)
	p.Axe("idle")

	release := hold(h, "/v1/application/appInit")
	defer release()
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "connecting" && seen("[part=veil]"))`)
	p.Axe("connecting")
	for value, want := range map[string]string{"no-preference": "turn", "reduce": "none"} {
		p.SetMedia("prefers-reduced-motion", value)
		var animation string
		p.Do(&animation, `return getComputedStyle(find(".spinner")).animationName`)
		expect.Equal(t, animation, want, "with motion %s the animation is", value)
	}
	release()

	p.Do(nil, `await until(() => element.phase === "live" && seen("video") && !seen("[part=poster]"))
		await until(() => captions.length > 0)`)
	p.Axe("live")

	p.Permit("microphone", false)
	press(p, "microphone")
	p.Do(nil, `await until(() => seen("[part=microphone-problem]"))`)
	p.Axe("microphone denied")
	p.Permit("microphone", true)
	p.Do(nil, `find("[part=microphone-problem] button").focus()`)
	p.Keys("\r")
	p.Do(nil, `await until(() => button("microphone").ariaPressed === "true" && !seen("[part=microphone-problem]"))`)

	press(p, "device-menu")
	p.Do(nil, `await until(() => find("select").options.length > 1 && find("meter").value > 0)`)
	p.Axe("devices")

	h.Refuse("/socket.io/", http.StatusServiceUnavailable)
	h.Control("/sessions/newest/drop", nil)
	p.Do(nil, `await until(() => element.phase === "reconnecting" && seen("[part=veil]"))`)
	p.Axe("reconnecting")
	h.Intercept(nil)
	p.Do(nil, `await until(() => element.phase === "live" && !seen("[part=veil]"))`)

	thread := h.OnlySession().ThreadID
	press(p, "end")
	p.Do(nil, `await until(() => element.phase === "ended" && seen("[part~=start]"))`)
	h.AwaitSessionCompleted(thread)
	p.Axe("ended")
	var got struct {
		Message string
		Focused bool
	}
	p.Do(&got, `return {message: find("[part=message]").textContent, focused: element.shadowRoot.activeElement === button("start")}`)
	if got.Message != "The conversation is over." || !got.Focused {
		t.Errorf("%+v", got)
	}

	h.Control("/capacity", map[string]any{"exhausted": true})
	p.Keys("\r")
	p.Do(nil, `await until(() => element.phase === "error" && seen("[part~=start]"))`)
	p.Axe("error")
	expect.Equal(t, message(p), "All agents are busy right now. Please try again in a moment.", "the element says")
	// On a phone it is below the face, above the button that starts again.
	p.SetSize(360, 740)
	var at struct{ Middle, Top, Bottom, Button float64 }
	p.Do(&at, `const box = (selector) => find(selector).getBoundingClientRect()
		const stage = box("[part=stage]")
		return {middle: (stage.top + stage.bottom) / 2, top: box("[part=message]").top, bottom: box("[part=message]").bottom, button: box("[part~=start]").top}`)
	if at.Top < at.Middle || at.Bottom > at.Button {
		t.Errorf("%+v", at)
	}
	h.Control("/capacity", map[string]any{"exhausted": false})
	p.Keys("\r")
	p.Do(nil, `await until(() => element.phase === "live")`)
}

// message is the sentence that the element shows.
func message(p *pagetest.Page) (text string) {
	p.Do(&text, `return find("[part=message]").textContent`)
	return text
}

// A conversation that was started without a key or click is silent until a key or click allows
// the sound. In small windows the button for it is under nothing, and a key reaches it; where the picture is too low for
// captions too, there are none.
func TestBlockedSoundWaitsForAKey(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Allow("AudioContext") // the browser tells of it too
	p.SetSize(500, 400)
	p.Do(nil, `
		await place("agent-avatar", {microphone: "none"})
		await element.start()
		await until(() => seen("[part~=unlock]") && find("[part=caption]").textContent !== "")`)
	for _, window := range []image.Point{{500, 400}, {400, 400}, {320, 320}, {568, 320}, {360, 740}} {
		p.SetSize(int64(window.X), int64(window.Y))
		var got struct {
			Above   []string // what is seen at the corners of the button instead of it
			Low     bool
			Caption bool
		}
		p.Do(&got, `await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
			const {left, right, top, bottom} = button("unlock").getBoundingClientRect()
			const stage = find("[part=stage]").getBoundingClientRect()
			const at = [[(left + right) / 2, top + 3], [(left + right) / 2, bottom - 3], [left + 20, (top + bottom) / 2], [right - 20, (top + bottom) / 2]]
			const seenAt = at.map(([x, y]) => element.shadowRoot.elementFromPoint(x, y)).filter((found) => found !== button("unlock")).map((found) => found?.outerHTML.slice(0, 80) ?? "nothing")
			return {above: seenAt, low: stage.height <= 180, caption: seen("[part=caption]")}`)
		if len(got.Above) > 0 {
			t.Errorf("%v: %q is over the button", window, got.Above)
		}
		if got.Low == got.Caption {
			t.Errorf("%v: low picture %v, captions %v", window, got.Low, got.Caption)
		}
	}
	p.Do(nil, `await until(() => seen("video") && !seen("[part=poster]"))`)
	p.Axe("autoplay blocked")
	p.SetSize(320, 320)
	p.Do(nil, `document.activeElement?.blur(); element.setAttribute("tabindex", "-1"); HTMLElement.prototype.focus.call(element)`)
	for range 12 {
		var there bool
		p.Keys("\t")
		if p.Do(&there, `return element.shadowRoot.activeElement === button("unlock")`); there {
			break
		}
	}
	p.Keys("\r")
	var got struct{ Paused, Muted bool }
	p.Do(&got, `
		await until(() => !seen("[part~=unlock]"))
		const {paused, muted} = find("video")
		return {paused, muted}`)
	if got.Paused || got.Muted {
		t.Errorf("after the key: %+v", got)
	}
}

// Captions and the button for the sound are under nothing, although widgets are over the picture too.
func TestWidgetsCoverNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with sound", "without sound"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, p := open(t)
			p.Allow("AudioContext") // the browser tells of it too
			p.Do(nil, `await place("agent-avatar", {microphone: "none"})`)
			if name == "with sound" {
				press(p, "start")
			} else {
				p.Do(nil, `element.start()`)
			}
			p.Do(nil, `await until(() => element.phase === "live")`)
			for _, text := range []string{"My name is Ada.", "Talk.", "Quiz me."} {
				// A copy takes the caption's place, because the caption goes with the end of the speech.
				p.Do(nil, `globalThis.copy?.replaceWith(globalThis.caption)
					await element.send("`+text+`")
					await until(() => seen("[part=caption]") && seen(".followups") && find("[part=caption]").textContent.length > 20)
					globalThis.caption = find("[part=caption]")
					globalThis.copy = caption.cloneNode(true)
					caption.replaceWith(copy)
					globalThis.rect = (part) => find(part).getBoundingClientRect()
					globalThis.meet = ([one, other]) => {
						if (!seen(one) || !seen(other)) return false
						const [a, b] = [rect(one), rect(other)]
						return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
					}`)
				for _, window := range []image.Point{{1280, 800}, {900, 600}, {660, 700}, {640, 700}, {568, 320}, {500, 400}, {360, 740}, {320, 400}} {
					p.SetSize(int64(window.X), int64(window.Y))
					var got []string
					p.Do(&got, `await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
						if (rect("[part=controls]").bottom > rect("[part=stage]").bottom) throw new Error("the controls are below the picture")
						if (!seen("[part=caption]") && rect("[part=stage]").height > 180) throw new Error("there is no caption")
						if (seen("[part~=unlock]") !== (`+strconv.FormatBool(name == "without sound")+`)) throw new Error("the button for the sound")
						const over = ["[part=log]", "[part=controls]", "[part=activity]"], unlock = "[part~=unlock]"
						return [...[...over, unlock].map((part) => [part, "[part=caption]"]), ...over.map((part) => [part, unlock])].filter(meet).map((pair) => pair.join(" over "))`)
					if len(got) > 0 {
						t.Errorf("%q, %v: %q", text, window, got)
					}
				}
			}
		})
	}
}

// A form or a quiz that is higher than the log is read from its beginning, and a visitor who scrolls in it is left there. Every
// text grows with that of the page, and is never smaller than usual: many pages make the root small, and count in tenths of it.
// A printed page has all of the conversation, and not the part that the log shows, and none of the controls.
func TestTallWidget(t *testing.T) {
	t.Parallel()
	for _, modes := range []string{"text", "face text"} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			_, p := open(t)
			p.SetSize(740, 360)
			p.Do(nil, `await place("agent-avatar", {modes: "`+modes+`", microphone: "none"})
				await element.start()
				await until(() => element.phase === "live" && !seen("[part~=stop]"))
				await element.send("Quiz me.")
				await until(() => seen(".agent-widget:not(.followups)") && seen(".followups") && find("[part=log]").innerText.includes("Here is a question"))
				globalThis.below = () => find(".agent-widget:not(.followups)").getBoundingClientRect().top - find("[part=log]").getBoundingClientRect().top
				await until(() => below() >= 0 && below() < 20)`)
			p.Do(nil, `const log = find("[part=log]")
				log.scrollBy(0, 40)
				await until(() => below() < 0)
				await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`)
			p.SetSize(740, 330) // as by the keyboard of a phone
			p.Do(nil, `await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
				if (below() >= 0) throw new Error("the log was scrolled back to the beginning")`)

			p.SetSize(375, 667)
			for root, text := range map[string]float64{"62.5%": 16, "200%": 32} { // the usual size, in pixels
				var got struct {
					Field, Smallest, Bottom float64
					Text                    string // one of the smallest size
				}
				p.Do(&got, `document.documentElement.style.fontSize = "`+root+`"
					const size = (node) => parseFloat(getComputedStyle(node).fontSize)
					const texts = [...element.shadowRoot.querySelectorAll("*")].filter((node) => node.checkVisibility() && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()) && !node.closest(".agent-hidden, .over")) // buttons over the picture stay in one line
					const [least] = texts.sort((a, b) => size(a) - size(b))
					return {field: size(find("textarea")), smallest: size(least), text: least.textContent, bottom: find("[part=composer]").getBoundingClientRect().bottom}`)
				if got.Field != text || got.Smallest < .8*text || got.Bottom > 667 {
					t.Errorf("%s: %+v", root, got)
				}
			}

			p.Do(nil, `document.documentElement.style.fontSize = ""
				await element.send("My name is Ada.")
				const log = find("[part=log]")
				await until(() => log.innerText.includes("Nice to meet you, Ada") && log.scrollHeight - log.scrollTop - log.clientHeight < 2)
				if (log.scrollTop === 0) throw new Error("all of the conversation is shown")`)
			p.Print()
			var got struct {
				Cut   float64 // how much of the log is not seen, in pixels
				Shown []string
			}
			p.Do(&got, `const log = find("[part=log]")
				return {cut: log.scrollHeight - log.clientHeight, shown: ["[part=controls]", "[part=composer]", "[part=tools]", ".agent-answer"].filter(seen)}`)
			if got.Cut > 1 || len(got.Shown) > 0 {
				t.Errorf("printed: %+v", got)
			}
		})
	}
}
