package pagetest

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// AccessibilityNode is what a screen reader gets of a part of a page.
type AccessibilityNode struct{ Role, Name string }

// AccessibilityNodes returns the accessibility tree in reading order, without bare
// texts.
func (p *Page) AccessibilityNodes() []AccessibilityNode {
	p.t.Helper()
	var list []AccessibilityNode
	err := p.Run(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		tree, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			return err
		}
		nodes := map[accessibility.NodeID]*accessibility.Node{}
		for _, n := range tree.Nodes {
			nodes[n.NodeID] = n
		}
		var walk func(*accessibility.Node)
		walk = func(n *accessibility.Node) {
			if node := (AccessibilityNode{textOf(n.Role), textOf(n.Name)}); !n.Ignored && !slices.Contains(unnamedRoles, node.Role) {
				list = append(list, node)
			}
			for _, id := range n.ChildIDs {
				if child := nodes[id]; child != nil {
					walk(child)
				}
			}
		}
		walk(tree.Nodes[0])
		return nil
	}))
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

var (
	// unnamedRoles are the roles of nodes that are only a text or a place.
	unnamedRoles = []string{"StaticText", "InlineTextBox", "none", "generic", "LineBreak", "ListMarker", "MenuListPopup"}
	// namedRoles are the roles that must have a name.
	namedRoles = []string{
		"article", "button", "checkbox", "combobox", "heading", "img", "image", "link", "log", "navigation",
		"radio", "radiogroup", "region", "slider", "spinbutton", "switch", "textbox", "toolbar",
	}
)

func textOf(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text) // a value that is no text has none
	}
	return text
}

//go:embed page/contrast.js
var contrast string

//go:embed page/cut.js
var cut string

// NothingCut fails the test when a page of that size, in CSS pixels, cuts off a text or a
// control. The page stays so.
func (p *Page) NothingCut(width, height int64) {
	p.t.Helper()
	p.SetSize(width, height)
	var found []string
	p.Do(&found, `await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
		`+cut)
	for _, what := range found {
		p.t.Errorf("%d×%d: %s", width, height, what)
	}
}

// narrow is a small phone, in CSS pixels.
const narrow = 360

// Accessible fails the test when people can't use what the page shows: when
// axe-core finds something, something has no name, a text is too faint in one of the colour schemes, or a
// small phone has to be scrolled sideways. The page stays narrow.
func (p *Page) Accessible() {
	p.t.Helper()
	p.Axe("as it is")
	for _, node := range p.AccessibilityNodes() {
		if node.Name == "" && slices.Contains(namedRoles, node.Role) {
			p.t.Errorf("a %s has no name", node.Role)
		}
	}
	var lowContrast []string
	if err := p.Eval(p.ctx, "(() => {"+contrast+"})()", &lowContrast); err != nil {
		p.t.Fatal(err)
	}
	for _, text := range lowContrast {
		p.t.Errorf("too little contrast: %s", text)
	}
	p.SetSize(narrow, 2*narrow)
	var wide []string
	if err := p.Eval(p.ctx, `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll("*")]
		.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.tagName + "." + e.className)`, &wide); err != nil {
		p.t.Fatal(err)
	}
	if len(wide) > 0 {
		p.t.Errorf("a page of %d pixels scrolls sideways because of %q", narrow, wide)
	}
}
