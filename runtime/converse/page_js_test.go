//go:build js && wasm

package converse

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/json"
)

// The tests of this package run in a page too, because this file is there: in a
// page JSON is the browser's (internal/json).
func TestASegmentIsTheSameInAPage(t *testing.T) {
	seg, ok := Decode([]byte(`{"type":"text","content":"a\u00e9😀","segmentNumber":3,"et":0.5,"unknown":{"a":[1]}}`))
	if !ok || seg.Type != Text || seg.ContentString() != "aé😀" || seg.SegmentNumber != 3 || seg.Elapsed != 0.5 {
		t.Errorf("%+v, %v", seg, ok)
	}
	b, err := json.Marshal(seg)
	if err != nil || !json.Valid(b) {
		t.Errorf("%s, %v", b, err)
	}
}
