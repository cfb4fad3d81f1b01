package appinit

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Policy is how addresses are checked (service.md "Regions and base
// addresses" rules 5 and 6). Sessions use it too, for the conversation host and
// the WHEP base (protocol §1.1).
type Policy struct {
	// AllowInsecureTransport turns the refusal of http to a public host into
	// a warning. For tests only.
	AllowInsecureTransport bool `json:"allowInsecureTransport"`
	// Warn, if not nil, gets an insecure_transport warning for every accepted
	// address without encryption.
	Warn func(*fault.Error) `json:"-"`
}

// HTTP checks an https or http address; name is the option it came from. It
// returns the address without one trailing slash, or bad_request or
// insecure_transport. Messages name the host at most: the rest may be secret.
func (p Policy) HTTP(name, address string) (string, error) {
	return p.check(name, address, "https", "http")
}

// Socket is HTTP for the conversation host, which may also be wss or ws
// (protocol §1.2).
func (p Policy) Socket(name, address string) (string, error) {
	return p.check(name, address, "https", "http", "wss", "ws")
}

func (p Policy) check(name, address string, schemes ...string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "", fault.New(fault.BadRequest, name+" must not be empty; leave it out to use the region's address")
	case err != nil:
		return "", fault.New(fault.BadRequest, name+" must be a URL")
	case !slices.Contains(schemes, u.Scheme):
		return "", fault.New(fault.BadRequest, name+" must begin with one of "+strings.Join(schemes, ", "))
	case u.User != nil:
		return "", fault.New(fault.BadRequest, name+" must not have a user or password in it")
	case u.Hostname() == "":
		return "", fault.New(fault.BadRequest, name+" must have a host")
	case strings.ContainsAny(address, "?#"):
		return "", fault.New(fault.BadRequest, name+" must not have a query or fragment: paths are appended to it")
	}
	if u.Scheme == "http" || u.Scheme == "ws" {
		if err := p.insecure(name, u); err != nil {
			return "", err
		}
	}
	return strings.TrimSuffix(address, "/"), nil
}

// insecure rejects an address without encryption, or warns (rule 5).
func (p Policy) insecure(name string, u *url.URL) error {
	what := name + " uses " + u.Scheme + " to "
	var warning string
	switch {
	case fetch.PrivateHost(u.Hostname()):
		warning = what + "a local or private host"
	case p.AllowInsecureTransport:
		warning = what + "the public host " + u.Hostname() + ", which allowInsecureTransport permits; for tests only"
	default:
		return fault.New(fault.InsecureTransport, what+"the public host "+u.Hostname()+"; use "+u.Scheme+"s")
	}
	if p.Warn != nil {
		p.Warn(fault.New(fault.InsecureTransport, warning))
	}
	return nil
}
