package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// RateLimits are how many turns a user may have; nil is no change.
type RateLimits struct{ PerMinute, PerHour *int }

// WebSearch configures the search of the web.
type WebSearch struct {
	IncludeDomains []string `json:"include_domains,omitempty"`
	// IncludeAnswer is basic or advanced; "" is none.
	IncludeAnswer string `json:"-"`
	// Depth is basic, advanced or ultra-fast, the default.
	Depth string `json:"search_depth"`
	// MaxResults is how many results the model reads; default 5.
	MaxResults int `json:"max_results"`
}

// MarshalJSON writes the form of the service: include_answer is false or a text.
func (w WebSearch) MarshalJSON() ([]byte, error) {
	type plain WebSearch
	var answer any = false
	if w.IncludeAnswer != "" {
		answer = w.IncludeAnswer
	}
	w.Depth, w.MaxResults = cmp.Or(w.Depth, searchDepths[2]), cmp.Or(w.MaxResults, defaultResults)
	return json.Marshal(struct {
		plain
		IncludeAnswer any `json:"include_answer"`
	}{plain(w), answer})
}

const defaultResults = 5

var (
	searchDepths  = []string{"basic", "advanced", "ultra-fast"}
	searchAnswers = []string{"", "basic", "advanced"}
)

// BrainConfig is a change of the brain configuration of an intellect (management-api.md,
// F.6); zero fields stay as they are.
type BrainConfig struct {
	// AgentLLM, AgentFastLLM and AgentAvatarLLM are models: of turns, of turns with the
	// model type fast, and of live conversations.
	AgentLLM, AgentFastLLM, AgentAvatarLLM string
	// RateLimits apply to each user, AnonymousRateLimits to each visitor without a user id;
	// 0 blocks those.
	RateLimits, AnonymousRateLimits RateLimits
	RunQuotaCheck                   *bool
	WebSearch                       *WebSearch
}

// wire returns the configuration as it is sent. Error: bad_request.
func (b *BrainConfig) wire() (map[string]any, error) {
	config := map[string]any{}
	for key, text := range map[string]string{"agent_llm": b.AgentLLM, "agent_fast_llm": b.AgentFastLLM, "agent_avatar_llm": b.AgentAvatarLLM} {
		if text == "" {
			continue
		}
		if strings.TrimSpace(text) == "" {
			return nil, badRequest(key + " must not be blank")
		}
		config[key] = text
	}
	for key, n := range map[string]*int{
		"rate_limit_per_minute": b.RateLimits.PerMinute, "rate_limit_per_hour": b.RateLimits.PerHour,
		"anonymous_rate_limit_per_minute": b.AnonymousRateLimits.PerMinute, "anonymous_rate_limit_per_hour": b.AnonymousRateLimits.PerHour,
	} {
		if n == nil {
			continue
		}
		if *n < 0 {
			return nil, badRequest(key + " must be an integer that is not negative")
		}
		config[key] = *n
	}
	if b.RunQuotaCheck != nil {
		config["run_quota_check"] = *b.RunQuotaCheck
	}
	if w := b.WebSearch; w != nil {
		switch {
		case w.Depth != "" && !slices.Contains(searchDepths, w.Depth):
			return nil, oneOf("WebSearch.Depth", w.Depth, searchDepths)
		case !slices.Contains(searchAnswers, w.IncludeAnswer):
			return nil, badRequest("WebSearch.IncludeAnswer must be basic, advanced or empty")
		case w.MaxResults < 0:
			return nil, badRequest("WebSearch.MaxResults must be a positive integer")
		}
		config["web_search_config"] = w
	}
	if len(config) == 0 {
		return nil, badRequest("the brain configuration changes nothing; set at least one field")
	}
	return config, nil
}

// ConfigResult says what became of a change of a partner configuration, as brain
// configurations and the links of knowledge are.
type ConfigResult struct {
	// Applied is false when the account may not use these calls, or the service does not
	// have them; Code and Reason then say which, "forbidden" or "not_deployed".
	Applied bool
	Code    string
	Reason  string
	// SentKeys are the keys of a brain configuration that were written, sorted.
	SentKeys []string
}

var (
	partnerConfigGet    = endpoint{at: appinit.Genie, path: "/partner-config/get", again: harmless}
	partnerConfigUpdate = endpoint{at: appinit.Genie, path: "/partner-config/update", again: harmless}
)

// partnerConfig is a reply of the calls about partner configurations.
type partnerConfig struct {
	Config map[string]json.RawMessage `json:"config"`
}

// SetBrainConfig merges b into the brain configuration of an intellect. A service that
// refuses these calls (403) or does not have them (404) is not an error, see
// [ConfigResult]. Error: bad_request for a value that the service would refuse, and for a
// configuration without a field.
func (i Intellects) SetBrainConfig(ctx context.Context, id int64, b BrainConfig) (ConfigResult, error) {
	config, err := b.wire()
	if err := cmp.Or(positive("the id of an intellect", id), err); err != nil {
		return ConfigResult{}, err
	}
	available, err := i.BrainConfigAvailable(ctx)
	if err != nil || !available.Applied {
		return available, err
	}
	err = i.c.post(ctx, partnerConfigUpdate, map[string]any{"id": id, "config": config}, nil)
	result, err := unavailable(err)
	if err == nil && result.Applied {
		result.SentKeys = slices.Sorted(maps.Keys(config))
	}
	return result, err
}

// GetBrainConfig reads the partner configuration of an intellect, by the keys of the
// service; a key that is missing has the service's default.
func (i Intellects) GetBrainConfig(ctx context.Context, id int64) (map[string]json.RawMessage, error) {
	if err := positive("the id of an intellect", id); err != nil {
		return nil, err
	}
	var reply partnerConfig
	err := i.c.post(ctx, partnerConfigGet, withID(id), &reply)
	return reply.Config, err
}

// BrainConfigAvailable reports whether the account may use brain configurations, as
// Applied.
func (i Intellects) BrainConfigAvailable(ctx context.Context) (ConfigResult, error) {
	return unavailable(i.c.post(ctx, partnerConfigGet, withID(int64(0)), nil))
}

// unavailable turns the refusals of a service without these calls into a result.
func unavailable(err error) (ConfigResult, error) {
	switch {
	case err == nil:
		return ConfigResult{Applied: true}, nil
	case errors.Is(err, fault.Forbidden):
		return ConfigResult{Code: "forbidden", Reason: "the account may not change partner configurations"}, nil
	case errors.Is(err, fault.NotFound):
		return ConfigResult{Code: "not_deployed", Reason: "the service has no partner configurations, or not this intellect"}, nil
	}
	return ConfigResult{}, err
}
