//go:build js && wasm

package jsbridge

import "syscall/js"

// AtHide has the loader call send at the page's next pagehide, unless withdraw was called
// before that. It does so although the program has crashed or waits for its second part
// (requestsAtHide in js/src/core/program.ts). The program's own listeners of pagehide come first if
// they were added before. Of functions with equal keys one is called. cached is whether send is
// called for a page that enters the back-forward cache too.
func AtHide(key string, send js.Value, cached bool) (withdraw func()) {
	if loader.IsUndefined() { // tests have none
		return func() {}
	}
	cancel, err := Call(loader, "atHide", key, send, cached)
	if err != nil {
		return func() {}
	}
	return func() { _, _ = Invoke(cancel) }
}
