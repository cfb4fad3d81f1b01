package appinit

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// DefaultRegion is used when no region is named.
const DefaultRegion = "nvp1"

// Service is one of the four HTTP services of a deployment.
type Service string

// The services, by the names of the options that give their addresses.
const (
	Agentic   Service = "agenticUrl"   // management and appInit
	Genie     Service = "genieUrl"     // the conversation host
	OVP       Service = "ovpUrl"       // the session API
	Messaging Service = "messagingUrl" // e-mail templates
)

// region is one row of protocol §1.1. A service without an address is not
// offered there.
type region struct {
	code  string
	bases map[Service]string
}

var regions = [...]region{
	{DefaultRegion, map[Service]string{
		Agentic:   "https://api.avatar.us.kaltura.ai/v1",
		Genie:     "https://genie.nvp1.ovp.kaltura.com",
		OVP:       "https://www.kaltura.com/api_v3",
		Messaging: "https://messaging.nvp1.ovp.kaltura.com/api/v1",
	}},
	{"frp2", map[Service]string{
		Agentic: "https://api.avatar.eu.kaltura.ai/v1",
		Genie:   "https://genie.frp2.ovp.kaltura.com",
		OVP:     "https://api.frp2.ovp.kaltura.com/api_v3",
	}},
}

// Regions returns the supported region codes, the default first.
func Regions() []string {
	var codes []string
	for _, r := range regions {
		codes = append(codes, r.code)
	}
	return codes
}

// Config selects the region and the addresses of the services (service.md "Regions and
// base addresses" rules 1 and 6).
//
// A nil address means the region's own, a nil region means nvp1; an empty string is an
// error, because it is probably an unset variable. Config has no admin secret, which
// belongs to a server and is sent to the session API only (rule 4).
type Config struct {
	// Region picks the default addresses: nvp1 (US, the default) or frp2 (EU).
	Region *string `json:"region" ts:"Region"`
	// AgenticURL is the address of the agent service.
	AgenticURL *string `json:"agenticUrl" ts:"string | URL"`
	// GenieURL is the address of the conversation service.
	GenieURL *string `json:"genieUrl" ts:"string | URL"`
	// OVPURL is the address of the session service, which exchanges a widget id for a
	// token.
	OVPURL *string `json:"ovpUrl" ts:"string | URL"`
	// MessagingURL is the address of the service for e-mail templates. Pages do not
	// call it.
	MessagingURL *string `json:"messagingUrl" ts:"-"`
	Policy
}

// Addresses are the base addresses of a deployment, checked and without a
// trailing slash.
type Addresses struct {
	region string
	bases  map[Service]string
}

// Resolve applies rules 1 to 3, 5 and 6 of service.md "Regions and base
// addresses". The error is a *fault.Error: bad_request for an unknown region or
// a bad address, insecure_transport for http to a public host.
func (c Config) Resolve() (Addresses, error) {
	code := DefaultRegion
	if c.Region != nil {
		code = *c.Region
	}
	i := slices.IndexFunc(regions[:], func(r region) bool { return r.code == code })
	if i < 0 {
		// Not the default region, because data must stay in the chosen one.
		return Addresses{}, fault.New(fault.BadRequest, "unknown region; supported are "+strings.Join(Regions(), ", "))
	}
	a := Addresses{region: code, bases: make(map[Service]string)}
	for _, o := range [...]struct {
		service Service
		given   *string
	}{{Agentic, c.AgenticURL}, {Genie, c.GenieURL}, {OVP, c.OVPURL}, {Messaging, c.MessagingURL}} {
		base := regions[i].bases[o.service]
		if o.given != nil {
			checked, err := c.Policy.HTTP(string(o.service), *o.given)
			if err != nil {
				return Addresses{}, err
			}
			base = checked
		}
		a.bases[o.service] = base
	}
	return a, nil
}

// Base returns the base address of s, or region_unavailable when the region
// doesn't offer it and none was given (rule 3).
func (a Addresses) Base(s Service) (string, error) {
	base := a.bases[s]
	if base == "" {
		return "", fault.New(fault.RegionUnavailable, "region "+a.region+" has no "+string(s)+"; give one to use it")
	}
	return base, nil
}

// GenieBase returns the address of the conversation host only. Errors are those of Resolve
// and Base.
func (c Config) GenieBase() (string, error) {
	addresses, err := c.Resolve()
	if err != nil {
		return "", err
	}
	return addresses.Base(Genie)
}
