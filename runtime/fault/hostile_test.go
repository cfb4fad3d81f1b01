package fault

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

// testWebToken looks like a JSON web token with padding.
const testWebToken = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLW9mLWE="

// escapers write text as other programs do.
var escapers = map[string]func(string) string{
	"JSON": func(s string) string {
		text, _ := json.Marshal(s) // of a string never fails
		return string(text)
	},
	"JSON, every character": func(s string) string { return each(s, `\u%04x`) },
	"JSON, in capitals":     func(s string) string { return each(s, `\u%04X`) },
	"Go, every byte":        func(s string) string { return each(s, `\x%02x`) },
	"URL":                   url.QueryEscape,
	"URL, every byte":       func(s string) string { return each(s, "%%%02x") },
	"JavaScript's escape":   func(s string) string { return each(s, "%%u%04x") },
	"base64":                func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, for URLs":      func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64, in lines": func(s string) string {
		var lines []string
		text := base64.StdEncoding.EncodeToString([]byte(s))
		for len(text) > 20 {
			lines, text = append(lines, text[:20]), text[20:]
		}
		return strings.Join(append(lines, text), "\r\n")
	},
}

func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// shows reports whether the secret can be read in out by undoing escapes and base64, of which the
// text around it changes the beginning.
func shows(out, secret string) bool {
	var search func(text string, depth int) bool
	search = func(text string, depth int) bool {
		f := finder{source: text}
		f.decode()
		text = f.text
		if strings.Contains(withoutGaps(text, nil), withoutGaps(secret, nil)) {
			return true
		}
		if depth == maxBase64 {
			return false
		}
		for _, word := range regexp.MustCompile(`[\w+/\r\n-]{16,}`).FindAllString(text, -1) {
			for offset := range 4 {
				inner, _ := base64.RawStdEncoding.DecodeString(standard(word[offset:]))
				if search(string(inner), depth+1) {
					return true
				}
			}
		}
		return false
	}
	return search(out, 0)
}

// TestRedactUnderEscapes hides every shape of secret under every escape, and under
// every two of them.
func TestRedactUnderEscapes(t *testing.T) {
	const name = "Sw0rdf1sh"
	for what, in := range map[string]string{
		"token":         testToken,
		"token in text": "the token " + testToken + " has expired",
		"token in JSON": `{"n":1,"ks":"` + testToken + `","m":2}`,
		"web token":     testWebToken,
		"header":        "authorization: ks " + testToken,
		"variables":     `{"n":1,"request_vars":{"name":"` + name + `"}}`,
	} {
		for outerName, outer := range escapers {
			for innerName, inner := range escapers {
				for how, text := range map[string]string{outerName: outer(in), innerName + " in " + outerName: outer(inner(in))} {
					out := Redact("before " + text + "\n: after")
					for _, secret := range [...]string{testToken, testWebToken, name} {
						if strings.Contains(in, secret) && shows(out, secret) {
							t.Errorf("%s in %s: %q is in %q", what, how, secret, out)
						}
					}
					if !strings.HasPrefix(out, "before ") || what != "variables" && !strings.HasSuffix(out, "\n: after") {
						t.Errorf("%s in %s: what is beside it went too: %q", what, how, out)
					}
				}
			}
		}
	}
}

func TestRedactHostile(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	long := strings.Repeat("x", 100_000)
	for _, test := range []struct{ name, in, want string }{
		{"half of a prefix encoded", "at dj\\u004A8" + testToken[4:] + ".", "at [redacted]."},
		{"percent sign encoded three times", "%25252564jJ8" + testToken[4:] + ".", "[redacted]."},
		{"JSON in JSON in JSON", `{"a":"{\"b\":\"{\\\"ks\\\":\\\"` + testToken + `\\\",\\\"n\\\":1}\"}"}`, `{"a":"{\"b\":\"{\\\"ks\\\":\\\"[redacted]\\\",\\\"n\\\":1}\"}"}`},
		{"JSON in a query in JSON", `{"url":"/a?b=%7B%22ks%22%3A%22` + testToken + `%22%7D\u0026n=1"}`, `{"url":"/a?b=%7B%22ks%22%3A%22[redacted]%22%7D\u0026n=1"}`},
		{"bearer of a web token", "Bearer " + testWebToken + ", next", "Bearer [redacted], next"},
		{"web token with padding", testWebToken + " ended", "[redacted] ended"},
		{"web token in a path", "/v1/" + testWebToken[:60] + "/x", "/v1/[redacted]/x"},
		{"web token in lines", testWebToken[:30] + "\n" + testWebToken[30:] + "\n", "[redacted]\n"},
		{"web token in a string of JSON in lines", `"` + testWebToken[:30] + `\n` + testWebToken[30:] + `"`, `"[redacted]"`},
		{"token as a login", "https://" + testToken[:40] + "@talk.example/x", "https://[redacted]@talk.example/x"},
		{"token as a password", "wss://ks:" + testToken[:40] + "@talk.example/x", "wss://ks:[redacted]@talk.example/x"},
		{"token as a variable", "?request_vars=" + testToken + "&n=1", "?request_vars=[redacted]&n=1"},
		{"base64 of a token", "cookie " + b64(testToken) + ";", "cookie [redacted];"},
		{"base64 of a token in a path", "/x/" + b64(testToken) + "?a=1", "/x/[redacted]?a=1"},
		{"base64 of JSON", "?s=" + b64(`{"n":123,"ks":"`+testToken+`"}`) + "&n=1", "?s=[redacted]&n=1"},
		{"base64 of a hexadecimal secret", "?s=" + b64("admin 0123456789abcdef0123456789ABCDEF") + "&n=1", "?s=[redacted]&n=1"},
		{"base64 of base64", "got " + b64(b64(testToken)) + "!", "got [redacted]!"},
		{"base64 of nothing secret", "sound UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=", "sound UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="},
		{"secret around a marker", testToken[:20] + "[redacted]" + testToken, "[redacted][redacted][redacted]"},
		{"escape cut short", testToken + `\u00`, `[redacted]\u00`},
		{"escapes that are none", `100% \u12 &#; &; \`, `100% \u12 &#; &; \`},
		{"between long texts", long + " " + testToken + " " + long, long + " [redacted] " + long},
		{"long token", testToken + long + " n", "[redacted] n"},
		{"private address in a query", "?host=10%2E1%2E2%2E3&n=1", "?host=[redacted]&n=1"},
		{"hexadecimal secret in JSON", `"\u0030123456789abcdef0123456789ABCDEF"`, `"[redacted]"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Redact(test.in)
			if got != test.want {
				t.Errorf("Redact(%.300q)\n got %.300q\nwant %.300q", test.in, got, test.want)
			}
			if again := Redact(got); again != got {
				t.Errorf("redacting twice changed %.300q to %.300q", got, again)
			}
		})
	}
}

// TestRedactKeeps has what docs/security.md lists as not removed from a text. None of it has the
// shape of a token or an admin secret, neither in clear nor escaped.
func TestRedactKeeps(t *testing.T) {
	shape := regexp.MustCompile(`djJ8[\w+/=-]|eyJ[\w-]{10,}\.|[0-9a-fA-F]{32}`)
	for _, text := range []string{
		"password: hunter2", `{"credential":"hunter2"}`, "map[credential:abc user:u]", "a=ice-pwd:by5GZGG1lw+040DWA6hXM5Bz",
		"Authorization: Bearer abc def", "sent KS abc123def456", "basic YWxpY2U6c2VjcmV0", "Cookie: a=b", "Proxy-Authorization: Basic YTpi",
		"https://alice:s3cret@talk.example", "turn:u-17:c-17@turn.example",
		"{&quot;password&quot;:&quot;hunter2&quot;}", "&#104;unter2",
		"aG9zdCAxMC4xLjIuMyBwb3J0IDQ0Mw==", // base64 of "host 10.1.2.3 port 443"
	} {
		if got := Redact(text); got != text {
			t.Errorf("%q became %q: docs/security.md says that it is kept", text, got)
		}
		forms := []string{text}
		if plain, err := url.PathUnescape(text); err == nil {
			forms = append(forms, plain)
		}
		var plain string
		if json.Unmarshal([]byte(`"`+strings.ReplaceAll(text, `"`, `\"`)+`"`), &plain) == nil {
			forms = append(forms, plain)
		}
		for _, word := range regexp.MustCompile(`[\w+/-]{16,}`).FindAllString(text, -1) {
			inner, _ := base64.RawStdEncoding.DecodeString(standard(word))
			forms = append(forms, string(inner))
		}
		for _, form := range forms {
			if shape.MatchString(form) {
				t.Errorf("%q has the shape of a secret in %q", text, form)
			}
		}
	}
}

func TestRedactIsLinear(t *testing.T) {
	for _, piece := range []string{"djJ8", "djJ8a\n", "eyJ", "eyJa.", "%22ks%22%3A", "%3A%2F%2F", "10.", "fe80:", "a", `\`, "{", "requestVars:{", "requestVars=a ", "KS "} {
		redactsInLinearTime(t, piece, "")
	}
	var secrets Secrets
	defer secrets.Forget()
	secrets.Add(strings.Repeat("ab", 500), strings.Repeat("a", 1000)+"b")
	for _, piece := range []string{
		`\u005c`, "%25", `\\`, "ZGpKOA", "ZGpKOA\n", "eyJ.", "secrets:[", "secrets=secrets=", "ab", "aaaaaaaaaaaaaaab ", ":", "a:", "1:", "1.",
	} {
		redactsInLinearTime(t, piece, "@")
	}
}

func TestSecretsAreFoundByValue(t *testing.T) {
	var one, two Secrets
	defer one.Forget()
	defer two.Forget()
	one.Add("correct horse + battery", "hunter2/é", "short")
	two.AddNamed(map[string]any{"apiKey": "staple-9", "name": "Annabella", "pinToken": 123456})
	two.Add("hunter2/é")
	for in, want := range map[string]string{
		"a correct horse + battery was sent":                                     "a [redacted] was sent",
		"correct+horse+%2B+battery":                                              "[redacted]",
		"correct%20horse%20%2B%20battery&n=1":                                    "[redacted]&n=1",
		`["correct horse"," + battery"]`:                                         `["[redacted]"]`,
		"\"correct \" +\n\"horse + battery\"":                                    `"[redacted]"`,
		`{"a":"hunter2\/\u00e9"}`:                                                `{"a":"[redacted]"}`,
		"hunter2%252F%25C3%25A9":                                                 "[redacted]",
		"see aHVudGVyMi/DqQ== and aHVudGVyMi_Dq":                                 "see aHVudGVyMi/DqQ== and aHVudGVyMi_Dq", // too short for base64
		"see " + base64.StdEncoding.EncodeToString([]byte("a login: hunter2/é")): "see [redacted]",
		"staple-9 for Annabella":                                                 "[redacted] for Annabella",
		"a short text":                                                           "a short text",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q)\n got %q\nwant %q", in, got, want)
		}
	}

	err := From(fmt.Errorf("login with hunter2/é refused"))
	one.Forget()
	if got := Redact("hunter2/é staple-9 correct horse + battery"); got != "[redacted] [redacted] correct horse + battery" {
		t.Errorf("one session's secrets forgotten: %q", got)
	}
	two.Forget()
	two.Forget()
	expect.Equal(t, Redact("hunter2/é staple-9"), "hunter2/é staple-9", "all forgotten")
	if text := err.Error(); strings.Contains(text, "hunter2") {
		t.Errorf("an error outlives the secrets of its session: %q", text)
	}
}

func TestExcerptCutsAfterRedaction(t *testing.T) {
	for limit, want := range map[int]string{0: "", 3: "é k", 13: "é ks=[redacte", 15: "é ks=[redacted]", 50: "é ks=[redacted]"} {
		expect.Equal(t, Excerpt("é ks="+testToken, limit), want, "%d", limit)
	}
}
