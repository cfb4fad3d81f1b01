//go:build !js

package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c", "\x00\x1f\t\n\r\x7f", "é世😀\u2028\uFEFF", "a\xff\xc3", "\uFFFD", strings.Repeat("\\", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := AppendString([]byte("x"), s)
		if text[0] != 'x' || !utf8.Valid(text) {
			t.Errorf("%q became %q", s, text)
		}
		var got string
		if err := json.Unmarshal(text[1:], &got); err != nil || got != string([]rune(s)) {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	})
}
