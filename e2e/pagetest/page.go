package pagetest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/internal/must"
)

//go:embed page/watch.js
var watch string

// Page is a page of one test. The test fails when the page's console has an error or
// a warning.
type Page struct {
	*browsertest.Page
	// Prelude is the beginning of each script of [Page.Do], such as the imports that all of
	// them need.
	Prelude string

	t       *testing.T
	ctx     context.Context
	allowed []string
}

// Open opens an address in an isolated page.
func Open(t *testing.T, url string) *Page {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	p := newPage(ctx, t)
	p.Navigate(url)
	return p
}

// Open opens a path of the server in an isolated page that counts its resources
// (page/watch.js).
func (h *Server) Open(path string) *Page {
	h.t.Helper()
	p := newPage(h.ctx, h.t)
	// The addresses of the service are on loopback, about which the runtime warns once.
	p.Allow("local or private host")
	must.Do(h.t, p.AddScript(h.ctx, watch))
	p.Navigate(h.URL + path)
	return p
}

func newPage(ctx context.Context, t *testing.T) *Page {
	t.Helper()
	tab := must.Get(browser.NewPage(ctx, ""))(t)
	p := &Page{Page: tab, t: t, ctx: ctx}
	t.Cleanup(func() {
		p.checkConsole()
		p.Close()
	})
	watchCalls(ctx, t, tab)
	return p
}

// Close closes the page. The end of the test does it otherwise.
func (p *Page) Close() {
	reportCalls(p.ctx, p.Page)
	p.Page.Close()
}

// NewTab opens an address in another tab, with the prelude of p and a process of its own.
// It shares the storage, the locks and the channels with p.
func (p *Page) NewTab(url string) *Page {
	p.t.Helper()
	tab := must.Get(p.Page.NewTab(p.ctx, url))(p.t)
	p.t.Cleanup(tab.Close)
	return &Page{Page: tab, Prelude: p.Prelude, t: p.t, ctx: p.ctx}
}

// Crash kills the process of the tab.
func (p *Page) Crash() {
	p.t.Helper()
	_, err := browsertest.Call(p.ctx, p.Page, page.Crash, cdp.Empty{})
	if !errors.Is(err, browsertest.ErrCrashed) {
		p.t.Error(err)
	}
}

// Navigate opens another address in the page.
func (p *Page) Navigate(url string) {
	p.t.Helper()
	must.Do(p.t, p.Page.Navigate(p.ctx, url))
}

// Permit sets whether the page gets a permission, such as that for the microphone, when it asks for it. An element writes a line
// in the console about a microphone that it does not get.
func (p *Page) Permit(name string, granted bool) {
	p.t.Helper()
	setting := browsertest.Granted
	if !granted {
		setting = browsertest.Denied
		p.Allow("#mic_permission_denied")
	}
	must.Do(p.t, p.SetPermission(p.ctx, name, setting))
}

// SetHidden hides the page, or shows it again.
func (p *Page) SetHidden(hidden bool) {
	p.t.Helper()
	must.Do(p.t, p.Page.SetHidden(p.ctx, hidden))
}

// Context ends when the test has taken too long.
func (p *Page) Context() context.Context { return p.ctx }

// Allow permits console messages that contain text.
func (p *Page) Allow(text string) { p.allowed = append(p.allowed, text) }

// checkConsole fails the test when the console has an error or a warning.
func (p *Page) checkConsole() {
next:
	for _, m := range p.Console() {
		for _, text := range p.allowed {
			if strings.Contains(m.Text, text) {
				continue next
			}
		}
		if m.Type == "error" || m.Type == "warning" || m.Type == browsertest.TypeException {
			p.t.Errorf("the page says %v", m)
		}
	}
}

// Do runs the prelude and then body, as one async function, and stores its result in out unless that is nil. In body,
// inAgent(selector) finds an element in that of the agent.
func (p *Page) Do(out any, body string) {
	p.t.Helper()
	if err := p.Eval(p.ctx, "(async () => {"+inAgent+p.Prelude+"\n"+body+"})()", out); err != nil {
		p.t.Fatalf("%v; the page's events: %s", err, p.events())
	}
}

// Call calls a function with arguments, which become JSON, and stores its result in out unless that is nil. The function is
// an export of a module, whose address may be relative to the page's: scripts of more than about 20 lines are in testdata,
// in a file with the name of the test's.
func (p *Page) Call(out any, script, function string, args ...any) {
	p.t.Helper()
	list := must.Get(json.Marshal(append([]any{}, args...)))(p.t)
	call := fmt.Sprintf("(await import(new URL(%q, document.baseURI))).%s(...%s)", script, function, list)
	if err := p.Eval(p.ctx, "(async () => "+call+")()", out); err != nil {
		p.t.Fatalf("%s of %s: %v; the page's events: %s", function, script, err, p.events())
	}
}

// events lists the last that the recording that a script has left in globalThis.talk has received, for the message of a test
// that waited for another event.
func (p *Page) events() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 5*time.Second)
	defer cancel()
	var list string
	if err := p.Eval(ctx, `globalThis.talk?.events?.slice(-30).map(({name, payload, at}) => Math.round(at) + " ms " + name + " " + JSON.stringify(payload)?.slice(0, 200)).join("\n") ?? "not recorded"`, &list); err != nil {
		return err.Error()
	}
	return list
}

// CloseTab closes the tab as a person does, so that the page receives its last events.
func (p *Page) CloseTab() {
	p.t.Helper()
	must.Get(browsertest.Call(p.ctx, p.Page, page.Close, cdp.Empty{}))(p.t)
}

// Keys types keys into the focused element. The event for a pressed key contains its
// character, as on a keyboard. [chromedp.KeyEvent] sends two events instead, so that Enter
// would press a button that gets the focus between them.
func (p *Page) Keys(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	for _, key := range keys {
		events := kb.Encode(key)
		down, up := events[0], events[len(events)-1]
		if len(events) == 3 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		for _, event := range []*input.DispatchKeyEventParams{down, up} {
			for _, option := range options {
				option(event)
			}
			must.Get(browsertest.Call(p.ctx, p.Page, input.DispatchKeyEvent, *event))(p.t)
		}
	}
}

// inAgent defines the function by which scripts find what matches a selector in the agent's element of a page.
const inAgent = `const inAgent = (selector) => document.querySelector("agent-avatar, agent-chat")?.shadowRoot?.querySelector(selector) ?? undefined;`

// AwaitTrue waits until an expression is true; it is evaluated whenever the document, the agent's element, the focus or a field
// changes. In the expression, inAgent(selector) finds an element in that of the agent.
func (p *Page) AwaitTrue(expression string) {
	p.t.Helper()
	err := p.Eval(p.ctx, `new Promise((resolve) => {
		`+inAgent+`
		const over = new AbortController()
		const roots = new Set()
		const watch = (root) => {
			if (!root || roots.has(root)) return
			roots.add(root)
			observer.observe(root, {subtree: true, childList: true, attributes: true, characterData: true})
			for (const event of ["focusin", "input"]) root.addEventListener(event, look, {signal: over.signal})
		}
		const look = () => {
			watch(document.querySelector("agent-avatar, agent-chat")?.shadowRoot)
			if (!(`+expression+`)) return
			observer.disconnect()
			over.abort()
			resolve()
		}
		const observer = new MutationObserver(look)
		watch(document)
		look()
	})`, nil)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var body string
		_ = p.Eval(ctx, inAgent+`document.body.innerText + "\n" + (inAgent(".frame")?.innerText ?? "")`, &body)
		p.t.Fatalf("%s: %v; the page shows:\n%s", expression, err, body)
	}
}

// Text returns the text of the first element that matches the selector.
func (p *Page) Text(selector string) (text string) {
	p.t.Helper()
	must.Do(p.t, p.Eval(p.ctx, `document.querySelector("`+selector+`").textContent`, &text))
	return text
}
