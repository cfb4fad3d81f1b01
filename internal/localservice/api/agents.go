package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// agentFields are the fields of an agent that a partner can set (service.md, Agent). The
// last three are not in that document.
type agentFields struct {
	DisplayName    string          `json:"displayName"`
	Intellect      intellectRef    `json:"intellect"`
	AvatarIDs      []string        `json:"avatarIds"` // empty for a voice without a picture
	AdminTags      []string        `json:"adminTags"`
	ScreenShare    screenShare     `json:"screenShare"`
	SpeechLanguage string          `json:"speechLanguage"` // of speech recognition, "" for the intellect's
	WidgetConfig   json.RawMessage `json:"widgetConfig,omitempty"`
	EmbedConfig    json.RawMessage `json:"embedConfig,omitempty"`
}

type intellectRef struct {
	ID int64 `json:"id"`
}

type screenShare struct {
	Enabled bool `json:"enabled"`
}

// agentView is an agent as clients see it.
type agentView struct {
	ID string `json:"agentId"`
	agentFields
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func fieldsOfAgent(a *store.AgentRecord) agentFields {
	return agentFields{
		DisplayName: a.DisplayName, Intellect: intellectRef{a.IntellectID}, AvatarIDs: a.AvatarIDs, AdminTags: a.AdminTags,
		ScreenShare: screenShare{a.ScreenShare}, SpeechLanguage: a.SpeechLanguage,
		WidgetConfig: a.WidgetConfig, EmbedConfig: a.EmbedConfig,
	}
}

func viewAgent(r *store.Record[store.AgentRecord]) agentView {
	return agentView{r.ID, fieldsOfAgent(&r.Body), r.CreatedAt, r.UpdatedAt}
}

func (s *server) agentRoutes(mux *http.ServeMux) {
	s.manageAgentHost(mux, "/v1/agent/create", withBody(s.agentCreate))
	s.manageAgentHost(mux, "/v1/agent/list", withBody(s.agentList))
	s.manageAgentHost(mux, "/v1/agent/get", withBody(func(c *call, body agentRequest) (any, error) {
		return body.about(func(id string) (any, error) {
			r, err := s.Store.AgentRecords().Get(c.ctx(), c.claims.PartnerID, id)
			return viewed(r, err, viewAgent)
		})
	}))
	s.manageAgentHost(mux, "/v1/agent/update", withBody(s.agentUpdate))
	s.manageAgentHost(mux, "/v1/agent/delete", withBody(func(c *call, body agentRequest) (any, error) {
		return body.about(func(id string) (any, error) {
			return agentRequest{id}, s.Store.AgentRecords().Delete(c.ctx(), c.claims.PartnerID, id)
		})
	}))
}

// agentRequest is the body of calls about one agent.
type agentRequest struct {
	ID string `json:"agentId"`
}

// about refuses a body without an id, and reports an unknown agent as AGENT_NOT_FOUND.
func (b agentRequest) about(handle func(id string) (any, error)) (any, error) {
	if b.ID == "" {
		return nil, missing("agentId")
	}
	reply, err := handle(b.ID)
	if errors.Is(err, store.ErrNotFound) {
		err = problem(http.StatusNotFound, "AGENT_NOT_FOUND")
	}
	return reply, err
}

func (s *server) agentCreate(c *call, body fields) (any, error) {
	if err := body.need("displayName", "intellect", "avatarIds"); err != nil {
		return nil, err
	}
	record := store.AgentRecord{WidgetID: "w_" + store.UUID()}
	if err := s.setAgent(c, &record, body); err != nil {
		return nil, err
	}
	r, err := s.Store.AgentRecords().Create(c.ctx(), c.claims.PartnerID, record)
	return viewed(r, err, viewAgent)
}

func (s *server) agentUpdate(c *call, body fields) (any, error) {
	var id string
	if err := body.take("agentId", &id); err != nil {
		return nil, err
	}
	return agentRequest{id}.about(func(id string) (any, error) {
		old, err := s.Store.AgentRecords().Get(c.ctx(), c.claims.PartnerID, id)
		if err != nil {
			return nil, err
		}
		if err := s.setAgent(c, &old.Body, body); err != nil { // outside the transaction: it reads other records
			return nil, err
		}
		r, err := s.Store.AgentRecords().Update(c.ctx(), c.claims.PartnerID, id, func(a *store.AgentRecord) error {
			set, err := overlay(fieldsOfAgent(a), blankAgent(), body)
			if err == nil {
				set.store(a)
			}
			return err
		})
		return viewed(r, err, viewAgent)
	})
}

func blankAgent() agentFields { return agentFields{AvatarIDs: []string{}, AdminTags: []string{}} }

func (f *agentFields) store(a *store.AgentRecord) {
	a.DisplayName, a.IntellectID, a.AvatarIDs, a.AdminTags = f.DisplayName, f.Intellect.ID, f.AvatarIDs, f.AdminTags
	a.ScreenShare, a.SpeechLanguage, a.WidgetConfig, a.EmbedConfig = f.ScreenShare.Enabled, f.SpeechLanguage, f.WidgetConfig, f.EmbedConfig
}

// avatarID matches the id of an avatar.
var avatarID = regexp.MustCompile(`^[0-9a-fA-F]{24}$`)

// setAgent changes an agent and checks what it refers to.
func (s *server) setAgent(c *call, a *store.AgentRecord, body fields) error {
	f, err := overlay(fieldsOfAgent(a), blankAgent(), body)
	if err != nil {
		return err
	}
	if err := errors.Join(checkName("displayName", f.DisplayName), checkRefs("avatarIds", f.AvatarIDs), checkRefs("adminTags", f.AdminTags)); err != nil {
		return err
	}
	for _, id := range f.AvatarIDs {
		if !avatarID.MatchString(id) {
			return invalid("string_pattern_mismatch", "String should be 24 hexadecimal digits", "avatarIds")
		}
	}
	if f.Intellect.ID <= 0 {
		return invalid("greater_than", "Input should be a positive number", "intellect", "id")
	}
	for key, config := range map[string]json.RawMessage{"widgetConfig": f.WidgetConfig, "embedConfig": f.EmbedConfig} {
		if len(config) > 0 && config[0] != '{' {
			return invalid("dict_type", "Input should be an object", key)
		}
	}
	_, err = s.Store.Intellects().Get(c.ctx(), c.claims.PartnerID, strconv.FormatInt(f.Intellect.ID, 10))
	if errors.Is(err, store.ErrNotFound) {
		return exception("AGENT_PARTNER_CONFIG_NOT_FOUND", "AGENT_PARTNER_CONFIG_NOT_FOUND")
	}
	if err != nil {
		return err
	}
	found, err := s.Store.Avatars().Usable(c.ctx(), c.claims.PartnerID, f.AvatarIDs)
	if err != nil {
		return err
	}
	if len(found) < len(f.AvatarIDs) {
		return titled("AVATAR_NOT_FOUND")
	}
	f.store(a)
	return nil
}

func (s *server) agentList(c *call, body listQuery) (any, error) {
	var q store.Query
	if err := body.offset(&q); err != nil {
		return nil, err
	}
	if q.Order = store.Order(body.OrderBy); !q.Order.Valid() {
		return nil, invalid("enum", "Input should be +createdAt, -createdAt, +updatedAt or -updatedAt", "orderBy")
	}
	f := newFilter(body.Filter, "")
	if id := f.text("agentId"); id != "" {
		q.IDs = []string{id}
	}
	if tags := f.list("adminTagsIn"); tags != nil {
		q.Where = append(q.Where, store.HasAny("adminTags", tags))
	}
	if tags := f.list("adminTagsNotIn"); tags != nil {
		q.Where = append(q.Where, store.HasNone("adminTags", tags))
	}
	if text := f.text("searchValue"); text != "" {
		q.Where = append(q.Where, store.Contains("displayName", text))
	}
	if err := f.done(); err != nil {
		return nil, err
	}
	list, total, err := s.Store.AgentRecords().List(c.ctx(), c.claims.PartnerID, q)
	return listed(list, total, err, viewAgent)
}
