package fault

import (
	"net/netip"
	"reflect"
	"strings"
)

// Redacted replaces a secret in a text.
const Redacted = "[redacted]"

// Redact returns s without what must not leave the runtime:
//
//   - the values of every session's [Secrets];
//   - tokens of the service and JSON web tokens, also broken into lines;
//   - credentials after KS, Bearer and Basic, and in header lines;
//   - user and password in URLs, also in turn: and stun: addresses;
//   - the values of names such as token, password and credential, and request
//     variables, in JSON, in query strings and as Go prints them;
//   - hexadecimal secrets, and private network addresses. Loopback addresses are kept:
//     they reveal nothing about a network, and local development needs them.
//
// All of this is also found when it is escaped as in JSON strings, URLs or HTML, in
// several layers, and in base64. Redacting twice changes nothing. The time is linear
// in the length of s.
func Redact(s string) string {
	// The text around a removed secret may be a secret of another kind, such as
	// "ks=[]djJ8…", which the next round finds. Text without secrets takes one round.
	const maxRounds = 8
	for range maxRounds {
		f := finder{source: s}
		f.search(layer{text: s}, 0)
		if f.secret == nil {
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

// finder marks the bytes of source that are secret. Unlike a list of spans, marks need no
// code for sorting and joining, which would add 3 kB (brotli) to each WebAssembly file.
type finder struct {
	source string
	secret []bool // of each byte; nil while none is
}

// mark marks the part of source from one offset to another.
func (f *finder) mark(s span) {
	if f.secret == nil {
		f.secret = make([]bool, len(f.source))
	}
	for i := s.from; i < s.to; i++ {
		f.secret[i] = true
	}
}

// span is the part of a text from one offset to another.
type span struct{ from, to int }

// redacted returns the source with [Redacted] in place of each run of marked bytes.
func (f *finder) redacted() string {
	var out strings.Builder
	done := 0 // the source up to this offset is written
	for i, secret := range f.secret {
		switch {
		case !secret:
		case i > 0 && f.secret[i-1]:
			done = i + 1
		default:
			out.WriteString(f.source[done:i])
			out.WriteString(Redacted)
			done = i + 1
		}
	}
	out.WriteString(f.source[done:])
	return out.String()
}

const (
	maxLayers = 6 // of nested escapes
	maxBase64 = 2 // of nested base64
)

// search marks the secrets of l, and those of the texts that its escapes and its base64
// encode.
func (f *finder) search(l layer, base64s int) {
	for range maxLayers {
		cut := func(from, to int) {
			if from < to && l.text[from:to] != Redacted {
				f.mark(l.span(from, to))
			}
		}
		findKnown(l.text, cut)
		findTokens(l.text, cut)
		findPairs(l.text, cut)
		findLogins(l.text, cut)
		findCredentials(l.text, cut)
		if base64s == 0 { // decoded binary data, such as a picture, may match these by chance
			findHex(l.text, cut)
			findAddresses(l.text, cut)
		}
		if base64s < maxBase64 {
			for inner := range l.base64() {
				f.search(inner, base64s+1)
			}
		}
		var escaped bool
		if l, escaped = l.unescaped(); !escaped {
			return
		}
	}
}

// The beginnings of a token of the service, base64url of "v2|" (protocol
// §1.3), and of a JSON web token, base64url of `{"`.
const (
	tokenPrefix    = "djJ8"
	webTokenPrefix = "eyJ"
	minWebToken    = 20 // characters; no JSON web token is shorter
)

func findTokens(s string, cut func(from, to int)) {
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], tokenPrefix):
			end := run(s, i, isTokenChar)
			if end > i+len(tokenPrefix) {
				end = wrappedEnd(s, end, isTokenChar)
				cut(i, end)
			}
			i = end - 1
		case strings.HasPrefix(s[i:], webTokenPrefix):
			end := run(s, i, isWebTokenChar)
			if end-i >= minWebToken && strings.Contains(s[i:end], ".") {
				end = wrappedEnd(s, end, isWebTokenChar)
				cut(i, i+len(strings.TrimRight(s[i:end], ".")))
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

// findCredentials finds credentials after the name of an authentication scheme. Text
// such as "KS expired" is kept: a credential contains a digit or a symbol, or is long.
func findCredentials(s string, cut func(from, to int)) {
	for i := 0; i < len(s); i++ {
		end := run(s, i, isNameChar)
		if end == i {
			continue
		}
		switch strings.ToLower(s[i:end]) {
		case "ks", "bearer", "basic":
			from := skip(s, end, " \t+\"':=")
			to := run(s, from, func(c byte) bool { return isTokenChar(c) || strings.IndexByte(".~|:", c) >= 0 })
			if from > end && looksSecret(s[from:to]) {
				cut(from, to)
				end = to
			}
		}
		i = end - 1
	}
}

// looksSecret distinguishes a credential from a word.
func looksSecret(s string) bool {
	const short, long = 6, 20
	return len(s) >= long || len(s) >= short && strings.ContainsAny(s, "0123456789_+/=~|.")
}

// findLogins finds user and password in URLs.
func findLogins(s string, cut func(from, to int)) {
	last := strings.LastIndexByte(s, '@')
	searched := 0 // the text up to this offset was searched for @
	for i := 0; i < last; i++ {
		if s[i] != ':' {
			continue
		}
		from := i + 1
		if strings.HasPrefix(s[from:], "//") {
			from += len("//")
		} else if !isTURN(s[:i]) {
			continue
		}
		if from < searched {
			continue
		}
		to := from
		for to < len(s) && strings.IndexByte(" \t\r\n\"'`<>/?#\\&", s[to]) < 0 {
			to++
		}
		if at := strings.LastIndexByte(s[from:to], '@'); at >= 0 {
			cut(from, from+at)
		}
		searched = to
	}
}

// isTURN reports whether a TURN or STUN scheme is at the end of before.
func isTURN(before string) bool {
	for _, scheme := range [...]string{"turn", "turns", "stun", "stuns"} {
		if n := len(before) - len(scheme); n >= 0 && strings.EqualFold(before[n:], scheme) {
			return n == 0 || !isNameChar(before[n-1])
		}
	}
	return false
}

// minHexSecret is the length from which a run of hexadecimal digits is taken
// for a secret: admin secrets have 32 (session-api.md C.1). Ids of the service
// have 24, or are UUIDs with dashes.
const minHexSecret = 32

func findHex(s string, cut func(from, to int)) {
	for i := 0; i < len(s); i++ {
		end := run(s, i, isHex)
		if end-i >= minHexSecret {
			cut(i, end)
		}
		i = max(i, end)
	}
}

// findAddresses finds private and link-local IP addresses.
func findAddresses(s string, cut func(from, to int)) {
	for i := 0; i < len(s); i++ {
		if i > 0 && (isHex(s[i-1]) || s[i] == ':' && s[i-1] == ':') {
			continue // in the middle of a number or of ::
		}
		if n, private := addressAt(s[i:]); n > 0 {
			if private {
				cut(i, i+n)
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

// nameKind is how the value of a name is redacted.
type nameKind uint8

const (
	plainName  nameKind = iota
	tokenName           // also a word of messages: "invalid token: expired"
	secretName          // the value is secret, whatever it looks like
	headerName          // the value reaches to the end of the line
	wholeName           // the value is secret as a whole, objects included
)

// classify finds the names whose values are secrets, in any of the spellings
// access_token, access-token and accessToken.
func classify(name string) nameKind {
	name = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
	switch name {
	case "ks", "jwt":
		return tokenName
	case "pass", "passwd", "pwd", "icepwd", "credentials", "privatekey", "signature":
		return secretName
	case "authorization", "proxyauthorization", "cookie", "setcookie":
		return headerName
	case "requestvars", "secrets":
		return wholeName
	}
	for _, suffix := range [...]string{"secret", "password", "passphrase", "credential", "apikey"} {
		if strings.HasSuffix(name, suffix) {
			return secretName
		}
	}
	if strings.HasSuffix(name, "token") {
		return tokenName
	}
	return plainName
}

// findPairs finds the values of secret names: "ks":"…" in JSON, ks=… in query
// strings and forms, headers, and what Go prints for maps and structs.
func findPairs(s string, cut func(from, to int)) {
	for i := 0; i < len(s); i++ {
		end := run(s, i, isNameChar)
		if end == i {
			continue
		}
		if kind := classify(s[i:end]); kind != plainName {
			if from, to := pairValue(s, end, kind); to > from {
				cut(from, to)
				end = to
			}
		}
		i = end - 1
	}
}

// pairValue finds the value that belongs to a name ending at i. The result is
// empty when no value follows, or a value that need not be removed.
func pairValue(s string, i int, kind nameKind) (from, to int) {
	const quotes = "\"'`"
	quoted := i < len(s) && strings.IndexByte(quotes, s[i]) >= 0
	if quoted {
		i++
	}
	i = skip(s, i, " \t")
	if i == len(s) || s[i] != ':' && s[i] != '=' {
		return 0, 0
	}
	from = skip(s, i+1, " \t\r\n")
	message := s[i] == ':' && !quoted && from > i+1
	switch {
	case from == len(s):
		return 0, 0
	case strings.IndexByte(quotes, s[from]) >= 0:
		return from + 1, closingQuote(s, from)
	case s[from] == '{':
		if kind == wholeName {
			return from, groupEnd(s, from)
		}
		return 0, 0 // findPairs goes through the names in it
	case s[from] == '[' && !strings.HasPrefix(s[from:], Redacted):
		return from, groupEnd(s, from)
	}

	delimiters := " \t\r\n,;&\"'`<>(){}]\\"
	if kind == headerName {
		if strings.HasPrefix(s[from:], Redacted) {
			return 0, 0 // the text after the marker does not belong to this header
		}
		delimiters = "\r\n\"'`"
	}
	for to = from; to < len(s); {
		if strings.HasPrefix(s[to:], Redacted) {
			to += len(Redacted)
		} else if strings.IndexByte(delimiters, s[to]) < 0 {
			to++
		} else {
			break
		}
	}
	switch value := s[from:to]; {
	case value == "null", value == "true", value == "false", value == "undefined":
		return 0, 0
	case message && kind == tokenName && !looksSecret(value), isSecretName(value):
		return 0, 0
	}
	return from, to
}

// isSecretName reports whether what looks like a value is a name with a value of
// its own, as in "wrong secret: password: …".
func isSecretName(value string) bool {
	end := run(value, 0, isNameChar)
	return (value[end:] == ":" || value[end:] == "=") && classify(value[:end]) != plainName
}

// closingQuote returns the end of the string whose opening quote is at i.
func closingQuote(s string, i int) int {
	quote := s[i]
	for i++; i < len(s) && s[i] != quote; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i, len(s))
}

// groupEnd returns the end of the object or array that begins at i, or of s.
// Brackets inside strings don't count.
func groupEnd(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = closingQuote(s, i)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
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
		out[Redact(name)] = redactNamed(classify(name), value, depth-1)
	}
	return out
}

// redactNamed redacts the value of a name.
func redactNamed(kind nameKind, value any, depth int) any {
	switch value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		if kind != wholeName {
			return redactValue(value, depth)
		}
	}
	if kind == plainName {
		return redactValue(value, depth)
	}
	return Redacted
}
