package fault

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
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
		{"KS header", "Authorization: KS " + testToken, "Authorization: [redacted]"},
		{"header ends with its line", "Authorization: Bearer abc def\r\nHost: example.com", "Authorization: [redacted]\r\nHost: example.com"},
		{"KS in prose", `sent KS abc123def456`, `sent KS [redacted]`},
		{"bearer", "got Bearer eyJhbGciOi.J9.x_y", "got Bearer [redacted]"},
		{"basic", "basic YWxpY2U6c2VjcmV0", "basic [redacted]"},
		{"schemes as words", "a KS token, basic knowledge, Bearer missing", "a KS token, basic knowledge, Bearer missing"},
		{"header map", `map[Authorization:[KS abc] Accept:[*/*]]`, `map[Authorization:[redacted] Accept:[*/*]]`},
		{"user and password", "dial https://alice:s3cret@talk.example/x", "dial https://[redacted]@talk.example/x"},
		{"user alone", "wss://alice@talk.example", "wss://[redacted]@talk.example"},
		{"at sign in the password", "https://a:p@ss@talk.example/", "https://[redacted]@talk.example/"},
		{"two addresses", "https://a:b@c.example,https://d:e@f.example", "https://[redacted]@c.example,https://[redacted]@f.example"},
		{"at sign in the path", "https://talk.example/@alice", "https://talk.example/@alice"},
		{"mail", "write to alice@talk.example", "write to alice@talk.example"},
		{"turn with login", "turn:u-17:c-17@turn.example:443?transport=udp", "turn:[redacted]@turn.example:443?transport=udp"},
		{"turns without login", "turns:turn.example:443?transport=tcp", "turns:turn.example:443?transport=tcp"},
		{
			"turn credentials",
			`{"urls":["turn:turn.example:80"],"username":"1790000000:u","credential":"hunter2"}`,
			`{"urls":["turn:turn.example:80"],"username":"1790000000:u","credential":"[redacted]"}`,
		},
		{"turn password in prose", "turn password: hunter2 refused", "turn password: [redacted] refused"},
		{"ice password", "a=ice-ufrag:4Xk2\r\na=ice-pwd:by5GZGG1lw+040DWA6hXM5Bz\r\n", "a=ice-ufrag:4Xk2\r\na=ice-pwd:[redacted]\r\n"},
		{"query", "https://x.example/a?ks=abc&format=1&access_token=def#f", "https://x.example/a?ks=[redacted]&format=1&access_token=[redacted]"},
		{"form", "format=1&secret=0a1b&partnerId=7", "format=1&secret=[redacted]&partnerId=7"},
		{"JSON", `{"ks":"abc","n":1,"adminSecret":"x y","note":"ok"}`, `{"ks":"[redacted]","n":1,"adminSecret":"[redacted]","note":"ok"}`},
		{"JSON with spaces", `{ "ks" : "a\"b" , "n" : 1 }`, `{ "ks" : "[redacted]" , "n" : 1 }`},
		{"JSON in JSON", `{"body":"{\"ks\":\"abc\",\"n\":1}"}`, `{"body":"{\"ks\":\"[redacted]\",\"n\":1}"}`},
		{"JSON cut short", `{"password":"abc`, `{"password":"[redacted]`},
		{"null stays", `{"token":null,"ks":""}`, `{"token":null,"ks":""}`},
		{"number goes", `{"password":123456}`, `{"password":[redacted]}`},
		{"Go map", "map[credential:abc user:u]", "map[credential:[redacted] user:u]"},
		{"request variables", `{"request_vars":{"name":"Ann","deep":{"a":"}"}},"n":1}`, `{"request_vars":[redacted],"n":1}`},
		{"request variables cut short", `"requestVars":{"name":"Ann`, `"requestVars":[redacted]`},
		{"names that only resemble", "tasks: 3, risks=4, max_output_tokens: 500", "tasks: 3, risks=4, max_output_tokens: 500"},
		{"prose about tokens", "invalid token: expired", "invalid token: expired"},
		{"prose with a token", "invalid token: a1b2c3d4", "invalid token: [redacted]"},
		{"passwords of one word", "password: hunter2, passwd: swordfish, pwd: Missing1", "password: [redacted], passwd: [redacted], pwd: [redacted]"},
		{"password of many words", "password: correct horse", "password: [redacted] horse"},
		{"password that begins like prose", "password: mustang, secret: isabel, pwd: must-be-set, pass: must.be", "password: [redacted], secret: [redacted], pwd: [redacted], pass: [redacted]"},
		{"password in odd capitals", "password: MUST be, secret: mIssing", "password: [redacted] be, secret: [redacted]"},
		{"password that is not prose", `secret=swordfish secret=required password:required "password": missing password: "must"`, `secret=[redacted] secret=[redacted] password:[redacted] "password": [redacted] password: "[redacted]"`},
		{"password in a struct", "{Password:required Secret:is}", "{Password:[redacted] Secret:[redacted]}"},
		{"header that reads like prose", "Authorization: required", "Authorization: [redacted]"},
		{"request variables in a query", "?request_vars=Ann&n=1", "?request_vars=[redacted]&n=1"},
		{"request variables, encoded", "request_vars: %7B%22name%22%3A%22Ann%22%7D, request_vars: eyJuYW1lIjoiQW5uIn0", "request_vars: [redacted], request_vars: [redacted]"},
		{"request variables, encoded, letters alone", "request_vars: bmFtZQABC request_vars: abcdefghijabcdefghij", "request_vars: [redacted] request_vars: [redacted]"},
		{"request variables, quoted", `request_vars: "Ann", "request_vars": Ann`, `request_vars: "[redacted]", "request_vars": [redacted]`},
		{"request variables, printed by Go", "request_vars: map[name:Ann]", "request_vars: [redacted]]"},
		{"request variables of one name", "request_vars: name=Ann", "request_vars: [redacted]"},
		{"name as a value", "wrong secret: password: hunter2, ks= token=abc, %22ks%22%3Apassword%3A%20hunter2", "wrong secret: password: [redacted], ks= [redacted], %22ks%22%3Apassword%3A%20[redacted]"},
		{"after a percent sign", "100%password=hunter2", "100%password=[redacted]"},
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
		{"percent-encoded query", "next=https%3A%2F%2Fx.example%2Fa%3Fks%3Dabc123%26n%3D1", "next=https%3A%2F%2Fx.example%2Fa%3Fks%3D[redacted]%26n%3D1"},
		{"percent-encoded JSON", "?body=%7B%22ks%22%3A%22abc%22%2C%22n%22%3A1%7D", "?body=%7B%22ks%22%3A%22[redacted]%22%2C%22n%22%3A1%7D"},
		{"half-encoded JSON", `{%22password%22:%22hunter2%22,%22n%22:1}`, `{%22password%22:%22[redacted]%22,%22n%22:1}`},
		{"percent-encoded number", "%22password%22%3a12345%7d", "%22password%22%3a[redacted]%7d"},
		{"percent-encoded header", "h=authorization%3A%20Bearer%20abc%0D%0Ahost", "h=authorization%3A%20[redacted]%0D%0Ahost"},
		{"percent-encoded login", "u=https%3A%2F%2Falice%3As3cret%40talk.example%2Fx", "u=https%3A%2F%2F[redacted]%40talk.example%2Fx"},
		{"percent-encoded turn", "u=turn%3Au-17%3Ac-17%40turn.example", "u=turn%3A[redacted]%40turn.example"},
		{"percent-encoded names that only resemble", "q=tasks%3D3%26token%3Dnull", "q=tasks%3D3%26token%3Dnull"},
		{"JSON with escaped slashes", `{"u":"https:\/\/alice:s3cret@talk.example\/x"}`, `{"u":"https:\/\/[redacted]@talk.example\/x"}`},
		{"token in two lines", testToken[:24] + "\n" + testToken[24:] + " refused", "[redacted] refused"},
		{"token in two lines of JSON", `{"note":"` + testToken[:24] + `\r\n  ` + testToken[24:] + `"}`, `{"note":"[redacted]"}`},
		{"ks in two lines", "ks=" + testToken[:24] + "\r\n" + testToken[24:], "ks=[redacted]"},
		{"line after a token", "near " + testToken + "\nsession 65f0c0ffee65f0c0ffee65f0 ended", "near [redacted]\nsession 65f0c0ffee65f0c0ffee65f0 ended"},
		{"JSON web token", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123.", "got [redacted]."},
		{"prose like a web token", "eyJ is how they begin", "eyJ is how they begin"},
		{"bearer in lower case", "bearer abc123def", "bearer [redacted]"},
		{"nothing to hide", "connect timed out after 10 s (phase whep)", "connect timed out after 10 s (phase whep)"},
		{"broken UTF-8", "\xff\xfe ks=\xff", "\xff\xfe ks=[redacted]"},
		{"empty", "", ""},
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
		"err":             errors.New("ks=abc"),
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
	got, err := json.Marshal(RedactValue(in))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if in["ks"] != testToken {
		t.Error("the original was changed")
	}
}

func TestRedactValueStopsAtDepth(t *testing.T) {
	var deep any = testToken
	for range 10_000 {
		deep = []any{deep}
	}
	text, err := json.Marshal(RedactValue(deep))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("[", maxDepth) + `"[redacted]"` + strings.Repeat("]", maxDepth); string(text) != want {
		t.Errorf("got %s", text)
	}
}

func TestRedactIsLinear(t *testing.T) {
	for _, piece := range []string{"djJ8", "djJ8a\n", "eyJ", "eyJa.", "%22ks%22%3A", "%3A%2F%2F", "%40", "turn%3A", "ks=", `"ks":"`, "turn:", "://", "@", "10.", "fe80:", "a", `\`, "{", "requestVars:{", "KS "} {
		redactsInLinearTime(t, piece, "")
	}
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
