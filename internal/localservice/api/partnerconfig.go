package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	ID        int64    `json:"id"`
	PartnerID int64    `json:"partner_id"`
	Config    fields   `json:"config"`
	Meta      metaView `json:"_meta,omitzero"`
}

func viewPartnerConfig(r *store.Record[store.Intellect]) (partnerConfigView, error) {
	v := partnerConfigView{ID: r.Number(), PartnerID: r.PartnerID, Config: fields{}}
	_ = json.Unmarshal(r.Body.BrainConfig, &v.Config) // one of another form, or none, is not shown
	if v.Config == nil {
		v.Config = fields{}
	}
	for key, value := range map[string]any{"capabilities": r.Body.Capabilities, "knowledge_ids": r.Body.KnowledgeIDs} {
		text, err := json.Marshal(value)
		if err != nil {
			return v, err
		}
		v.Config[key] = text
	}
	return v, nil
}

func (s *server) partnerConfigRoutes(mux *http.ServeMux) {
	s.manage(mux, "/partner-config/get", s.intellects().one(func(c *call, id string) (any, error) {
		if id == "0" {
			return partnerConfigView{PartnerID: c.claims.PartnerID, Config: fields{}}, nil
		}
		r, err := s.Store.Intellects().Get(c.ctx(), c.claims.PartnerID, id)
		if err != nil {
			return nil, err
		}
		return viewPartnerConfig(&r)
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
	var meta metaView
	for _, key := range slices.Sorted(maps.Keys(body.Config)) {
		check, raw := brainKeys[key], body.Config[key]
		if check == nil || string(raw) == "null" {
			continue
		}
		if err := check(raw); err != nil {
			return nil, invalid("value_error", "Input "+err.Error(), "config", key)
		}
		if why := brainUnused[key]; why != "" {
			meta.NoEffect = append(meta.NoEffect, key+": "+why)
		}
	}
	id := strconv.FormatInt(*body.ID, 10)
	old, err := s.Store.Intellects().Get(c.ctx(), c.claims.PartnerID, id)
	if err != nil {
		return nil, err
	}
	next, err := mergeConfig(old.Body, body.Config) // outside the transaction: the check reads other records
	if err == nil {
		err = s.intellects().check(c, &next, body.Config, true)
	}
	if err != nil {
		return nil, err
	}
	r, err := s.Store.Intellects().Update(c.ctx(), c.claims.PartnerID, id, func(in *store.Intellect) (err error) {
		*in, err = mergeConfig(*in, body.Config)
		return err
	})
	if err != nil {
		return nil, err
	}
	v, err := viewPartnerConfig(&r)
	v.Meta = meta
	return v, err
}

// mergeConfig applies a partner configuration to an intellect. Its capabilities are merged
// into the stored ones, other fields of the intellect are replaced.
func mergeConfig(old store.Intellect, config fields) (store.Intellect, error) {
	brain, rest := fields{}, fields{}
	_ = json.Unmarshal(old.BrainConfig, &brain) // one of another form, or none, is replaced
	if brain == nil {
		brain = fields{}
	}
	for key, raw := range config {
		switch {
		case brainKeys[key] == nil:
			rest[key] = raw
		case string(raw) == "null":
			delete(brain, key)
		default:
			brain[key] = raw
		}
	}
	if raw := rest["capabilities"]; raw != nil && string(raw) != "null" {
		var changes map[string]string
		if json.Unmarshal(raw, &changes) != nil {
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
