//go:build !js

package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Reasons for the end of a page, found in Page.Err and in the errors of calls
// that the end interrupted.
var (
	// ErrCrashed means that the page's process died, because of a browser bug or a
	// lack of memory, or because it was killed.
	ErrCrashed = errors.New("page crashed")
	// ErrPageClosed means that the page was closed, by Close or by a script.
	ErrPageClosed = errors.New("page is closed")
	// ErrBrowserEnded means that the whole browser ended.
	ErrBrowserEnded = errors.New("browser ended")
)

// Page is one tab in a browser context of its own: it shares no cookies,
// storage or permissions with other pages.
type Page struct {
	browser *Browser
	tab     context.Context // the chromedp context of the tab
	stop    context.CancelFunc
	life    context.Context // ends with the tab; its cause is Err
	end     context.CancelCauseFunc

	mu        sync.Mutex // guards what the DevTools reader and the test share
	messages  []Message
	navigated func(url string)
	framed    func(frame []byte) // receives the frames of a screencast
	exposed   map[string]func(text string)
}

// NewPage opens a page and, if url is not empty, navigates to it and waits for
// its load event.
func (b *Browser) NewPage(ctx context.Context, url string) (*Page, error) {
	return b.newPage(ctx, url, chromedp.WithNewBrowserContext())
}

// NewTab is NewPage in the browser context of p, which is disposed when p is closed.
func (p *Page) NewTab(ctx context.Context, url string) (*Page, error) {
	return p.browser.newPage(ctx, url, chromedp.WithExistingBrowserContext(chromedp.FromContext(p.tab).BrowserContextID))
}

func (b *Browser) newPage(ctx context.Context, url string, in chromedp.ContextOption) (*Page, error) {
	p := &Page{browser: b}
	p.tab, p.stop = chromedp.NewContext(b.ctx, in, chromedp.WithListener(p.event))
	p.life, p.end = context.WithCancelCause(p.tab)
	if err := start(ctx, p.tab, p.stop); err != nil {
		p.Close()
		return nil, fmt.Errorf("new page: %w", err)
	}
	if err := p.prepare(ctx, url); err != nil {
		p.Close()
		return nil, fmt.Errorf("new page: %w", err)
	}
	return p, nil
}

func (p *Page) prepare(ctx context.Context, url string) error {
	if err := p.watch(); err != nil {
		return err
	}
	if p.browser.options.Microphone != "" {
		if err := p.SetPermission(ctx, "microphone", Granted); err != nil {
			return err
		}
	}
	if url == "" {
		return nil
	}
	return p.Navigate(ctx, url)
}

// watch ends the page's life when its tab is gone.
func (p *Page) watch() error {
	gone, err := chromedp.Detached(p.tab)
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-gone:
			p.end(ErrPageClosed)
		case <-p.browser.ctx.Done():
			p.end(ErrBrowserEnded)
		case <-p.life.Done():
		}
	}()
	return nil
}

// event handles one DevTools event. It runs on the goroutine that reads the
// connection, so it must not wait for the browser.
func (p *Page) event(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		p.record(consoleMessage(ev))
	case *runtime.EventExceptionThrown:
		p.record(exceptionMessage(ev.ExceptionDetails))
	case *log.EventEntryAdded:
		p.record(entryMessage(ev.Entry))
	case *page.EventJavascriptDialogOpening:
		p.record(dialogMessage(ev))
		go Call(p.life, p, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	case *page.EventFrameNavigated:
		p.mu.Lock()
		fn := p.navigated
		p.mu.Unlock()
		if fn != nil && ev.Frame.ParentID == "" {
			fn(ev.Frame.URL)
		}
	case *page.EventScreencastFrame:
		p.frame(ev)
	case *runtime.EventBindingCalled:
		p.called(ev)
	case *inspector.EventTargetCrashed:
		p.end(ErrCrashed)
	}
}

func (p *Page) record(m Message) {
	p.mu.Lock()
	p.messages = append(p.messages, m)
	p.mu.Unlock()
}

// Console returns the messages of the page so far, oldest first.
func (p *Page) Console() []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Message(nil), p.messages...)
}

// Done is closed when the page has ended; Err then returns the reason.
func (p *Page) Done() <-chan struct{} { return p.life.Done() }

// Err returns nil until the page has ended, then an error that is ErrCrashed,
// ErrPageClosed or ErrBrowserEnded.
func (p *Page) Err() error {
	err := context.Cause(p.life)
	if errors.Is(err, context.Canceled) { // the browser's context ended before watch called end
		return ErrBrowserEnded
	}
	return err
}

// Close closes the tab, even one that hangs, and drops its browser context. It
// may be called twice.
func (p *Page) Close() {
	p.end(ErrPageClosed)
	p.stop()
}

// Navigate loads url in the page and waits for its load event.
func (p *Page) Navigate(ctx context.Context, url string) error {
	err := p.Run(ctx, chromedp.Navigate(url))
	if err != nil {
		return fmt.Errorf("navigate to %s: %w", url, err)
	}
	return nil
}

// Eval evaluates a JavaScript expression in the page, awaits it if it is a
// promise, and stores its JSON form in out unless out is nil. A thrown or
// rejected value is returned as an error. Eval fails too when the page ends meanwhile.
func (p *Page) Eval(ctx context.Context, js string, out any) error {
	yes := true
	res, err := Call(ctx, p, runtime.Evaluate, runtime.EvaluateParams{
		Expression:    js,
		ReturnByValue: &yes,
		AwaitPromise:  &yes,
	})
	switch {
	case err != nil:
	case res.ExceptionDetails != nil:
		err = errors.New(exceptionMessage(res.ExceptionDetails).Text)
	case out == nil:
	case len(res.Result.Value) == 0: // undefined has no JSON form
		err = json.Unmarshal([]byte("null"), out)
	default:
		err = json.Unmarshal(res.Result.Value, out)
	}
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	return nil
}

// OnNavigate sets a function that is called when the page has opened another document
// or the same one again, so that the state of its scripts is lost. fn must return quickly
// and must not use the page.
func (p *Page) OnNavigate(fn func(url string)) {
	p.mu.Lock()
	p.navigated = fn
	p.mu.Unlock()
}

// Run runs chromedp actions on the page, for actions without a method of Page. It
// ends when ctx or the page does.
func (p *Page) Run(ctx context.Context, actions ...chromedp.Action[chromedp.Void]) error {
	actionCtx, cancel := context.WithCancel(p.life)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := chromedp.Do(actionCtx, actions...)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case p.life.Err() != nil:
		return p.Err()
	case errors.Is(err, context.Canceled): // chromedp noticed the end before watch did
		return fmt.Errorf("%w: %w", ErrBrowserEnded, err)
	case errors.Is(err, chromedp.ErrTargetDetached):
		return fmt.Errorf("%w: %w", ErrPageClosed, err)
	}
	return err
}

// Call sends the page a command of the DevTools protocol, for those without a method of Page.
func Call[Params, Result any](ctx context.Context, p *Page, command cdp.Command[Params, Result], params Params) (result Result, err error) {
	err = p.Run(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		result, err = cdp.Call(ctx, t, command, params)
		return err
	}))
	return result, err
}
