//go:build js && wasm

package weburl

import "testing"

// The tests of this package run in a page because this file is there. A browser
// knows more ways to write an address than net/url.
func TestAnAddressIsWhatTheBrowserMakesOfIt(t *testing.T) {
	u, err := Parse("http://2130706433/x")
	if err != nil || u.Hostname != "127.0.0.1" {
		t.Errorf("%+v, %v", u, err)
	}
}
