package media

import (
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/internal/fetch"
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

// privateHost adds to [fetch.PrivateHost] every name with letters of other
// alphabets: browsers map their digits and dots to ASCII first, so such a name
// may be a private address. Its ASCII form is accepted.
func privateHost(host string) bool {
	return strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }) || fetch.PrivateHost(host)
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
