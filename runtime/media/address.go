package media

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// addressRules say which addresses the media server may have.
type addressRules struct {
	allowPrivate  bool // development
	allowInsecure bool
}

// check refuses an address before anything is sent to it (wire-protocol §6.7).
// The text alone decides; nothing is looked up.
func (r addressRules) check(address string) *fault.Error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fault.New(fault.WHEPFailed, "the media server's address is not an http or https URL").
			InPhase(fault.PhaseWHEP).WithRetryable(false)
	}
	switch private := privateHost(u.Hostname()); {
	case private && !r.allowPrivate:
		return fault.New(fault.WHEPPrivateIP, "").InPhase(fault.PhaseWHEP)
	case !private && u.Scheme == "http" && !r.allowInsecure:
		return fault.New(fault.InsecureTransport, "the media server's address uses http to a public host").InPhase(fault.PhaseWHEP)
	}
	return nil
}

// privateHost reports whether a host is private or local however it is spelled.
// Browsers map other alphabets' digits and dots to ours before they look; a name
// that has any isn't judged but refused, its ASCII form is accepted.
func privateHost(host string) bool {
	if strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }) {
		return true
	}
	if dotted, ok := dottedIPv4(host); ok {
		host = dotted
	}
	return appinit.PrivateHost(host)
}

// dottedIPv4 reads the forms of an IPv4 address that browsers accept: one to
// four numbers, decimal, octal (0…) or hexadecimal (0x…), the last of which
// fills the rest. 2130706433, 0x7f.1 and 0177.0.0.1 are all 127.0.0.1.
func dottedIPv4(host string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return "", false
	}
	var address uint64
	for i, part := range parts {
		n, ok := ipv4Number(part)
		if !ok {
			return "", false
		}
		if i < len(parts)-1 {
			if n > 0xFF {
				return "", false
			}
			address |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return "", false
		}
		address |= n
	}
	octets := make([]string, 4)
	for i := range octets {
		octets[i] = strconv.FormatUint(address>>(8*(3-i))&0xFF, 10)
	}
	return strings.Join(octets, "."), true
}

func ipv4Number(s string) (uint64, bool) {
	base := 10
	switch lower := strings.ToLower(s); {
	case lower == "0x":
		return 0, true // as browsers have it
	case strings.HasPrefix(lower, "0x"):
		base, s = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	n, err := strconv.ParseUint(s, base, 40) // more than any part may have
	return n, err == nil
}

// releaseURL is where the viewer that a reply's Location names is released
// (wire-protocol §6.5); "" when there is nothing to release.
func releaseURL(subscribed, location string) string {
	if location == "" || isAbsolute(location) {
		return location
	}
	if i := strings.Index(location, "/viewer/"); i >= 0 {
		base, _, _ := strings.Cut(subscribed, "#")
		base, _, _ = strings.Cut(base, "?")
		return strings.TrimRight(base, "/") + location[i:]
	}
	base, err := url.Parse(subscribed)
	if err != nil {
		return location
	}
	resolved, err := base.Parse(location)
	if err != nil {
		return location
	}
	return resolved.String()
}

// isAbsolute reports whether s begins with "scheme://".
func isAbsolute(s string) bool {
	scheme, _, found := strings.Cut(s, "://")
	if !found || scheme == "" {
		return false
	}
	for i, c := range []byte(strings.ToLower(scheme)) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return true
}
