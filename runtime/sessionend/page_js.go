//go:build js && wasm

package sessionend

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// BrowserPage is the page that the program runs in.
func BrowserPage() Page { return browserPage{} }

type browserPage struct{}

func (browserPage) Watch(l Listener) (stop func()) {
	scope := jsbridge.NewScope(nil)
	window, document := js.Global(), js.Global().Get("document")
	listen := func(target js.Value, event string, f func(event js.Value)) {
		if _, err := scope.Listen(target, event, f); err != nil {
			panic(err) // every window and document takes listeners
		}
	}
	// js.Value.Get would end the goroutine without a recover if a getter throws.
	is := func(object js.Value, key string, want js.Value) bool {
		v, err := jsbridge.Get(object, key)
		return err == nil && v.Equal(want)
	}
	persisted := func(event js.Value) bool { return is(event, "persisted", js.ValueOf(true)) }
	hidden := func() bool { return is(document, "visibilityState", js.ValueOf("hidden")) }
	// The request of a page that is unloaded starts inside this callback, because code
	// after it may not run (wire-protocol §8.8).
	listen(window, "pagehide", func(event js.Value) { l.Hide(persisted(event)) })
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
	_, err = scope.Listen(channel, "message", func(event js.Value) {
		if data, err := jsbridge.Get(event, "data"); err == nil && data.Type() == js.TypeString {
			receive(data.String())
		}
	})
	if err != nil {
		return nil
	}
	return &broadcast{channel, scope}
}

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
