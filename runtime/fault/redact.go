package fault

import (
	"encoding/base64"
	"net/netip"
	"reflect"
	"strings"
)

// Redacted replaces a secret in a text.
const Redacted = "[redacted]"

// Redact returns s without what must not leave the runtime (session §C.1):
//
//   - the values of every session's [Secrets];
//   - tokens of the service and JSON web tokens, also broken into lines;
//   - hexadecimal secrets, and private network addresses. Loopback addresses are kept:
//     they reveal nothing about a network, and local development needs them;
//   - the values of names such as token, password and credential in queries and forms;
//   - request variables, with all that follows them.
//
// All of this is also found when it is escaped as in JSON strings or URLs, in any number of
// layers, and, except for addresses, in base64, also of base64. What else may be a secret, such
// as a password, is found by its name in [RedactValue], but not in a text: docs/security.md has
// a list. Redacting twice changes nothing. The time is linear in the length of s.
func Redact(s string) string {
	// What is beside a removed secret may be one of another kind, such as "10.0.0.1djJ8…",
	// which the next round finds. Text without secrets takes one round.
	const maxRounds = 8
	for range maxRounds {
		f := finder{source: s}
		if f.search(0); f.secret == nil {
			break
		}
		s = f.redacted()
	}
	return s
}

// Excerpt returns the first characters of the redacted text, at most limit. Text is
// redacted before it is cut, because half a secret would not be recognised.
func Excerpt(text string, limit int) string {
	text = Redact(text)
	for i := range text {
		if limit--; limit < 0 {
			return text[:i]
		}
	}
	return text
}

// maxBase64 bounds the nesting of base64.
const maxBase64 = 2

// search marks the secrets of the source, in clear and decoded.
func (f *finder) search(base64s int) {
	f.text = f.source
	f.find(base64s)
	if strings.ContainsAny(f.source, `\%`) {
		f.decode()
		f.find(base64s)
	}
}

// find marks the secrets of the text, and the base64 in which there are any.
func (f *finder) find(base64s int) {
	f.findKnown()
	f.findTokens()
	f.findNamed()
	f.findHex()
	if base64s == 0 { // decoded binary data, such as a picture, may have addresses by chance
		f.findAddresses()
	}
	if base64s < maxBase64 {
		f.findBase64(base64s + 1)
	}
}

// The beginnings of a token of the service, base64url of "v2|" (protocol
// §1.3), and of a JSON web token, base64url of `{"`.
const (
	tokenPrefix    = "djJ8"
	webTokenPrefix = "eyJ"
	minWebToken    = 20 // characters; no JSON web token is shorter
)

func (f *finder) findTokens() {
	s := f.text
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], tokenPrefix):
			end := run(s, i, isTokenChar)
			if end > i+len(tokenPrefix) {
				end = wrappedEnd(s, end, isTokenChar)
				f.mark(i, end)
			}
			i = end - 1
		case strings.HasPrefix(s[i:], webTokenPrefix):
			end := run(s, i, isWebTokenChar)
			if end-i >= minWebToken && strings.Contains(s[i:end], ".") {
				end = wrappedEnd(s, end, isWebTokenChar)
				f.mark(i, i+len(strings.TrimRight(s[i:end], ".")))
			}
			i = end - 1
		}
	}
}

// minWrapped is the minimum length of a run at the beginning of a line that is taken for
// the rest of a token at the end of the line before. Ids of the service, which may be on
// lines of their own, have 24 characters.
const minWrapped = 28

// wrappedEnd returns the end of a token whose first line ends at i.
func wrappedEnd(s string, i int, in func(byte) bool) int {
	for {
		next := skip(s, i, "\r\n")
		if next == i {
			return i
		}
		next = skip(s, next, " \t")
		end := run(s, next, in)
		if end-next < minWrapped || !strings.ContainsAny(s[next:end], "0123456789") {
			return i
		}
		i = end
	}
}

// minHexSecret is the length from which a run of hexadecimal digits is taken
// for a secret: admin secrets have 32 (session §C.1). Ids of the service
// have 24, or are UUIDs with dashes.
const minHexSecret = 32

func (f *finder) findHex() {
	for i := 0; i < len(f.text); i++ {
		end := run(f.text, i, isHex)
		if end-i >= minHexSecret {
			f.mark(i, end)
		}
		i = max(i, end)
	}
}

// findAddresses finds private and link-local IP addresses.
func (f *finder) findAddresses() {
	s := f.text
	for i := 0; i < len(s); i++ {
		if i > 0 && (isHex(s[i-1]) || s[i] == ':' && s[i-1] == ':') {
			continue // in the middle of a number or of ::
		}
		if n, private := addressAt(s[i:]); n > 0 {
			if private {
				f.mark(i, i+n)
			}
			i += n - 1
		}
	}
}

// addressAt returns the length of the IP address that s begins with, 0 if it does
// not, and whether the address is private or link-local.
func addressAt(s string) (n int, private bool) {
	const maxLength = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")
	n = run(s[:min(len(s), maxLength)], 0, func(c byte) bool { return isHex(c) || c == ':' || c == '.' })
	if sep := strings.IndexAny(s[:n], ":."); sep < 0 || sep > len("ffff") {
		return 0, false
	}
	for ; n >= len("::1"); n-- { // a port or a full stop may follow
		if n < len(s) && isHex(s[n]) && isHex(s[n-1]) {
			continue // would cut a number in two
		}
		if address, err := netip.ParseAddr(s[:n]); err == nil {
			address = address.Unmap()
			return n, address.IsPrivate() || address.IsLinkLocalUnicast()
		}
	}
	return 0, false
}

// findNamed finds the values of secret names in queries and forms, and request variables
// wherever they are. Those end where the text ends, because a quote or a bracket in decoded
// text may belong to a value.
func (f *finder) findNamed() {
	const blank = " \t\r\n\"'`"
	s := f.text
	for i := 0; i < len(s); i++ {
		end := run(s, i, isNameChar)
		if end == i {
			continue
		}
		at := skip(s, end, blank)
		if at == len(s) || s[at] != ':' && s[at] != '=' {
			i = end
			continue
		}
		variables := plainName(s[i:end]) == "requestvars"
		parameter := at == end && s[at] == '=' && secretName(s[i:end])
		i = end
		if !variables && !parameter {
			continue
		}
		from, to := skip(s, at+1, blank), len(s)
		if parameter && !(variables && from < to && (s[from] == '{' || s[from] == '[')) {
			to = run(s, from, func(c byte) bool { return strings.IndexByte(" \t\r\n&#\"'`<>", c) < 0 })
		}
		if !strings.HasPrefix(s[from:], Redacted) {
			f.mark(from, to)
			i = to
		}
	}
}

// minBase64 is the minimum length of a run of characters that is decoded as base64: twelve
// bytes, fewer than any token has.
const minBase64 = 16

// standard returns base64 in the standard alphabet in place of that for URLs.
func standard(encoded string) string {
	return strings.ReplaceAll(strings.ReplaceAll(encoded, "-", "+"), "_", "/")
}

// findBase64 finds base64 of a text with a secret, also broken into lines. The beginning of a
// run may be a path or a word before the base64, so that each is decoded from four offsets.
func (f *finder) findBase64(depth int) {
	for i := 0; i < len(f.text); i++ {
		end := run(f.text, i, func(c byte) bool { return isTokenChar(c) && c != '=' || c == '\r' || c == '\n' })
		if end-i >= minBase64 {
			encoded := standard(f.text[i:end])
			for offset := range 4 {
				// Of a run whose length is wrong the text up to its end is returned.
				inner, _ := base64.RawStdEncoding.DecodeString(encoded[offset:])
				hidden := finder{source: string(inner)}
				if hidden.search(depth); hidden.secret != nil {
					f.mark(i+offset, skip(f.text, i+len(strings.TrimRight(f.text[i:end], "\r\n")), "="))
					break
				}
			}
		}
		i = max(i, end)
	}
}

// secretName finds the names whose values are secrets, in any of the spellings
// access_token, access-token and accessToken.
func secretName(name string) bool {
	name = plainName(name)
	switch name {
	case "ks", "jwt", "pass", "passwd", "pwd", "icepwd", "credentials", "privatekey", "signature",
		"authorization", "proxyauthorization", "cookie", "setcookie", "secrets", "requestvars":
		return true
	}
	for _, suffix := range [...]string{"token", "secret", "password", "passphrase", "credential", "apikey"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

func plainName(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
}

func isTokenChar(c byte) bool { return isNameChar(c) || c == '+' || c == '/' || c == '=' }

func isWebTokenChar(c byte) bool { return isNameChar(c) || c == '.' || c == '=' }

func isNameChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// run returns the end of the run of characters from i on that are in a set.
func run(s string, i int, in func(byte) bool) int {
	for i < len(s) && in(s[i]) {
		i++
	}
	return i
}

// skip returns the first index from i on whose byte is not in set.
func skip(s string, i int, set string) int {
	return len(s) - len(strings.TrimLeft(s[i:], set))
}

// RedactValue returns a copy of v, made of JSON's own types, in which every string is
// redacted and the values of secret names are replaced by [Redacted]. So are values,
// lists and maps of other types, because they can't be checked.
func RedactValue(v any) any { return redactValue(v, maxDepth) }

// maxDepth bounds the nesting of the result of RedactValue; deeper parts are replaced.
const maxDepth = 32

func redactValue(v any, depth int) any {
	if depth == 0 {
		return Redacted
	}
	switch v := v.(type) {
	case nil:
		return nil
	case error:
		return Redact(v.Error())
	case []byte:
		return Redact(string(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = redactValue(v[i], depth-1)
		}
		return out
	case map[string]any:
		return redactMembers(v, depth)
	case map[string]string:
		return redactMembers(v, depth)
	}
	switch rv := reflect.ValueOf(v); {
	case rv.Kind() == reflect.String:
		return Redact(rv.String())
	case rv.Kind() >= reflect.Bool && rv.Kind() <= reflect.Float64:
		return v
	}
	return Redacted
}

func redactMembers[T any](members map[string]T, depth int) any {
	out := make(map[string]any, len(members))
	for name, value := range members {
		out[Redact(name)] = redactNamed(name, value, depth-1)
	}
	return out
}

// redactNamed redacts the value of a name.
func redactNamed(name string, value any, depth int) any {
	switch value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		if name = plainName(name); name != "requestvars" && name != "secrets" { // which are secret as a whole
			return redactValue(value, depth)
		}
	}
	if secretName(name) {
		return Redacted
	}
	return redactValue(value, depth)
}
