package avatar

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/browsertest"
)

//go:embed testdata/watch.js
var watch string

// page is a page of a house, whose console stays quiet.
type page struct {
	*browsertest.Page
	t       *testing.T
	ctx     context.Context
	allowed []string
}

const stagePath = "/e2e/avatar/testdata/"

// page opens the empty stage of these tests.
func (h *house) page() *page { return h.open(stagePath) }

// open opens a path of the service in an isolated page.
func (h *house) open(path string) *page {
	h.t.Helper()
	tab, err := browser.NewPage(h.ctx, "")
	if err != nil {
		h.t.Fatal(err)
	}
	// The service tells pages' sessions that addresses are on loopback, which the
	// runtime says once.
	p := &page{Page: tab, t: h.t, ctx: h.ctx, allowed: []string{"local or private host"}}
	h.t.Cleanup(func() {
		p.quiet()
		tab.Close()
	})
	if err := tab.AddScript(h.ctx, watch); err != nil {
		h.t.Fatal(err)
	}
	if err := tab.Navigate(h.ctx, h.door.URL+path); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// allow permits the page to say something that contains text.
func (p *page) allow(text string) { p.allowed = append(p.allowed, text) }

// quiet fails the test when the page complained.
func (p *page) quiet() {
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

// run runs the body of an async function with everything of testdata/talk.js in
// scope, and stores what it returns.
func (p *page) run(out any, body string) {
	p.t.Helper()
	if err := p.try(out, body); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) try(out any, body string) error {
	return p.Eval(p.ctx, `import("/e2e/avatar/testdata/talk.js").then(async ({agents, failure, Ear, held, open, picture, relayed, settled}) => {`+body+`})`, out)
}
