package element

import "testing"

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
