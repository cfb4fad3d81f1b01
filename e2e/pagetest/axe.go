package pagetest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// axeFile is the path of axe-core from the root.
const axeFile = "js/node_modules/axe-core/axe.min.js"

// Axe fails the test when axe-core finds a violation in the page, in either colour scheme.
// State is a name of the page's state for the message.
func (p *Page) Axe(state string) {
	p.t.Helper()
	var loaded bool
	must.Do(p.t, p.Eval(p.ctx, `"axe" in globalThis`, &loaded))
	if !loaded {
		script := must.Get(os.ReadFile(filepath.Join(root, axeFile)))(p.t)
		must.Do(p.t, p.Eval(p.ctx, string(script)+"\n;undefined", nil))
	}
	for _, scheme := range []string{"dark", "light"} {
		p.SetMedia("prefers-color-scheme", scheme)
		var found []string
		// Without style sheets, which it loads into an inline style: a page with a content
		// security policy refuses that and reports it. Only a rule for screens that can't be
		// turned needs them.
		must.Do(p.t, p.Eval(p.ctx, `axe.run(document, {resultTypes: ["violations"], preload: {assets: ["media"]}}).then(({violations}) => violations.flatMap(({id, help, nodes}) =>
			nodes.map(({target, failureSummary}) => [id, help, target.flat().join(" "), failureSummary].join("; "))))`, &found))
		if len(found) > 0 {
			p.t.Errorf("%s, %s: axe finds\n\t%s", state, scheme, strings.Join(found, "\n\t"))
		}
	}
}

// SetMedia sets one media feature of the page, such as prefers-color-scheme to "dark", and
// resets the others to the values of the browser.
func (p *Page) SetMedia(feature, value string) {
	p.t.Helper()
	p.emulate(emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
}

// Print shows the page as it is printed.
func (p *Page) Print() {
	p.t.Helper()
	p.emulate(emulation.SetEmulatedMediaParams{Media: "print"})
}

func (p *Page) emulate(media emulation.SetEmulatedMediaParams) {
	p.t.Helper()
	must.Get(browsertest.Call(p.ctx, p.Page, emulation.SetEmulatedMedia, media))(p.t)
}

// SetSize sets the size of the page's window, in CSS pixels.
func (p *Page) SetSize(width, height int64) {
	p.t.Helper()
	must.Do(p.t, p.Run(p.ctx, chromedp.EmulateViewport(width, height)))
}
