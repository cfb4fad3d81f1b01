package browsertest

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/runtime"
)

// Expose gives the page, and every document that it opens from now on, a global function
// that passes a string to fn. The page does not wait for it, so that it also works while
// the page is left. fn is called on the goroutine that reads the connection, so it must not
// wait for the browser.
func (p *Page) Expose(ctx context.Context, name string, fn func(text string)) error {
	p.mu.Lock()
	if p.exposed == nil {
		p.exposed = map[string]func(string){}
	}
	p.exposed[name] = fn
	p.mu.Unlock()
	_, err := Call(ctx, p, runtime.AddBinding, runtime.AddBindingParams{Name: name})
	if err != nil {
		return fmt.Errorf("expose %s: %w", name, err)
	}
	return nil
}

func (p *Page) called(ev *runtime.EventBindingCalled) {
	p.mu.Lock()
	fn := p.exposed[ev.Name]
	p.mu.Unlock()
	if fn != nil {
		fn(ev.Payload)
	}
}
