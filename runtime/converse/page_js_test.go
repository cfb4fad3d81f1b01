//go:build js && wasm

package converse

import (
	"encoding/json"
	"syscall/js"
	"testing"
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

func TestABrainWithoutATransportUsesThePages(t *testing.T) {
	own := js.Global().Get("fetch")
	js.Global().Set("fetch", js.Global().Get("Function").New(`return async (url, init) =>
		new Response(JSON.stringify({type: "text", content: url + " " + init.headers.authorization}), {headers: {"content-type": "application/x-ndjson"}})`).Invoke())
	defer js.Global().Set("fetch", own)
	turn, err := Client{URL: "https://brain.example", Token: "t"}.Turn(t.Context(), hi, Throw)
	if want := "https://brain.example/assistant/converse KS t"; err != nil || turn.Text != want {
		t.Errorf("%q, %v; want %q", turn.Text, err, want)
	}
}
