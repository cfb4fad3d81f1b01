package management

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// States of a capability.
const (
	CapabilityOn  = "on"
	CapabilityOff = "off"
	// CapabilityDisabled is off, and no conversation can switch it on.
	CapabilityDisabled = "disabled"
)

// Sources of the state of a capability, in [ResolvedCapability].
const (
	FromRequest       = "request"
	FromPartnerConfig = "partner_config"
	FromEnv           = "env"
	FromDefault       = "default"
	FromVeto          = "disabled_veto"
	FromWebSearch     = "web_search_config"
)

const webSearch = "use_web_search"

// CapabilityLayers are what a capability's state is resolved from; a later layer replaces
// an earlier one.
type CapabilityLayers struct {
	Env           string `json:"env,omitempty"`
	PartnerConfig string `json:"partnerConfig,omitempty"` // stored with the intellect
	Request       string `json:"request,omitempty"`       // of a conversation
	Default       string `json:"default"`
}

// ResolvedCapability is the state of a capability in a conversation.
type ResolvedCapability struct {
	// State is on or off.
	State string `json:"state"`
	// From is one of the sources.
	From string `json:"resolvedFrom"`
	// Vetoed means that a layer disables it, so that it is off whatever the others are.
	Vetoed bool `json:"vetoed"`
	// Inferred means that the service decides by itself too: use_web_search is also on when
	// the brain configuration has a web search.
	Inferred bool             `json:"inferred,omitempty"`
	Layers   CapabilityLayers `json:"layers"`
}

// CapabilityInput is what [ResolveCapabilities] resolves.
type CapabilityInput struct {
	Env, PartnerConfig, Request map[string]string
	// WebSearch means that the brain configuration has a web_search_config.
	WebSearch bool
}

// ResolveCapabilities returns the state of every capability by its name
// (management-api.md, F.6, "resolveCapabilities"). It sends nothing. Errors:
// unknown_capability and bad_request for what Request has and capabilities can't have;
// unknown names in the stored layers are ignored.
func ResolveCapabilities(in CapabilityInput) (map[string]ResolvedCapability, error) {
	if err := checkCapabilities(in.Request); err != nil {
		return nil, err
	}
	all := map[string]ResolvedCapability{}
	for _, name := range converse.Capabilities() {
		c := ResolvedCapability{State: CapabilityOn, From: FromDefault, Layers: CapabilityLayers{
			Env: in.Env[name], PartnerConfig: in.PartnerConfig[name], Request: in.Request[name], Default: CapabilityOn,
		}}
		if !converse.OnByDefault(name) {
			c.State, c.Layers.Default = CapabilityOff, CapabilityOff
		}
		if name == webSearch {
			c.Inferred = true
			if in.WebSearch {
				c.State, c.From = CapabilityOn, FromWebSearch
			}
		}
		for _, layer := range []struct{ from, state string }{
			{FromEnv, c.Layers.Env}, {FromPartnerConfig, c.Layers.PartnerConfig}, {FromRequest, c.Layers.Request},
		} {
			switch layer.state {
			case CapabilityDisabled:
				c.Vetoed = true
			case CapabilityOn, CapabilityOff:
				c.State, c.From = layer.state, layer.from
			}
		}
		if c.Vetoed {
			c.State, c.From, c.Inferred = CapabilityOff, FromVeto, false
		}
		all[name] = c
	}
	return all, nil
}

// Capabilities reads the stored capabilities of an intellect.
func (i Intellects) Capabilities(ctx context.Context, id int64) (map[string]string, error) {
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if intellect.Capabilities == nil {
		return map[string]string{}, nil
	}
	return intellect.Capabilities, nil
}

// ResolveCapabilities reads an intellect and returns the state that each capability has in
// a conversation that asks for request, which may be nil. It writes nothing. Errors are
// those of [ResolveCapabilities] and Get.
func (i Intellects) ResolveCapabilities(ctx context.Context, id int64, request map[string]string) (map[string]ResolvedCapability, error) {
	if err := checkCapabilities(request); err != nil {
		return nil, err
	}
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return ResolveCapabilities(CapabilityInput{PartnerConfig: intellect.Capabilities, Request: request})
}
