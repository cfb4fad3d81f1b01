package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
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

// agents are the agents, which can be written together with their intellects.
func (s *server) agents() *resource[store.AgentRecord] {
	return &resource[store.AgentRecord]{
		records: store.AgentRecords(s.Store), view: viewAgent, key: "agentId", needs: []string{"displayName", "intellect"}, set: setAgent, check: s.checkAgent,
		blank: func(*call) store.AgentRecord {
			return store.AgentRecord{AgentFields: store.NewAgent(), WidgetID: "w_" + store.UUID()}
		},
		query: agentQuery, unknown: problem(http.StatusNotFound, "AGENT_NOT_FOUND"),
	}
}

// refTo is the field intellect for an intellect of this service.
func refTo(number int64) json.RawMessage {
	return fmt.Appendf(nil, `{"intellectType":%q,"id":%d}`, store.OwnIntellect, number)
}

// intellectOf reads the field intellect, which names an intellect or has the fields of a new
// one. It returns the usual form of the former, the latter, or neither if the body has no such
// field.
func intellectOf(body fields) (ref json.RawMessage, inline fields, err error) {
	raw, ok := body["intellect"]
	if !ok {
		return nil, nil, nil
	}
	given := fields{}
	if err := unmarshal(raw, &given); err != nil {
		return nil, nil, invalid("dict_type", "Input should be an object", "intellect")
	}
	if kind := store.OwnIntellect; given["intellectType"] != nil {
		if err := unmarshal(given["intellectType"], &kind); err != nil || kind != store.OwnIntellect {
			return nil, nil, invalid("enum", "Input should be "+store.OwnIntellect, "intellect", "intellectType")
		}
	}
	delete(given, "intellectType")
	for _, key := range []string{"configId", "id"} {
		if number := given[key]; number != nil {
			delete(given, key)
			var id int64
			if json.Unmarshal(number, &id) != nil {
				return nil, nil, invalid("int_type", "Input should be a number", "intellect", key)
			}
			for other := range given { // an id, and fields for it, would be an update
				if other != "id" {
					return nil, nil, invalid("extra_forbidden", "Extra inputs are not permitted", "intellect", other)
				}
			}
			return refTo(id), nil, nil
		}
	}
	if len(given) == 0 {
		return nil, nil, missing("intellect", "id")
	}
	return nil, given, nil
}

// setAgent applies fields to an agent. A new intellect in the body is left to checkAgent.
func setAgent(old store.AgentRecord, body fields) (store.AgentRecord, error) {
	ref, inline, err := intellectOf(body)
	if err != nil {
		return old, err
	}
	body = maps.Clone(body)
	if ref != nil {
		body["intellect"] = ref
	}
	if inline != nil {
		delete(body, "intellect")
	}
	old.AgentFields, err = overlay(old.AgentFields, store.NewAgent(), body)
	return old, err
}

// avatarID matches the id of an avatar.
var avatarID = regexp.MustCompile(`^[0-9a-fA-F]{24}$`)

// checkAgent checks an agent. A new intellect in the body is stored with the agent.
func (s *server) checkAgent(c *call, a, _ *store.AgentRecord, body fields) error {
	if err := checkAgentFields(&a.AgentFields); err != nil {
		return err
	}
	ref, inline, err := intellectOf(body)
	if err != nil {
		return err
	}
	if ref != nil && a.Intellect.ID <= 0 {
		return invalid("greater_than", "Input should be a positive number", "intellect", "id")
	}
	if inline == nil {
		return nil
	}
	made, err := s.intellects().new(c, inline)
	a.NewIntellect = &made
	return err
}

func checkAgentFields(f *store.AgentFields) error {
	if err := cmp.Or(checkName("displayName", f.DisplayName), checkRefs("avatarIds", f.AvatarIDs), checkRefs("adminTags", f.AdminTags)); err != nil {
		return err
	}
	for _, id := range f.AvatarIDs {
		if !avatarID.MatchString(id) {
			return invalid("string_pattern_mismatch", "String should be 24 hexadecimal digits", "avatarIds")
		}
	}
	for key, config := range map[string]json.RawMessage{"widgetConfig": f.WidgetConfig, "embedConfig": f.EmbedConfig} {
		if len(config) > 0 && config[0] != '{' {
			return invalid("dict_type", "Input should be an object", key)
		}
	}
	if n := f.MaxConversationLength; n != 0 && (n < minConversation || n > maxConversation) {
		return outOfRange(minConversation, maxConversation, "maxConversationLength")
	}
	var widget struct {
		InitialPage struct {
			Title string `json:"title"`
		} `json:"initialPage"`
	}
	if json.Unmarshal(f.WidgetConfig, &widget) == nil && utf8.RuneCountInString(widget.InitialPage.Title) > maxWidgetTitle {
		return tooLong(maxWidgetTitle, "widgetConfig", "initialPage", "title")
	}
	return nil
}

func agentQuery(body *listQuery) (q store.Query, err error) {
	var id *string
	err = cmp.Or(body.ordered(&q), readFilter(body.Filter, "", conditions{
		"agentId": &id, "adminTagsIn": where(&q, "adminTags", store.HasAny), "adminTagsNotIn": where(&q, "adminTags", store.HasNone),
		"searchValue": where(&q, "displayName", store.Contains),
	}))
	q.IDs = narrow(q.IDs, id)
	return q, err
}
