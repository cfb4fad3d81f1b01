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

	"github.com/agentruntime/agentruntime/internal/jsontext"
)

func TestABrainKeepsItsTokenToItself(t *testing.T) {
	c := clientOf(saying())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		for _, v := range []any{c, &c, []Client{c}, struct{ C Client }{c}} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, token) || strings.Contains(text, fmt.Sprintf("%x", token)) || strings.Contains(text, "djJ8") {
				t.Errorf("%s of %T shows the token: %s", verb, v, text)
			}
		}
	}
}

// FuzzMembers compares the reader of objects with encoding/json.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : 1 , "b":[{"c":"]}"}] } `, `{"a\"":"\\","\u0061":{"}":null},"a":true}`, `{"":"","x":-1.5e3}`, `[1]`, `"{"`,
		`{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e+}`, `{"a":tru}`, `{"a":"\u00g0"}`, `{"a":"\x"}`, "{\"a\":\"\t\"}", `{"a":[}]}`, `{"a":"}`,
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":1}}`, `{1:2}`, `{"a":{"b":nul}}`, "{\"a\":\"\x7f\\u007f\"}", `{"a":-0.0e-9,"b":0}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return // Decode takes care of it
		}
		valid := json.Valid(text)
		if _, ok := Decode(text); ok != (valid && isObject(text)) {
			t.Errorf("Decode(%q): %v, and to encoding/json it is valid: %v", text, ok, valid)
		}
		if !valid {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			want = nil
		}
		got := map[string]json.RawMessage{}
		for o := jsontext.Scan(text); o.Next(); {
			got[string(o.Key.Name())] = o.Value.Raw
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("the members of %q are %q, want %q", text, got, want)
		}
	})
}
