//go:build js && wasm

package completion

import (
	"slices"
	"strings"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

func dispatch(target js.Value, event string, persisted bool) {
	ev := js.Global().Get("PageTransitionEvent").New(event, map[string]any{"persisted": persisted})
	target.Call("dispatchEvent", ev)
}

func TestThePageIsHeardInsideItsListeners(t *testing.T) {
	before := jsbridge.LiveFuncs()
	var heard []string
	stop := BrowserPage().Watch(Listener{
		Hide: func(persisted bool) func() {
			heard = append(heard, "hide", map[bool]string{true: "cached", false: "gone"}[persisted])
			if persisted {
				return nil
			}
			return func() { heard = append(heard, "leave") }
		},
		Show:    func(bool) { heard = append(heard, "show") },
		Visible: func(visible bool) { heard = append(heard, map[bool]string{true: "visible", false: "hidden"}[visible]) },
		Online:  func(online bool) { heard = append(heard, map[bool]string{true: "online", false: "offline"}[online]) },
	})
	window := js.Global()
	dispatch(window, "pagehide", false)
	dispatch(window, "pagehide", true)
	dispatch(window, "pageshow", true)
	document := window.Get("document")
	document.Call("dispatchEvent", window.Get("Event").New("visibilitychange"))
	window.Get("Object").Call("defineProperty", document, "visibilityState", map[string]any{"value": "hidden", "configurable": true})
	document.Call("dispatchEvent", window.Get("Event").New("visibilitychange"))
	document.Delete("visibilityState")
	window.Call("dispatchEvent", window.Get("Event").New("online"))
	want := []string{"hide", "gone", "leave", "hide", "cached", "show", "visible", "hidden", "online"}
	if !slices.Equal(heard, want) {
		t.Fatalf("heard %v, want %v", heard, want)
	}
	stop()
	dispatch(window, "pagehide", false)
	expect.Len(t, heard, len(want), "a listener was still there")
	if live := jsbridge.LiveFuncs(); live != before {
		t.Errorf("%d callbacks live, %d before", live, before)
	}
}

// TestAllEndsAreReportedBeforeASessionIsLeft: closing the connections of one takes long
// enough for the browser to end the page before the next one is reported.
func TestAllEndsAreReportedBeforeASessionIsLeft(t *testing.T) {
	var calls []string
	for _, name := range []string{"one", "two"} {
		stop := BrowserPage().Watch(Listener{
			Hide: func(bool) func() {
				calls = append(calls, "report "+name)
				return func() { calls = append(calls, "leave "+name) }
			},
			Show: func(bool) {}, Visible: func(bool) {}, Online: func(bool) {},
		})
		defer stop()
	}
	dispatch(js.Global(), "pagehide", false)
	expect.List(t, calls, []string{"report one", "report two", "leave one", "leave two"}, "calls")
}

func TestTabsFindEachOther(t *testing.T) {
	before := jsbridge.LiveFuncs()
	got := make(chan string, 1)
	one := BrowserPage().Channel("thread:1", func(string) {})
	two := BrowserPage().Channel("thread:1", func(message string) { got <- message })
	if one == nil || two == nil {
		t.Fatal("the browser has no channels")
	}
	channel := one.(*broadcast).channel
	for _, script := range []any{5, true, nil, []any{"x"}, strings.Repeat("x", maxMessage+1)} { // of another script, and ignored
		channel.Call("postMessage", script)
	}
	one.Post(`{"v":1}`)
	select {
	case message := <-got:
		expect.Equal(t, message, `{"v":1}`, "heard")
	case <-time.After(time.Minute):
		t.Error("nothing was heard")
	}
	one.Close()
	two.Close()
	one.Post("closed") // must not throw
	if live := jsbridge.LiveFuncs(); live != before {
		t.Errorf("%d callbacks live, %d before", live, before)
	}
}
