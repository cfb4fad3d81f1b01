package fault

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// testToken looks like a token of the service: base64url of
// "v2|5501|" and bytes that mean nothing.
const testToken = "djJ8NTUwMXxq3-Zr0k_9XbQ7mJtW5vHs8dLwPz2aYc6Ne1FgRiUoTA4=="

func TestRedact(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"token", "token " + testToken + " was refused", "token [redacted] was refused"},
		{"token in a path", "/x/" + testToken + "?a=1", "/x/[redacted]?a=1"},
		{"token cut short", "near djJ8NTUw…", "near [redacted]…"},
		{"prefix alone", "tokens start with djJ8.", "tokens start with djJ8."},
		{"schemes as words", "a KS token, basic knowledge, Bearer missing", "a KS token, basic knowledge, Bearer missing"},
		{"at sign in the path", "https://talk.example/@alice", "https://talk.example/@alice"},
		{"mail", "write to alice@talk.example", "write to alice@talk.example"},
		{"turns without login", "turns:turn.example:443?transport=tcp", "turns:turn.example:443?transport=tcp"},
		{"null stays", `{"token":null,"ks":""}`, `{"token":null,"ks":""}`},
		{"names that only resemble", "tasks: 3, risks=4, max_output_tokens: 500", "tasks: 3, risks=4, max_output_tokens: 500"},
		{"prose about tokens", "invalid token: expired", "invalid token: expired"},
		{"request variables in a query", "?request_vars=Ann&n=1", "?request_vars=[redacted]&n=1"},
		{"hexadecimal secret", "secret 0123456789abcdef0123456789ABCDEF here", "secret [redacted] here"},
		{"24 digits are an id", "avatar 65f0c0ffee65f0c0ffee65f0", "avatar 65f0c0ffee65f0c0ffee65f0"},
		{"UUID", "thread 123e4567-e89b-12d3-a456-426614174000", "thread 123e4567-e89b-12d3-a456-426614174000"},
		{"private IPv4", "dial 10.1.2.3:443, 172.31.0.1, 192.168.0.9.", "dial [redacted]:443, [redacted], [redacted]."},
		{"link-local", "169.254.1.1 and fe80::1%eth0", "[redacted] and [redacted]%eth0"},
		{"unique local IPv6", "[fd12:3456::1]:443", "[[redacted]]:443"},
		{"mapped IPv4", "::ffff:10.0.0.1 ::ffff:a00:1", "[redacted] [redacted]"},
		{"behind a name", "src:10.0.0.1", "src:[redacted]"},
		{"public addresses", "8.8.8.8 172.32.0.1 2001:db8::1 1.2.3", "8.8.8.8 172.32.0.1 2001:db8::1 1.2.3"},
		{"loopback", "http://127.0.0.1:8080 [::1]:80", "http://127.0.0.1:8080 [::1]:80"},
		{"token in two lines", testToken[:24] + "\n" + testToken[24:] + " refused", "[redacted] refused"},
		{"token in two lines of JSON", `{"note":"` + testToken[:24] + `\r\n  ` + testToken[24:] + `"}`, `{"note":"[redacted]"}`},
		{"ks in two lines", "ks=" + testToken[:24] + "\r\n" + testToken[24:], "ks=[redacted]"},
		{"line after a token", "near " + testToken + "\nsession 65f0c0ffee65f0c0ffee65f0 ended", "near [redacted]\nsession 65f0c0ffee65f0c0ffee65f0 ended"},
		{"JSON web token", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123.", "got [redacted]."},
		{"prose like a web token", "eyJ is how they begin", "eyJ is how they begin"},
		{"nothing to hide", "connect timed out after 10 s (phase whep)", "connect timed out after 10 s (phase whep)"},
		{"empty", "", ""},
		{"KS header", "Authorization: KS " + testToken, "Authorization: KS [redacted]"},
		{"JSON", `{"ks":"` + testToken + `","n":1}`, `{"ks":"[redacted]","n":1}`},
		{"query", "https://x.example/a?ks=abc&format=1&access_token=def#f", "https://x.example/a?ks=[redacted]&format=1&access_token=[redacted]#f"},
		{"form", "format=1&secret=0a1b&partnerId=7", "format=1&secret=[redacted]&partnerId=7"},
		{"percent-encoded query", "next=https%3A%2F%2Fx.example%2Fa%3Fks%3Dabc123%26n%3D1", "next=https%3A%2F%2Fx.example%2Fa%3Fks%3D[redacted]%26n%3D1"},
		{"token after half an escape", "%0" + testToken + ".", "%0[redacted]."},
		{"JSON in JSON", `{"body":"{\"ks\":\"` + testToken + `\",\"n\":1}"}`, `{"body":"{\"ks\":\"[redacted]\",\"n\":1}"}`},
		{"percent-encoded JSON", "?body=%7B%22ks%22%3A%22" + url.QueryEscape(testToken) + "%22%7D", "?body=%7B%22ks%22%3A%22[redacted]%22%7D"},
		{"hexadecimal secret after a percent sign", "100%0123456789abcdef0123456789abcdef.", "100%[redacted]."},
		{"hexadecimal secret after a backslash", `\u0123456789abcdef0123456789abcdef.`, `\u[redacted].`},
		{"request variables", `{"n":1,"request_vars":{"name":"Ann","deep":{"a":"}"}},"m":1}`, `{"n":1,"request_vars":[redacted]`},
		{"request variables cut short", `"requestVars":{"name":"Ann`, `"requestVars":[redacted]`},
		{"request variables with spaces", "request-vars = map[name:Ann Lee]", "request-vars = [redacted]"},
		{"request variables, encoded", "a=1&request_vars=%7B%22name%22%3A%22Ann%22%7D&n=1", "a=1&request_vars=[redacted]"},
		{"request variables, quoted", `request_vars: "Ann", n: 1`, `request_vars: "[redacted]`},
		{"request variables as a word", "request_vars are missing", "request_vars are missing"},
		{"request variables, removed", "request_vars: [redacted], n: 1", "request_vars: [redacted], n: 1"},
		{"broken UTF-8", "\xff\xfe " + testToken + "\xff", "\xff\xfe [redacted]\xff"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Redact(test.in)
			if got != test.want {
				t.Errorf("Redact(%q)\n got %q\nwant %q", test.in, got, test.want)
			}
			if again := Redact(got); again != got {
				t.Errorf("redacting twice changed %q to %q", got, again)
			}
		})
	}
}

func TestRedactValue(t *testing.T) {
	in := map[string]any{
		"ks":              testToken,
		"userMessage":     "my token is " + testToken,
		"count":           3.0,
		"token":           nil,
		"password":        12345.0,
		"turnCredentials": map[string]any{"username": "u-17", "credential": "hunter2", "expiry": 1.0},
		"tokens":          []any{testToken, "fine"},
		"apiKey":          []any{"a", "b"},
		"request_vars":    map[string]any{"name": "Ann"},
		"nested":          []any{map[string]any{"secret": "s", "ok": true}},
		"raw":             json.RawMessage(`{"ks":"abc","n":1}`),
		"typed":           struct{ Password, Name string }{"p", "n"},
		"headers":         map[string]string{"Authorization": "KS abc", "Accept": "*/*"},
		"err":             errors.New("ks=" + testToken),
		"unprintable":     make(chan int),
		testToken:         "as a name",
	}
	want := `{"[redacted]":"as a name","apiKey":"[redacted]","count":3,"err":"ks=[redacted]",` +
		`"headers":{"Accept":"*/*","Authorization":"[redacted]"},"ks":"[redacted]",` +
		`"nested":[{"ok":true,"secret":"[redacted]"}],"password":"[redacted]",` +
		`"raw":"[redacted]","request_vars":"[redacted]","token":null,` +
		`"tokens":["[redacted]","fine"],` +
		`"turnCredentials":{"credential":"[redacted]","expiry":1,"username":"u-17"},` +
		`"typed":"[redacted]","unprintable":"[redacted]",` +
		`"userMessage":"my token is [redacted]"}`
	got := must.Get(json.Marshal(RedactValue(in)))(t)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	expect.Equal(t, in["ks"], testToken, "the original was changed")
}

func TestRedactValueStopsAtDepth(t *testing.T) {
	var deep any = testToken
	for range 10_000 {
		deep = []any{deep}
	}
	text := must.Get(json.Marshal(RedactValue(deep)))(t)
	expect.Equal(t, string(text), strings.Repeat("[", maxDepth)+`"[redacted]"`+strings.Repeat("]", maxDepth), "got %s", text)
}

// redactsInLinearTime compares one long text that repeats a piece with eight texts of
// an eighth of its length: a quadratic pass takes eight times as long for it. What a busy
// machine adds is left out by measuring again.
func redactsInLinearTime(t *testing.T, piece, end string) {
	t.Helper()
	const length, parts, most = 1 << 16, 8, 4
	measure := func(n int) time.Duration {
		in := strings.Repeat(piece, length/n/len(piece)) + end
		start := time.Now()
		for range n {
			if out := Redact(in); len(out) > 4*len(in) {
				t.Errorf("%q: %d bytes became %d", piece, len(in), len(out))
			}
		}
		return time.Since(start)
	}
	split, whole := time.Hour, time.Hour
	for range 10 {
		split, whole = min(split, measure(parts)), min(whole, measure(1))
		if whole <= most*max(split, time.Millisecond) { // a page's clock is coarse
			return
		}
	}
	t.Errorf("%q: %d bytes take %v, and %v in %d parts", piece, length, whole, split, parts)
}
