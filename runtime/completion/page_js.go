//go:build js && wasm

package completion

import (
	"slices"
	"sync"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// BrowserPage is the page that the program runs in.
func BrowserPage() Page { return browserPage{} }

type browserPage struct{}

func persisted(event js.Value) bool {
	return jsbridge.Property(event, "persisted").Equal(js.ValueOf(true))
}

func (browserPage) Watch(l Listener) (stop func()) {
	scope := jsbridge.NewScope(nil)
	window, document := js.Global(), js.Global().Get("document")
	listen := func(target js.Value, event string, f func(event js.Value)) {
		_ = scope.Listen(target, event, f) // fails in Node.js alone, which has no page
	}
	hidden := func() bool { return jsbridge.StringOf(document, "visibilityState") == "hidden" }
	scope.OnEnd(onPageHide(l.Hide))
	listen(window, "pageshow", func(event js.Value) { l.Show(persisted(event)) })
	if document.Truthy() { // a worker has none
		listen(document, "visibilitychange", func(js.Value) {
			l.Visible(!hidden())
		})
	}
	listen(window, "online", func(js.Value) { l.Online(true) })
	listen(window, "offline", func(js.Value) { l.Online(false) })
	if hidden() { // no event follows for a page that is hidden already
		l.Visible(false)
	}
	return scope.End
}

// pageHide is the page's one listener of pagehide, which calls all sessions. Each could have two
// listeners instead, one of them capturing, but Chromium calls the listeners of window in the
// order in which they were added.
var pageHide struct {
	mu    sync.Mutex
	hides []*func(persisted bool) (leave func())
	scope *jsbridge.Scope // while there is a session
}

// onPageHide calls hide for pagehide until stop is called (Listener.Hide). The request of a
// page that is unloaded starts inside the listener, because code after it may not run
// (protocol §8.8).
func onPageHide(hide func(persisted bool) (leave func())) (stop func()) {
	pageHide.mu.Lock()
	defer pageHide.mu.Unlock()
	if pageHide.scope == nil {
		pageHide.scope = jsbridge.NewScope(nil)
		_ = pageHide.scope.Listen(js.Global(), "pagehide", hideAll) // fails in Node.js alone
	}
	pageHide.hides = append(pageHide.hides, &hide)
	return func() {
		pageHide.mu.Lock()
		defer pageHide.mu.Unlock()
		pageHide.hides = slices.DeleteFunc(pageHide.hides, func(other *func(bool) func()) bool { return other == &hide })
		if len(pageHide.hides) == 0 {
			pageHide.scope.End()
			pageHide.scope = nil
		}
	}
}

func hideAll(event js.Value) {
	pageHide.mu.Lock()
	hides, scope := slices.Clone(pageHide.hides), pageHide.scope
	pageHide.mu.Unlock()
	var leaves []func()
	for _, hide := range hides {
		scope.Do(func() { // a panic in one session must not keep the others from reporting
			if leave := (*hide)(persisted(event)); leave != nil {
				leaves = append(leaves, leave)
			}
		})
	}
	for _, leave := range leaves {
		scope.Do(leave)
	}
}

func (browserPage) sendAtHide(n fetch.Network, r *fetch.Request, cached bool) (withdraw func()) {
	client, ok := n.(*fetch.HTTPClient)
	if !ok { // a test's
		return func() {}
	}
	return client.SendAtHide(r, cached)
}

func (browserPage) UserAgent() string {
	return js.Global().Get("navigator").Get("userAgent").String()
}

func (browserPage) Channel(name string, receive func(message string)) Channel {
	constructor, err := jsbridge.Get(js.Global(), "BroadcastChannel")
	if err != nil || !constructor.Truthy() {
		return nil
	}
	channel, err := jsbridge.New(constructor, name)
	if err != nil {
		return nil // a sandboxed frame throws; it has no other tabs
	}
	scope := jsbridge.NewScope(nil)
	err = scope.Listen(channel, "message", func(event js.Value) {
		if data, err := jsbridge.Get(event, "data"); err == nil {
			if message, ok := jsbridge.Text(data, maxMessage); ok {
				receive(message)
			}
		}
	})
	if err != nil {
		return nil
	}
	return &broadcast{channel, scope}
}

// maxMessage bounds a message of another tab, in UTF-16 units. Only another script of the origin sends
// a longer one, whose copy would stay in the program's memory, which never shrinks.
const maxMessage = 1000

type broadcast struct {
	channel js.Value
	scope   *jsbridge.Scope
}

func (b *broadcast) Post(message string) {
	// It fails only when the channel is closed.
	_, _ = jsbridge.Call(b.channel, "postMessage", message)
}

func (b *broadcast) Close() {
	b.scope.End()
	_, _ = jsbridge.Call(b.channel, "close")
}
