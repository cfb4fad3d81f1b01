//go:build js && wasm

package jsontree

import "testing"

// The tests of this package run in a page because this file is there.
func TestATreeIsWhatThePageParses(t *testing.T) {
	v, err := Tree(parse.Invoke(`[1,{"a":"b"}]`))
	if err != nil || v.([]any)[1].(map[string]any)["a"] != "b" {
		t.Errorf("%v, %v", v, err)
	}
}
