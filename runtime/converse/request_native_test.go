//go:build !js

package converse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestABrainKeepsItsTokenToItself(t *testing.T) {
	b := brainOf(saying())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		for _, v := range []any{b, &b, []Brain{b}, struct{ B Brain }{b}} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, token) || strings.Contains(text, fmt.Sprintf("%x", token)) || strings.Contains(text, "djJ8") {
				t.Errorf("%s of %T shows the token: %s", verb, v, text)
			}
		}
	}
}

// FuzzMembers holds the reader of objects against encoding/json.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : 1 , "b":[{"c":"]}"}] } `, `{"a\"":"\\","\u0061":{"}":null},"a":true}`, `{"":"","x":-1.5e3}`, `[1]`, `"{"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) || !json.Valid(text) {
			return // Decode takes care of both
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			want = nil
		}
		got := map[string]json.RawMessage{}
		for key, value := range members(text) {
			got[string(key)] = value
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("members(%q) = %q, want %q", text, got, want)
		}
	})
}
