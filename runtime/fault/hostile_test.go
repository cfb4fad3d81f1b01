package fault

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
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
	"HTML":                  html.EscapeString,
	"HTML, decimal":         func(s string) string { return each(s, "&#%d;") },
	"HTML, hexadecimal":     func(s string) string { return each(s, "&#x%X;") },
	"HTML, no semicolon":    func(s string) string { return each(s, "&#%03d") },
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

// shows reports whether the secret can be read in out by undoing escapes and base64.
func shows(out, secret string) bool {
	var search func(l layer, depth int) bool
	search = func(l layer, depth int) bool {
		for range maxLayers {
			if strings.Contains(withoutGaps(l.text, nil), withoutGaps(secret, nil)) {
				return true
			}
			if depth < maxBase64 {
				for inner := range l.base64() {
					if search(inner, depth+1) {
						return true
					}
				}
			}
			var escaped bool
			if l, escaped = l.unescaped(); !escaped {
				return false
			}
		}
		return false
	}
	return search(layer{text: out}, 0)
}

// TestRedactUnderEscapes hides every shape of secret under every escape, and under
// every two of them.
func TestRedactUnderEscapes(t *testing.T) {
	const password = "Sw0rdf1sh"
	for name, in := range map[string]string{
		"token":         testToken,
		"token in text": "the token " + testToken + " has expired",
		"web token":     testWebToken,
		"header":        "AUTHORIZATION: Bearer " + password,
		"KS header":     "authorization: ks " + testToken,
		"URL":           "https://alice:" + password + "@talk.example/x",
		"TURN":          "turns:alice:" + password + "@turn.example:443?transport=tcp",
		"query":         "https://talk.example/x?n=1&access_token=" + password + "&m=2",
		"JSON":          `{"n":1,"turnCredentials":{"username":"u","credential":"` + password + `"}}`,
		"variables":     `{"request_vars":{"name":"` + password + `"},"n":1}`,
	} {
		for outerName, outer := range escapers {
			for innerName, inner := range escapers {
				for how, text := range map[string]string{outerName: outer(in), innerName + " in " + outerName: outer(inner(in))} {
					out := Redact("before " + text + "\n: after")
					for _, secret := range [...]string{testToken, testWebToken, password} {
						if strings.Contains(in, secret) && shows(out, secret) {
							t.Errorf("%s in %s: %q is in %q", name, how, secret, out)
						}
					}
					if !strings.HasPrefix(out, "before ") || !strings.HasSuffix(out, "\n: after") {
						t.Errorf("%s in %s: what is beside it went too: %q", name, how, out)
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
		{"percent-encoded twice", "u=https%253A%252F%252Falice%253As3cret%2540talk.example", "u=https%253A%252F%252F[redacted]%2540talk.example"},
		{"percent-encoded three times", "%252525256b%2525256b%252573%25253Dabc123", "%252525256b%2525256b%252573%25253Dabc123"}, // kks is not ks
		{"half of a name encoded", "%6Bs=abc123&n=1", "%6Bs=[redacted]&n=1"},
		{"half of a prefix encoded", "at dj\\u004A8" + testToken[4:] + ".", "at [redacted]."},
		{"JSON in JSON in JSON", `{"a":"{\"b\":\"{\\\"ks\\\":\\\"abc\\\",\\\"n\\\":1}\"}"}`, `{"a":"{\"b\":\"{\\\"ks\\\":\\\"[redacted]\\\",\\\"n\\\":1}\"}"}`},
		{"JSON in a query in JSON", `{"url":"/a?b=%7B%22ks%22%3A%22abc%22%7D\u0026n=1"}`, `{"url":"/a?b=%7B%22ks%22%3A%22[redacted]%22%7D\u0026n=1"}`},
		{"escaped quotes of a query in JSON", `{"u":"?password=hunter2\u0026n=1"}`, `{"u":"?password=[redacted]\u0026n=1"}`},
		{"HTML attribute", `<a href="https://alice&#58;s3cret&commat;talk.example">`, `<a href="https://[redacted]&commat;talk.example">`},
		{"HTML and JSON", "{&quot;password&quot;:&quot;hunter2&quot;,&quot;n&quot;:1}", "{&quot;password&quot;:&quot;[redacted]&quot;,&quot;n&quot;:1}"},
		{"ampersands of HTML", "a=1&amp;ks=abc&amp;n=1", "a=1&amp;ks=[redacted]&amp;n=1"},
		{"header in capitals", "AUTHORIZATION:BEARER abc", "AUTHORIZATION:[redacted]"},
		{"header in odd case", "aUtHoRiZaTiOn: kS abc\r\nHost: x", "aUtHoRiZaTiOn: [redacted]\r\nHost: x"},
		{"proxy header", "Proxy-Authorization: Basic YTpi", "Proxy-Authorization: [redacted]"},
		{"scheme with a colon", "sent bearer:abc123def", "sent bearer:[redacted]"},
		{"bearer of a web token", "Bearer " + testWebToken + ", next", "Bearer [redacted], next"},
		{"web token with padding", testWebToken + " ended", "[redacted] ended"},
		{"web token in a path", "/v1/" + testWebToken[:60] + "/x", "/v1/[redacted]/x"},
		{"web token in lines", testWebToken[:30] + "\n" + testWebToken[30:] + "\n", "[redacted]\n"},
		{"web token in a string of JSON in lines", `"` + testWebToken[:30] + `\n` + testWebToken[30:] + `"`, `"[redacted]"`},
		{"token as a login", "https://" + testToken[:40] + "@talk.example/x", "https://[redacted]@talk.example/x"},
		{"token as a password", "wss://ks:" + testToken[:40] + "@talk.example/x", "wss://[redacted]"}, // ks: is a name too
		{"login in a string of JSON", `{"u":"https:\u002f\u002falice:s3cret\u0040talk.example"}`, `{"u":"https:\u002f\u002f[redacted]\u0040talk.example"}`},
		{"base64 of a token", "cookie " + b64(testToken) + ";", "cookie [redacted];"},
		{"base64 of a token in a path", "/x/" + b64(testToken) + "?a=1", "/x/[redacted]?a=1"},
		{"base64 of JSON", "?s=" + b64(`{"n":123,"password":"hunter2"}`) + "&n=1", "?s=" + b64(`{"n":123,"password":"hunter2"}`)[:28] + "[redacted]J9&n=1"},
		{"base64 of base64", "got " + b64(b64(testToken)) + "!", "got [redacted]!"},
		{"base64 of nothing secret", "sound UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=", "sound UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="},
		{"quotes that never close", `"password":"hunter2\",\"n\":1`, `"password":"[redacted]`},
		{"marker and a secret", "ks=[redacted]abc", "ks=[redacted]"},
		{"secret around a marker", testToken[:20] + "[redacted]" + testToken, "[redacted][redacted][redacted]"},
		{"escape cut short", `ks=abc\u00`, `ks=[redacted]\u00`},
		{"escapes that are none", `100% \u12 &#; &; \`, `100% \u12 &#; &; \`},
		{"zero bytes", "ks=\x00\x00", "ks=[redacted]"},
		{"between long texts", long + " ks=abc " + long, long + " ks=[redacted] " + long},
		{"long secret", `{"password":"` + long + `","n":1}`, `{"password":"[redacted]","n":1}`},
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

func TestRedactHostileIsLinear(t *testing.T) {
	var secrets Secrets
	defer secrets.Forget()
	secrets.Add(strings.Repeat("ab", 500), strings.Repeat("a", 1000)+"b")
	for _, piece := range []string{
		`\u005c`, "%25", "&amp;", "&#38;", `\\`, "ZGpKOA", "ZGpKOA\n", "eyJ.", "bearer ", "authorization:", `password:"`, "secrets:[", "secret=token=", "ab", "aaaaaaaaaaaaaaab ", ":", "a:", "1:", "1.",
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
		"hunter2&#47;&#233;":                                                     "[redacted]",
		"see aHVudGVyMi/DqQ== and aHVudGVyMi_Dq":                                 "see aHVudGVyMi/DqQ== and aHVudGVyMi_Dq", // too short for base64
		"see " + base64.StdEncoding.EncodeToString([]byte("a login: hunter2/é")): "see YSBsb2dpbjog[redacted]",
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
	if got := Redact("hunter2/é staple-9"); got != "hunter2/é staple-9" {
		t.Errorf("all forgotten: %q", got)
	}
	if text := err.Error(); strings.Contains(text, "hunter2") {
		t.Errorf("an error outlives the secrets of its session: %q", text)
	}
}

func TestExcerptCutsAfterRedaction(t *testing.T) {
	for limit, want := range map[int]string{0: "", 3: "é k", 13: "é ks=[redacte", 15: "é ks=[redacted]", 50: "é ks=[redacted]"} {
		if got := Excerpt("é ks="+testToken, limit); got != want {
			t.Errorf("%d: %q, want %q", limit, got, want)
		}
	}
}
