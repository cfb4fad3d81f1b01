package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Limits of the length of a conversation in seconds (management-api.md, F.3).
const (
	minConversation = 1
	maxConversation = 3600
)

// maxWidgetTitle is how many characters widgetConfig.initialPage.title may have
// (management-api.md, F.3).
const maxWidgetTitle = 30

// viewAgent is an agent as clients see it.
func viewAgent(r *store.Record[store.AgentRecord]) any {
	return shown(r.Body.AgentFields, map[string]any{"agentId": r.ID, "createdAt": r.CreatedAt, "updatedAt": r.UpdatedAt})
}

// agents are the agents; their create and update are below, because an agent can be written
// together with its intellect.
func (s *server) agents() *resource[store.AgentRecord] {
	return &resource[store.AgentRecord]{
		records: s.Store.AgentRecords(), view: viewAgent, key: "agentId", query: agentQuery, unknown: problem(http.StatusNotFound, "AGENT_NOT_FOUND"),
	}
}

func (s *server) agentRoutes(mux *http.ServeMux) {
	s.manageAgentHost(mux, "/v1/agent/create", withBody(s.agentCreate))
	s.manageAgentHost(mux, "/v1/agent/update", withBody(s.agentUpdate))
	s.agents().reads(s.manageAgentHost, mux, "/v1/agent")
	s.manageAgentHost(mux, "/v1/agent/getEmbedScript", withBody(s.agentEmbed))
}

func (s *server) agentCreate(c *call, body fields) (any, error) {
	if err := body.need("displayName", "intellect"); err != nil {
		return nil, err
	}
	agent, err := s.setAgent(c, store.NewAgent(), body)
	if err != nil {
		return nil, err
	}
	r, err := s.Store.AgentRecords().Create(c.ctx(), c.claims.PartnerID, store.AgentRecord{AgentFields: agent, WidgetID: "w_" + store.UUID()})
	return viewed(r, err, viewAgent)
}

func (s *server) agentUpdate(c *call, body fields) (any, error) {
	id, err := s.agents().takeID(body)
	if err != nil {
		return nil, err
	}
	body.dropReadOnly("createdAt", "updatedAt")
	return s.agents().known(func() (any, error) {
		old, err := s.Store.AgentRecords().Get(c.ctx(), c.claims.PartnerID, id)
		if err != nil {
			return nil, err
		}
		if _, err := s.setAgent(c, old.Body.AgentFields, body); err != nil { // outside the transaction: it reads other records
			return nil, err
		}
		r, err := s.Store.AgentRecords().Update(c.ctx(), c.claims.PartnerID, id, func(a *store.AgentRecord) (err error) {
			a.AgentFields, err = overlay(a.AgentFields, store.NewAgent(), body)
			return err
		})
		return viewed(r, err, viewAgent)
	})
}

// refTo is the field intellect for an intellect of this service.
func refTo(number int64) json.RawMessage {
	return fmt.Appendf(nil, `{"intellectType":%q,"id":%d}`, store.OwnIntellect, number)
}

// takeIntellect reads the field intellect, which names an intellect or has its fields. In
// the first case it leaves the usual form in the body. In the second it removes the field
// and returns the new intellect, which is not stored yet.
func (s *server) takeIntellect(c *call, body fields) (inline *store.Intellect, err error) {
	raw, ok := body["intellect"]
	if !ok {
		return nil, nil
	}
	given := fields{}
	if err := unmarshal(raw, &given); err != nil {
		return nil, invalid("dict_type", "Input should be an object", "intellect")
	}
	if kind := store.OwnIntellect; given["intellectType"] != nil {
		if err := unmarshal(given["intellectType"], &kind); err != nil || kind != store.OwnIntellect {
			return nil, invalid("enum", "Input should be "+store.OwnIntellect, "intellect", "intellectType")
		}
	}
	delete(given, "intellectType")
	for _, key := range []string{"configId", "id"} {
		if number := given[key]; number != nil {
			delete(given, key)
			var id int64
			if json.Unmarshal(number, &id) != nil {
				return nil, invalid("int_type", "Input should be a number", "intellect", key)
			}
			for other := range given { // an id, and fields for it, would be an update
				if other != "id" {
					return nil, invalid("extra_forbidden", "Extra inputs are not permitted", "intellect", other)
				}
			}
			body["intellect"] = refTo(id)
			return nil, nil
		}
	}
	if len(given) == 0 {
		return nil, missing("intellect", "id")
	}
	delete(body, "intellect")
	in, err := s.newIntellect(c, given)
	return &in, err
}

// avatarID matches the id of an avatar.
var avatarID = regexp.MustCompile(`^[0-9a-fA-F]{24}$`)

// setAgent returns an agent with the fields of a body, and checks what it refers to. A new
// intellect in the body is stored when nothing is refused any more, and its number is put in
// its place.
func (s *server) setAgent(c *call, old store.AgentFields, body fields) (store.AgentFields, error) {
	inline, err := s.takeIntellect(c, body)
	if err != nil {
		return old, err
	}
	f, err := overlay(old, store.NewAgent(), body)
	if err == nil {
		_, named := body["intellect"]
		err = s.checkAgent(c, &f, named)
	}
	if err != nil || inline == nil {
		return f, err
	}
	f.Intellect = store.IntellectRef{Type: store.OwnIntellect}
	f.Intellect.ID, err = s.addIntellect(c, *inline)
	body["intellect"] = refTo(f.Intellect.ID)
	return f, err
}

// checkAgent checks an agent, with its intellect if the body names one: a new one is not stored
// yet, and that of an agent may have been deleted since.
func (s *server) checkAgent(c *call, f *store.AgentFields, named bool) error {
	if err := errors.Join(checkName("displayName", f.DisplayName), checkRefs("avatarIds", f.AvatarIDs), checkRefs("adminTags", f.AdminTags)); err != nil {
		return err
	}
	for _, id := range f.AvatarIDs {
		if !avatarID.MatchString(id) {
			return invalid("string_pattern_mismatch", "String should be 24 hexadecimal digits", "avatarIds")
		}
	}
	if f.Intellect.ID <= 0 && named {
		return invalid("greater_than", "Input should be a positive number", "intellect", "id")
	}
	for key, config := range map[string]json.RawMessage{"widgetConfig": f.WidgetConfig, "embedConfig": f.EmbedConfig} {
		if len(config) > 0 && config[0] != '{' {
			return invalid("dict_type", "Input should be an object", key)
		}
	}
	if n := f.MaxConversationLength; n != 0 && (n < minConversation || n > maxConversation) {
		return invalid("less_than_equal", fmt.Sprintf("Input should be from %d to %d", minConversation, maxConversation), "maxConversationLength")
	}
	var widget struct {
		InitialPage struct {
			Title string `json:"title"`
		} `json:"initialPage"`
	}
	if json.Unmarshal(f.WidgetConfig, &widget) == nil && utf8.RuneCountInString(widget.InitialPage.Title) > maxWidgetTitle {
		return invalid("string_too_long", fmt.Sprintf("String should have at most %d characters", maxWidgetTitle), "widgetConfig", "initialPage", "title")
	}
	if named {
		_, err := s.Store.Intellects().Get(c.ctx(), c.claims.PartnerID, strconv.FormatInt(f.Intellect.ID, 10))
		if errors.Is(err, store.ErrNotFound) {
			return exception("AGENT_PARTNER_CONFIG_NOT_FOUND", "AGENT_PARTNER_CONFIG_NOT_FOUND")
		}
		if err != nil {
			return err
		}
	}
	found, err := s.Store.Avatars().Usable(c.ctx(), c.claims.PartnerID, f.AvatarIDs)
	if err != nil {
		return err
	}
	if len(found) < len(f.AvatarIDs) {
		return titled("AVATAR_NOT_FOUND")
	}
	return nil
}

func agentQuery(body *listQuery) (store.Query, error) {
	var q store.Query
	if err := body.ordered(&q); err != nil {
		return q, err
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
	return q, f.done()
}
