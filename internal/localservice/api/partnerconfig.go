package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// brainKeys are the keys of a brain configuration (management-api.md, F.6, and indexer of
// F.9), each with what is wrong with a value, nil if nothing is. Of the other keys of a
// partner configuration, each is a field of the intellect.
var brainKeys = map[string]func(json.RawMessage) error{
	"agent_llm": brainText, "agent_fast_llm": brainText, "agent_avatar_llm": brainText,
	"rate_limit_per_minute": brainCount, "rate_limit_per_hour": brainCount,
	"anonymous_rate_limit_per_minute": brainCount, "anonymous_rate_limit_per_hour": brainCount,
	"run_quota_check": brainValue[bool]("a boolean"), "web_search_config": brainValue[fields]("an object"),
	"indexer": brainValue[fields]("an object"),
}

// brainUnused are those keys that have no effect in this service.
var brainUnused = map[string]string{
	"agent_fast_llm":    "agent_llm is used for every turn",
	"agent_avatar_llm":  "agent_llm is used for every turn",
	"run_quota_check":   "there is no quota",
	"web_search_config": "nothing searches the web",
}

func brainValue[T any](what string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var value T
		if json.Unmarshal(raw, &value) != nil {
			return fmt.Errorf("should be %s", what)
		}
		return nil
	}
}

func brainText(raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) != nil || strings.TrimSpace(text) == "" {
		return fmt.Errorf("should be a text that is not blank")
	}
	return nil
}

func brainCount(raw json.RawMessage) error {
	var n int
	if json.Unmarshal(raw, &n) != nil || n < 0 {
		return fmt.Errorf("should be an integer that is not negative")
	}
	return nil
}

// partnerConfigView is an intellect as partner-config/get and update show it. Id 0 is the
// partner's own configuration, which is empty.
type partnerConfigView struct {
	ID        int64  `json:"id"`
	PartnerID int64  `json:"partner_id"`
	Config    fields `json:"config"`
}

func viewPartnerConfig(r *store.Record[store.Intellect]) any {
	config := shown(storedConfig(&r.Body), map[string]any{"capabilities": r.Body.Capabilities, "knowledge_ids": r.Body.KnowledgeIDs})
	return partnerConfigView{r.Number(), r.PartnerID, config}
}

// storedConfig is the brain configuration of an intellect; one of another form, or none, is empty.
func storedConfig(in *store.Intellect) fields {
	config := fields{}
	if json.Unmarshal(in.BrainConfig, &config) != nil || config == nil {
		return fields{}
	}
	return config
}

func (s *server) partnerConfigRoutes(mux routes) {
	s.manage(mux, "/partner-config/get", s.intellects().one(func(c *call, id string) (any, error) {
		if id == "0" {
			return partnerConfigView{PartnerID: c.claims.PartnerID, Config: fields{}}, nil
		}
		r, err := store.Intellects(s.Store).Get(c.ctx(), c.claims.PartnerID, id)
		return viewed(r, err, viewPartnerConfig)
	}))
	s.manage(mux, "/partner-config/update", withBody(s.partnerConfigUpdate))
}

// partnerConfigUpdate merges a configuration into that of an intellect; null removes a key.
func (s *server) partnerConfigUpdate(c *call, body struct {
	ID     *int64 `json:"id"`
	Config fields `json:"config"`
},
) (any, error) {
	switch {
	case body.ID == nil:
		return nil, missing("id")
	case len(body.Config) == 0:
		return nil, missing("config")
	}
	k := s.intellects()
	k.set, k.view, k.noEffect = mergeConfig, viewPartnerConfig, unusedOfConfig
	return k.change(c, strconv.FormatInt(*body.ID, 10), body.Config)
}

// unusedOfConfig says what of a partner configuration has no effect here.
func unusedOfConfig(_ *store.Intellect, config fields) (why []string) {
	for _, key := range slices.Sorted(maps.Keys(brainUnused)) {
		if config.has(key) {
			why = append(why, key+": "+brainUnused[key])
		}
	}
	return why
}

// mergeConfig applies a partner configuration to an intellect. Its capabilities are merged
// into the stored ones, other fields of the intellect are replaced.
func mergeConfig(old store.Intellect, config fields) (store.Intellect, error) {
	brain, rest := storedConfig(&old), fields{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		check, raw := brainKeys[key], config[key]
		switch {
		case check == nil:
			rest[key] = raw
		case !config.has(key):
			delete(brain, key)
		default:
			if err := check(raw); err != nil {
				return old, invalid("value_error", "Input "+err.Error(), "config", key)
			}
			brain[key] = raw
		}
	}
	if rest.has("capabilities") {
		var changes map[string]string
		if json.Unmarshal(rest["capabilities"], &changes) != nil {
			return old, invalid("type_error", "Input is of the wrong type", "config", "capabilities")
		}
		all := map[string]string{}
		maps.Copy(all, old.Capabilities)
		maps.Copy(all, changes)
		text, err := json.Marshal(all)
		if err != nil {
			return old, err
		}
		rest["capabilities"] = text
	}
	text, err := json.Marshal(brain)
	if err != nil {
		return old, err
	}
	rest["brain_config"] = text
	return setIntellect(old, rest)
}
