package pagetest

import (
	_ "embed"
	"encoding/json"
	"slices"

	"github.com/chromedp/cdproto/accessibility"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// AccessibilityNode is a node of the accessibility tree, which screen readers use.
type AccessibilityNode struct{ Role, Name string }

// AccessibilityNodes returns the accessibility tree in reading order, without nodes that are
// only text or structure.
func (p *Page) AccessibilityNodes() []AccessibilityNode {
	p.t.Helper()
	tree := must.Get(browsertest.Call(p.ctx, p.Page, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}))(p.t)
	nodes := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range tree.Nodes {
		nodes[n.NodeID] = n
	}
	var list []AccessibilityNode
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
	return list
}

var (
	// unnamedRoles are the roles of nodes that are only text or structure.
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

//go:embed page/cut.js
var cut string

// phone is the size of a small phone, in portrait and in landscape, in CSS pixels.
var phone = [][2]int64{{320, 568}, {667, 375}}

// HeaderFits fails the test when something in the header is too low for a finger on a phone, or when the header takes more than
// one row on a phone in landscape. The page keeps that size.
func (p *Page) HeaderFits() {
	p.t.Helper()
	p.SetSize(360, 740)
	var small []string
	p.Do(&small, `return [...document.querySelectorAll("header :is(a, button, select)")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44).map((e) => e.textContent.trim())`)
	if len(small) > 0 {
		p.t.Errorf("less than 44 pixels high: %q", small)
	}
	p.SetSize(740, 360)
	var height float64
	p.Do(&height, `return document.querySelector("header").getBoundingClientRect().height`)
	if height > 60 {
		p.t.Errorf("in landscape the header is %g pixels high, want one row", height)
	}
}

// NothingCut fails the test when a text or a control is cut off on a small phone, in portrait or landscape. The page keeps the
// size of the phone in landscape.
func (p *Page) NothingCut() {
	p.t.Helper()
	for _, size := range phone {
		p.SetSize(size[0], size[1])
		var found []string
		p.Do(nil, `await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`)
		must.Do(p.t, p.Eval(p.ctx, cut, &found))
		for _, what := range found {
			p.t.Errorf("%d×%d: %s", size[0], size[1], what)
		}
	}
}

// HasNodes fails the test for each of these nodes that the accessibility tree lacks.
func (p *Page) HasNodes(want []AccessibilityNode) {
	p.t.Helper()
	got := p.AccessibilityNodes()
	for _, node := range want {
		if !slices.Contains(got, node) {
			p.t.Errorf("no %+v in %+v", node, got)
		}
	}
}

// narrow is the width of a small phone, in CSS pixels.
const narrow = 360

// Accessible fails the test when axe-core finds a violation, such as a text with too little contrast, an element that
// needs an accessible name has none, or the page scrolls sideways on a small phone. The page keeps the phone's size.
func (p *Page) Accessible() {
	p.t.Helper()
	p.Axe("as it is")
	for _, node := range p.AccessibilityNodes() {
		if node.Name == "" && slices.Contains(namedRoles, node.Role) {
			p.t.Errorf("a %s has no name", node.Role)
		}
	}
	p.SetSize(narrow, 2*narrow)
	var wide []string
	must.Do(p.t, p.Eval(p.ctx, `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll("*")]
		.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.tagName + "." + e.className)`, &wide))
	if len(wide) > 0 {
		p.t.Errorf("a page of %d pixels scrolls sideways because of %q", narrow, wide)
	}
}
