//go:build !js

package converse

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"
)

func FuzzParseCall(f *testing.F) {
	f.Add(`open_doc {"a":1}{"b":2}`)
	f.Add(`x {"a":"\"}{"}`)
	f.Fuzz(func(t *testing.T, content string) {
		c, ok := ParseCall(toolSegment(content))
		if !ok {
			return
		}
		for _, raw := range append([]json.RawMessage{c.Args}, c.Fused...) {
			var m map[string]any
			if err := json.Unmarshal(raw, &m); err != nil || m == nil {
				t.Errorf("arguments %q are no object: %v", raw, err)
			}
		}
	})
}

func FuzzWidget(f *testing.F) {
	for _, text := range []string{
		`{"title":"T","cards":[{"front":"a"}]}`, "questions:\n- \"a\"\n- text: b", "```json\n[1]\n```", "a: 1\n  - b", "{", `{"url":"javascript:x","fields":[{"key":[1]}]}`,
	} {
		f.Add(text, uint8(2))
	}
	names := append(slices.Sorted(maps.Keys(runtimes)), "chart")
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		cut := min(int(at), len(text))
		for _, name := range names {
			// Cleaned first, because each piece is, and a cut may go through a character.
			whole := assemble(pieces(name, printable(text))...)
			if len(whole) > 1 {
				t.Fatalf("%s %q gives %d widgets", name, text, len(whole))
			}
			if _, err := json.Marshal(whole); err != nil {
				t.Errorf("%s %q can't be handed on: %v", name, text, err)
			}
			if !utf8.ValidString(text) || cut < len(text) && !utf8.RuneStart(text[cut]) {
				continue
			}
			if halves := assemble(pieces(name, printable(text[:cut]), printable(text[cut:]))...); !reflect.DeepEqual(halves, whole) {
				t.Errorf("%s %q cut at %d gives %+v instead of %+v", name, text, cut, halves, whole)
			}
		}
	})
}
