//go:build js && wasm

package session

// logFailures does nothing: in a page listeners are functions of the page, whose exceptions
// are reported to the page.
func logFailures(string, string, map[string]any) {}
