//go:build js && wasm

package sessionend

import (
	"context"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// BrowserPage is the page that the program runs in.
func BrowserPage() Page { return browserPage{} }

type browserPage struct{}

func (browserPage) Watch(l Listener) (stop func()) {
	scope := jsbridge.NewScope(nil)
	window, document := js.Global(), js.Global().Get("document")
	listen := func(target js.Value, event string, f func(event js.Value)) {
		_, _ = scope.Listen(target, event, f) // fails in Node.js alone, which has no page
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

func (b *broadcast) Lock(name string, share bool, taken func()) (release func()) {
	locks, err := jsbridge.Get(js.Global().Get("navigator"), "locks")
	if err != nil || !locks.Truthy() {
		return func() {} // the page is not secure
	}
	ctx, cancel := context.WithCancel(context.Background())
	signal, _ := jsbridge.SignalFromContext(ctx)
	scope := jsbridge.NewScope(nil)
	have := scope.Func(func(js.Value, []js.Value) any {
		held := jsbridge.Promise(func() (any, error) {
			<-ctx.Done()
			return nil, nil
		})
		if ctx.Err() == nil {
			taken()
		}
		return held
	})
	mode := "exclusive"
	if share {
		mode = "shared"
	}
	request, err := jsbridge.Call(locks, "request", name, map[string]any{"signal": signal, "mode": mode}, have)
	if err != nil {
		scope.End()
		return cancel // a sandboxed frame throws
	}
	go func() {
		_, _ = jsbridge.Await(context.Background(), request) // until it is released or withdrawn
		scope.End()
	}()
	return cancel
}

func (*broadcast) Store(name, value string) {
	if storage, err := jsbridge.Get(js.Global(), "localStorage"); err == nil && storage.Truthy() {
		if value == "" {
			_, _ = jsbridge.Call(storage, "removeItem", name)
			return
		}
		_, _ = jsbridge.Call(storage, "setItem", name, value) // it may be full
	}
}

func (*broadcast) Stored(name string) string {
	storage, err := jsbridge.Get(js.Global(), "localStorage")
	if err != nil || !storage.Truthy() {
		return "" // a sandboxed frame throws
	}
	value, err := jsbridge.Call(storage, "getItem", name)
	if err != nil || value.Type() != js.TypeString {
		return ""
	}
	return value.String()
}

func (b *broadcast) Closing(f func()) (stop func()) {
	stop, err := b.scope.Listen(js.Global(), "beforeunload", func(js.Value) { f() })
	if err != nil {
		return func() {}
	}
	return stop
}

// Hold keeps the page busy, because a page that is being unloaded can't wait for events.
func (b *broadcast) Hold(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

func (b *broadcast) Close() {
	b.scope.End()
	_, _ = jsbridge.Call(b.channel, "close")
}
