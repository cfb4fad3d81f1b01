//go:build !js

package fault

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func FuzzRedact(f *testing.F) {
	for _, s := range []string{
		"", "ks=", `"ks":"`, `\"ks\":\"`, "Authorization: KS ", "https://a:b@c", "turn:u:p@h", "10.0.0.1", "fe80::1",
		"password: must be set", "request_vars: too many", "secret: ", "%22ks%22%3A", "pwd=",
		`{"request_vars":{"a":"`, "0123456789abcdef0123456789abcdef", "[redacted]", "token: a1b2c3", "Bearer ",
	} {
		f.Add(s, "\" }")
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		in := before + testToken + after
		out := Redact(in)
		if strings.Contains(out, testToken) {
			t.Errorf("token survives in %q", out)
		}
		if again := Redact(out); again != out {
			t.Errorf("not idempotent:\n in %q\n 1: %q\n 2: %q", in, out, again)
		}
		if limit := 4*len(in) + 2*len(Redacted); len(out) > limit {
			t.Errorf("%d bytes became %d", len(in), len(out))
		}
		var parsed any
		if json.Unmarshal([]byte(in), &parsed) == nil {
			if text := fmt.Sprint(RedactValue(parsed)); strings.Contains(text, testToken) {
				t.Errorf("token survives in the value %s", text)
			}
		}
	})
}
