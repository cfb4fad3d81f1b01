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
// credentials behind KS, Bearer and Basic, user and password in URLs, the
// values of secret-looking names in JSON, query strings and headers (ks,
// token, password, credential, secret, …), request variables, 32-digit
// hexadecimal secrets and private network addresses. Loopback addresses stay:
// they say nothing about a network, and local work needs them.
//
// It works on any text, however broken, and redacting twice changes nothing.
func Redact(s string) string {
	s = redactPairs(s)
	s = redactTokens(s)
	s = redactUserinfo(s)
	s = redactSchemes(s)
	s = redactHex(s)
	return redactAddresses(s)
}

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
		end := i
		for end < len(s) && isTokenChar(s[end]) {
			end++
		}
		if end > i {
			r.cut(start, end)
			i = end
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
// stun: addresses, which have no slashes.
func redactUserinfo(s string) string {
	if strings.IndexByte(s, '@') < 0 {
		return s
	}
	r := rewriter{src: s}
	for i := 0; i < len(s); i++ {
		if s[i] != ':' {
			continue
		}
		start := i + 1
		if strings.HasPrefix(s[start:], "//") {
			start += 2
		} else if !isTurnScheme(s[:i]) {
			continue
		}
		if end := userinfoEnd(s, start); end > start {
			r.cut(start, end)
			i = end
		} else {
			i = start - 1
		}
	}
	return r.String()
}

// userinfoEnd returns where the @ after the userinfo stands that begins at
// start, or a smaller number when there is none.
func userinfoEnd(s string, start int) int {
	end, at := start, -1
	for end < len(s) && strings.IndexByte(" \t\r\n\"'`<>/?#\\", s[end]) < 0 {
		if s[end] == '@' {
			at = end
		}
		end++
	}
	return at
}

func isTurnScheme(before string) bool {
	for _, scheme := range [...]string{"turn", "turns", "stun", "stuns"} {
		if n := len(before) - len(scheme); n >= 0 && strings.EqualFold(before[n:], scheme) {
			return true
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
		for end < len(s) && (isHex(s[end]) || s[end] == ':' || s[end] == '.') {
			end++
		}
		if end == i {
			i++
			continue
		}
		if n := privatePrefix(s[i:end]); n > 0 {
			r.cut(i, i+n)
			i += n
			continue
		}
		// The run may have something before the address, like "src:10.0.0.1"
		// read as "c:10.0.0.1": try again behind its next separator.
		next := strings.IndexAny(s[i:end], ":.")
		if next < 0 {
			i = end
		} else {
			i += next + 1
		}
	}
	return r.String()
}

// maxAddress is the length of the longest text form of an IP address.
const maxAddress = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")

// privatePrefix returns the length of the private address at the beginning of
// run, which may go on with a port or a full stop; 0 when there is none.
func privatePrefix(run string) int {
	n := min(len(run), maxAddress)
	for ; n >= len("fc::"); n-- {
		if n < len(run) && isHex(run[n]) && isHex(run[n-1]) {
			continue // would cut a group in two
		}
		addr, err := netip.ParseAddr(run[:n])
		if err != nil {
			continue
		}
		addr = addr.Unmap()
		if addr.IsPrivate() || addr.IsLinkLocalUnicast() {
			return n
		}
		return 0
	}
	return 0
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
