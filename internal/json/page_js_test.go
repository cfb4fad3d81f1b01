//go:build js && wasm

package json

import "testing"

// The tests of this package run in a page because this file is there. What is
// absent in a page's value is an empty list in its text.
func TestANilSliceIsAnEmptyList(t *testing.T) {
	if b, err := Marshal(struct{ A []int }{}); err != nil || string(b) != `{"A":[]}` {
		t.Errorf("%s, %v", b, err)
	}
}
