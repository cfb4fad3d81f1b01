package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// maxPrompt is how long the prompt of an insight may be, in characters.
const maxPrompt = 8000

// noInsights is why an insight setting has no effect.
const noInsights = "this service has no model, which finds the values; they are not_available in thread_metadata.insights"

// insightView is an insight setting as clients see it.
type insightView struct {
	ID string `json:"id"`
	store.InsightSetting
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func viewInsight(r *store.Record[store.InsightSetting]) insightView {
	return insightView{r.ID, r.Body, r.CreatedAt, r.UpdatedAt}
}

func (s *server) insightRoutes(mux *http.ServeMux) {
	s.manageAgentHost(mux, "/v1/insight-settings/create", withBody(s.insightCreate))
	s.manageAgentHost(mux, "/v1/insight-settings/update", withBody(s.insightUpdate))
	s.manageAgentHost(mux, "/v1/insight-settings/list", withBody(s.insightList))
	s.manageAgentHost(mux, "/v1/insight-settings/get", withID(func(c *call, id string) (any, error) {
		r, err := s.Store.InsightSettings().Get(c.ctx(), c.claims.PartnerID, id)
		return viewed(r, err, viewInsight)
	}))
	s.manageAgentHost(mux, "/v1/insight-settings/delete", withID(s.insightDelete))
}

func (s *server) insightCreate(c *call, body fields) (any, error) {
	if err := body.need("key", "title", "prompt", "valueType"); err != nil {
		return nil, err
	}
	setting, err := setInsight(store.InsightSetting{}, body)
	if err != nil {
		return nil, err
	}
	r, err := s.Store.InsightSettings().Create(c.ctx(), c.claims.PartnerID, setting)
	return s.insightStored(r, err)
}

// insightStored is the reply of a write, which says that without a model the setting has no
// effect.
func (s *server) insightStored(r store.Record[store.InsightSetting], err error) (any, error) {
	reply, err := viewed(r, err, viewInsight)
	if s.Model != nil {
		return reply, err
	}
	return withoutEffect(reply, err, noInsights)
}

func (s *server) insightUpdate(c *call, body fields) (any, error) {
	var id string
	if err := body.take("id", &id); err != nil {
		return nil, err
	}
	r, err := s.Store.InsightSettings().Update(c.ctx(), c.claims.PartnerID, id, func(setting *store.InsightSetting) (err error) {
		*setting, err = setInsight(*setting, body)
		return err
	})
	return s.insightStored(r, err)
}

func setInsight(old store.InsightSetting, body fields) (store.InsightSetting, error) {
	setting, err := overlay(old, store.InsightSetting{}, body)
	if err != nil {
		return setting, err
	}
	if setting.Status == "" {
		setting.Status = store.StatusActive
	}
	switch {
	case !variableName.MatchString(setting.Key) || len(setting.Key) > maxName:
		return setting, invalid("string_pattern_mismatch", "The key must be a name of letters, digits and underscores", "key")
	case strings.TrimSpace(setting.Prompt) == "" || utf8.RuneCountInString(setting.Prompt) > maxPrompt:
		return setting, invalid("value_error", fmt.Sprintf("The prompt must have 1 to %d characters", maxPrompt), "prompt")
	}
	if err := cmp.Or(oneOf("valueType", string(setting.ValueType), texts(store.ValueTypes())...), checkName("title", setting.Title)); err != nil {
		return setting, err
	}
	return setting, oneOf("status", setting.Status, store.StatusActive, store.StatusDisabled)
}

// texts makes plain strings of a list of named ones.
func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

func (s *server) insightList(c *call, body listQuery) (any, error) {
	q, err := statusQuery(&body, "statusEqual", "keyEqual")
	if err != nil {
		return nil, err
	}
	list, total, err := s.Store.InsightSettings().List(c.ctx(), c.claims.PartnerID, q)
	return listed(list, total, err, viewInsight)
}

// statusQuery reads the query of a list of the agent host whose filter compares fields of
// the records: each key is the name of a field followed by "Equal".
func statusQuery(body *listQuery, keys ...string) (store.Query, error) {
	q := store.Query{Order: store.Order(body.OrderBy)}
	if !q.Order.Valid() {
		return q, invalid("enum", "Input should be +createdAt, -createdAt, +updatedAt or -updatedAt", "orderBy")
	}
	if err := body.offset(&q); err != nil {
		return q, err
	}
	f := newFilter(body.Filter, "")
	q.IDs = narrow(f.list("idsIn"), f.text("idEquals"))
	for _, key := range keys {
		if value := f.optional(key); value != nil {
			q.Where = append(q.Where, store.Equals(strings.TrimSuffix(key, "Equal"), *value))
		}
	}
	return q, f.done()
}

// insightDelete refuses to delete a setting to which a rule refers: a client must remove it
// from the rules first (service.md, Insight settings).
func (s *server) insightDelete(c *call, id string) (any, error) {
	err := s.Store.DeleteInsightSetting(c.ctx(), c.claims.PartnerID, id)
	return idRequest{id}, err
}
