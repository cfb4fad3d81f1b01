package element

import (
	"slices"
	"testing"
)

// In a container that is as wide as what is in it, the element has a width, which does not widen a narrow page.
func TestTheElementHasAWidthOfItsOwn(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.SetSize(320, 568)
	var widths []float64
	p.Do(&widths, `await place("agent-chat")
		const boxes = ["<dialog open></dialog>", "<div popover></div>", "<div style='float: left'></div>", "<div style='display: grid; padding: 8px'></div>"]
		return boxes.map((html) => {
			document.querySelector("main").innerHTML = html
			const box = document.querySelector("main").firstChild
			box.append(element)
			if (box.popover) box.showPopover()
			return document.documentElement.scrollWidth > 320 ? -1 : element.offsetWidth
		})`)
	for i, width := range widths {
		if width < 240 {
			t.Errorf("container %d: the element is %v pixels wide", i, width)
		}
	}
}

// The text of the page around an element does not change how its own is set. With text of twice the usual size the picture is beside
// the log only where both have room.
func TestTheTextOfThePage(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.SetSize(700, 900)
	var got struct {
		Set     []string
		Picture float64 // its width, as a part of the element's
	}
	p.Do(&got, `document.body.style = "white-space: nowrap; text-indent: 3em; letter-spacing: .2em; word-spacing: 1em; text-transform: uppercase; text-shadow: 1px 1px red"
		document.documentElement.style.fontSize = "200%"
		await place("agent-avatar", {modes: "face text"})
		const {whiteSpace, textIndent, letterSpacing, wordSpacing, textTransform, textShadow} = getComputedStyle(find("[part=log]"))
		return {
			set: [whiteSpace, textIndent, letterSpacing, wordSpacing, textTransform, textShadow],
			picture: find("[part=stage]").offsetWidth / element.offsetWidth,
		}`)
	if want := []string{"normal", "0px", "normal", "0px", "none", "none"}; got.Picture < .5 || !slices.Equal(got.Set, want) {
		t.Errorf("%+v, want the text set as %q", got, want)
	}
}

// Documents of frames and of windows that a page opens have styles of their own.
func TestAnElementMovesToAnotherDocument(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	var moved, made, back []string
	const looks = `const looks = (element) => [getComputedStyle(element.shadowRoot.querySelector(".frame")).display, element.shadowRoot.adoptedStyleSheets.length + " sheets", element.phase];`
	p.Do(&moved, looks+`document.querySelector("main").innerHTML = "<iframe></iframe>"
		globalThis.other = document.querySelector("iframe").contentDocument
		await place("agent-chat")
		await element.start()
		other.body.append(element)
		await new Promise((then) => setTimeout(then))
		return looks(element)`)
	p.Do(&made, looks+`const next = document.createElement("agent-chat")
		other.body.append(next)
		return looks(next)`)
	p.Do(&back, looks+`document.body.append(element); return looks(element)`)
	if want := []string{"grid", "5 sheets", "live"}; !slices.Equal(moved, want) || !slices.Equal(back, want) {
		t.Errorf("moved: %q, moved back: %q; want %q", moved, back, want)
	}
	if want := []string{"grid", "3 sheets", "idle"}; !slices.Equal(made, want) {
		t.Errorf("made there: %q, want %q", made, want)
	}
}
