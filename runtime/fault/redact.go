package fault

import (
	"net/netip"
	"strings"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// tokenPrefix begins every platform token: base64url of "v2|" (wire-protocol
// §1.3).
const tokenPrefix = "djJ8"

// minHexSecret is the length from which a run of hexadecimal digits is taken
// for a secret: admin secrets have 32 (session-api.md C.1). Ids of the service
// have 24, or are UUIDs with dashes.
const minHexSecret = 32

// Redact returns s without what must not leave the runtime: platform tokens,
// also when they are broken into lines, JSON web tokens, credentials behind KS,
// Bearer and Basic, user and password in URLs, the values of secret-looking
// names in JSON, query strings and headers (ks, token, password, credential,
// secret, …), request variables, 32-digit hexadecimal secrets and private
// network addresses. URLs, JSON and headers are recognised when they are
// percent-encoded, too. Loopback addresses stay: they say nothing about a
// network, and local work needs them.
//
// It works on any text, however broken, and redacting twice changes nothing.
func Redact(s string) string {
	// What one rule leaves may be a value for another, "ks=[]djJ8…" for
	// example; a second round settles that. Clean text goes through once.
	for range maxRounds {
		before := s
		s = redactTokens(s) // first, because a pair ends with its line
		s = redactPairs(s)
		s = redactWebTokens(s)
		s = redactUserinfo(s)
		s = redactSchemes(s)
		s = redactHex(s)
		s = redactAddresses(s)
		if s == before {
			break
		}
	}
	return s
}

// maxRounds bounds the work on text made to be difficult.
const maxRounds = 8

// rewriter copies src with pieces replaced by the marker. It allocates only
// when there is something to replace.
type rewriter struct {
	src  string
	done int // src before done has been copied
	out  strings.Builder
}

// cut replaces src[from:to], unless it already is the marker.
func (r *rewriter) cut(from, to int) {
	if r.src[from:to] == Redacted {
		return
	}
	r.out.WriteString(r.src[r.done:from])
	r.out.WriteString(Redacted)
	r.done = to
}

func (r *rewriter) String() string {
	if r.done == 0 && r.out.Len() == 0 {
		return r.src
	}
	r.out.WriteString(r.src[r.done:])
	return r.out.String()
}

// redactTokens removes everything that begins like a platform token.
func redactTokens(s string) string {
	r := rewriter{src: s}
	for i := 0; ; {
		at := strings.Index(s[i:], tokenPrefix)
		if at < 0 {
			return r.String()
		}
		start := i + at
		i = start + len(tokenPrefix)
		end := tokenEnd(s, i)
		if end > i {
			end = wrappedEnd(s, end)
			r.cut(start, end)
			i = end
		}
	}
}

// minWrapped is the length from which the beginning of a line is taken for the
// rest of a token that fills the end of the line before: ids of the service are
// 24 characters and stand alone.
const minWrapped = 28

// wrappedEnd returns where a token ends whose first line ends at i.
func wrappedEnd(s string, i int) int {
	for {
		next := i
		for _, part := range [...]string{"\r", `\r`, "\n", `\n`} {
			if strings.HasPrefix(s[next:], part) {
				next += len(part)
			}
		}
		if next == i {
			return i
		}
		next = skip(s, next, " \t")
		end := tokenEnd(s, next)
		if end-next < minWrapped || !strings.ContainsAny(s[next:end], "0123456789") {
			return i
		}
		i = end
	}
}

func tokenEnd(s string, i int) int {
	for i < len(s) && isTokenChar(s[i]) {
		i++
	}
	return i
}

// webTokenPrefix begins every JSON web token: base64url of `{"`.
const webTokenPrefix = "eyJ"

// minWebToken is shorter than any JSON web token can be.
const minWebToken = 20

// redactWebTokens removes JSON web tokens, which the endpoint of a brain or a
// gateway may use.
func redactWebTokens(s string) string {
	r := rewriter{src: s}
	for i := 0; ; {
		at := strings.Index(s[i:], webTokenPrefix)
		if at < 0 {
			return r.String()
		}
		start := i + at
		end := start
		for end < len(s) && (isNameChar(s[end]) || s[end] == '.') {
			end++
		}
		i = end
		end = start + len(strings.TrimRight(s[start:end], "."))
		if end-start >= minWebToken && strings.Contains(s[start:end], ".") {
			r.cut(start, end)
		}
	}
}

// redactSchemes removes the credentials that follow an authentication scheme.
// Prose such as "KS expired" stays: a credential has a digit or a symbol in
// it, or is long.
func redactSchemes(s string) string {
	r := rewriter{src: s}
	for i := 0; i < len(s); {
		if !isNameChar(s[i]) {
			i++
			continue
		}
		end := nameEnd(s, i)
		switch strings.ToLower(s[i:end]) {
		case "ks", "bearer", "basic":
			start := skip(s, end, " \t+\"'")
			stop := start
			for stop < len(s) && (isTokenChar(s[stop]) || strings.IndexByte(".~|:", s[stop]) >= 0) {
				stop++
			}
			if start > end && looksSecret(s[start:stop]) {
				r.cut(start, stop)
				end = stop
			}
		}
		i = end
	}
	return r.String()
}

// redactUserinfo removes user and password from URLs, also from turn: and
// stun: addresses, which have no slashes, and from percent-encoded ones.
func redactUserinfo(s string) string {
	if strings.IndexByte(s, '@') < 0 && !strings.Contains(s, encodedAt) {
		return s
	}
	r := rewriter{src: s}
	searched := 0 // there is no @ between here and the next delimiter
	for i := 0; i < len(s); i++ {
		start, encoded := authority(s, i)
		if start < 0 || start < searched {
			continue
		}
		at, end := userinfo(s, start, encoded)
		if at < 0 {
			searched = end
			continue
		}
		if at > start {
			r.cut(start, at)
		}
		i = at
	}
	return r.String()
}

// authority returns where the part of an address begins that may have a login,
// if the colon after its scheme is at i; -1 if there is none.
func authority(s string, i int) (start int, encoded bool) {
	colon := i + 1
	switch {
	case s[i] == ':':
	case s[i] == '%' && foldPrefix(s[i:], "%3A"):
		colon, encoded = i+len("%3A"), true
	default:
		return -1, false
	}
	// Some writers of JSON escape each slash.
	for _, slashes := range [...]string{"//", `\/\/`, "%2F%2F"} {
		if foldPrefix(s[colon:], slashes) {
			return colon + len(slashes), encoded
		}
	}
	if isTurnScheme(s[:i]) {
		return colon, encoded
	}
	return -1, false
}

const encodedAt = "%40"

// userinfo returns where the authority that begins at start ends, and its last
// @; -1 when it has none.
func userinfo(s string, start int, encoded bool) (at, end int) {
	at = -1
	for end = start; end < len(s) && strings.IndexByte(" \t\r\n\"'`<>/?#\\&", s[end]) < 0; end++ {
		switch {
		case s[end] == '@':
			at = end
		case encoded && s[end] == '%' && strings.HasPrefix(s[end:], encodedAt):
			at = end
		case encoded && hasAnyPrefix(s[end:], "%2F", "%3F", "%23", "%22", "%20", "%26"):
			return at, end
		}
	}
	return at, end
}

// foldPrefix is strings.HasPrefix for percent-encoded text, whose digits have
// two spellings.
func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if foldPrefix(s, p) {
			return true
		}
	}
	return false
}

func isTurnScheme(before string) bool {
	for _, scheme := range [...]string{"turn", "turns", "stun", "stuns"} {
		if n := len(before) - len(scheme); n >= 0 && strings.EqualFold(before[n:], scheme) {
			return n == 0 || !isNameChar(before[n-1])
		}
	}
	return false
}

// redactHex removes long runs of hexadecimal digits.
func redactHex(s string) string {
	r := rewriter{src: s}
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && isHex(s[end]) {
			end++
		}
		if end-i >= minHexSecret {
			r.cut(i, end)
		}
		i = end + 1
	}
	return r.String()
}

// redactAddresses removes private and link-local IP addresses.
func redactAddresses(s string) string {
	r := rewriter{src: s}
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && isAddressChar(s[end]) {
			end++
		}
		for i < end {
			if n, private := addressPrefix(s[i:end]); n > 0 {
				if private {
					r.cut(i, i+n)
				}
				i += n
				continue
			}
			// The run may have something before the address, like
			// "src:10.0.0.1" read as "c:10.0.0.1": try again behind its next
			// separator.
			next := strings.IndexAny(s[i:end], ":.")
			if next < 0 {
				break
			}
			i += next + 1
		}
		i = end + 1
	}
	return r.String()
}

const (
	maxIPv4 = len("255.255.255.255")
	maxIPv6 = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")
)

// addressPrefix returns the length of the IP address at the beginning of run,
// which may go on with a port or a full stop, and whether it is private or
// link-local. The length is 0 when there is no address.
func addressPrefix(run string) (n int, private bool) {
	sep := strings.IndexAny(run, ":.")
	if sep < 0 || sep > len("ffff") {
		return 0, false
	}
	limit := maxIPv6
	if run[sep] == '.' {
		limit = maxIPv4
	}
	for n = min(len(run), limit); n >= len("::1"); n-- {
		if n < len(run) && isHex(run[n]) && isHex(run[n-1]) {
			continue // would cut a group in two
		}
		if addr, err := netip.ParseAddr(run[:n]); err == nil {
			addr = addr.Unmap()
			return n, addr.IsPrivate() || addr.IsLinkLocalUnicast()
		}
	}
	return 0, false
}

// looksSecret tells a credential from a word of prose.
func looksSecret(s string) bool {
	const short, long = 6, 20
	return len(s) >= long || len(s) >= short && strings.ContainsAny(s, "0123456789_+/=~|.")
}

func isTokenChar(c byte) bool {
	return isNameChar(c) || c == '+' || c == '/' || c == '=' || c == '%'
}

func isNameChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isAddressChar(c byte) bool { return isHex(c) || c == ':' || c == '.' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// nameEnd returns the end of the run of name characters that begins at i.
func nameEnd(s string, i int) int {
	for i < len(s) && isNameChar(s[i]) {
		i++
	}
	return i
}

// skip returns the first index from i on whose byte is not in set.
func skip(s string, i int, set string) int {
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}
