package api

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/localservice/lifecycle"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Bounds of a rule.
const (
	maxConditions = 50
	maxActions    = 20
)

// statuses are the states of rules and of what they refer to, eventTypes what triggers a rule.
var (
	statuses   = []string{store.StatusActive, store.StatusDisabled}
	eventTypes = []store.EventType{store.SessionEnded, store.AnalysisUpdated}
)

// viewRule is a rule as clients see it.
func viewRule(r *store.Record[store.Rule]) any {
	rule := *r
	rule.Body.Conditions = append([]store.RuleTerm{}, rule.Body.Conditions...)
	rule.Body.Actions = append([]store.RuleAction{}, rule.Body.Actions...)
	return viewAgentHost(&rule)
}

func (s *server) rules() *resource[store.Rule] {
	return &resource[store.Rule]{
		records: store.Rules(s.Store), view: viewRule, needs: []string{"name", "eventType", "actions"}, set: setRule,
		query: byFields("statusEqual", "eventTypeEqual", "objectTypeEqual"), noEffect: unusedOfRule,
	}
}

// unusedOfRule says what of a rule has no effect here.
func unusedOfRule(rule *store.Rule, _ fields) []string {
	if slices.ContainsFunc(rule.Actions, func(a store.RuleAction) bool { return a.Type == store.EmailAction }) {
		return []string{"sendEmail: " + noEmail}
	}
	return nil
}

// lifecycleRoutes adds the calls about rules, besides those of every [resource].
func (s *server) lifecycleRoutes(mux routes) {
	s.manageAgentHost(mux, "/v1/lifecycle/match", withBody(s.ruleMatch))
	s.manageAgentHost(mux, "/v1/lifecycle/listObjects", withBody(func(*call, struct{}) (any, error) {
		return viewAll([]string{store.ThreadObject}, 1, func(t string) objectView { return objectView{t} }), nil
	}))
	s.manageAgentHost(mux, "/v1/lifecycle/listEvents", withBody(func(_ *call, body objectRequest) (any, error) {
		events := ruleEvents()
		return viewAll(events, len(events), func(e eventView) eventView { return e }), body.check()
	}))
	s.manageAgentHost(mux, "/v1/lifecycle/describeFields", withBody(func(_ *call, body objectRequest) (any, error) {
		fields := lifecycle.Fields()
		return viewAll(fields, len(fields), func(f lifecycle.Field) fieldView { return fieldView{f, lifecycle.Operators()} }), body.check()
	}))
}

// objectView names a type of object that rules can apply to.
type objectView struct {
	ObjectType string `json:"objectType"`
}

// eventView describes an event that triggers rules.
type eventView struct {
	ObjectType  string          `json:"objectType"`
	EventType   store.EventType `json:"eventType"`
	Description string          `json:"description"`
}

func ruleEvents() []eventView {
	return []eventView{
		{store.ThreadObject, store.SessionEnded, "A conversation is over: its client has said so, or it was idle for too long. Once for each thread."},
		{store.ThreadObject, store.AnalysisUpdated, "A key of the thread's analysis has a new value."},
	}
}

// fieldView describes a field that conditions can compare.
type fieldView struct {
	lifecycle.Field
	Operators []string `json:"operators"`
}

// objectRequest is the body of calls about a type of objects; "" is any.
type objectRequest struct {
	ObjectType string `json:"objectType"`
}

func (r objectRequest) check() error {
	if r.ObjectType == "" {
		return nil
	}
	return oneOf(r.ObjectType, []string{store.ThreadObject}, "objectType")
}

func setRule(old store.Rule, body fields) (store.Rule, error) {
	if len(body) == 0 {
		return old, invalid("missing", "An update needs at least one field")
	}
	rule, err := overlay(old, store.Rule{}, body)
	if err != nil {
		return rule, err
	}
	rule.Status = cmp.Or(rule.Status, store.StatusActive)
	rule.ObjectType = cmp.Or(rule.ObjectType, store.ThreadObject)
	return rule, cmp.Or(
		checkName("name", rule.Name),
		oneOf(rule.Status, statuses, "status"),
		oneOf(rule.ObjectType, []string{store.ThreadObject}, "objectType"),
		oneOf(rule.EventType, eventTypes, "eventType"),
		checkConditions(rule.Conditions),
		checkActions(rule.Actions),
	)
}

func checkConditions(conditions []store.RuleTerm) error {
	if len(conditions) > maxConditions {
		return tooMany(maxConditions, "conditions")
	}
	for i, term := range conditions {
		if err := lifecycle.CheckTerm(term); err != nil {
			return invalid("value_error", err.Error(), "conditions", i)
		}
	}
	return nil
}

func checkActions(actions []store.RuleAction) error {
	if len(actions) == 0 || len(actions) > maxActions {
		return invalid("too_long", fmt.Sprintf("List should have 1 to %d items", maxActions), "actions")
	}
	for i, a := range actions {
		at := func(key string) []any { return []any{"actions", i, key} }
		switch a.Type {
		case store.InsightAction:
			if len(a.InsightSettingIDs) == 0 || checkRefs("insightSettingIds", a.InsightSettingIDs) != nil {
				return invalid("value_error", "The action needs the ids of insight settings, each once", at("insightSettingIds")...)
			}
		case store.EmailAction:
			if a.EmailTemplateID == "" || a.To == "" {
				return invalid("missing", "The action needs a template and an address", at("emailTemplateId")...)
			}
		default:
			return oneOf(a.Type, []string{store.InsightAction, store.EmailAction}, at("type")...)
		}
	}
	return nil
}

// ruleMatch returns the rules that an event of a thread would trigger, without running
// them.
func (s *server) ruleMatch(c *call, body struct {
	ObjectType  string          `json:"objectType"`
	EventType   store.EventType `json:"eventType"`
	ObjectID    string          `json:"objectId"`
	ChangedKeys []string        `json:"changedKeys"`
},
) (any, error) {
	if err := (objectRequest{body.ObjectType}).check(); err != nil {
		return nil, err
	}
	switch {
	case body.EventType == "":
		return nil, missing("eventType")
	case body.ObjectID == "":
		return nil, missing("objectId")
	}
	if err := oneOf(body.EventType, eventTypes, "eventType"); err != nil {
		return nil, err
	}
	thread, err := s.Store.Thread(c.ctx(), c.scope(), body.ObjectID)
	if err != nil {
		return nil, err
	}
	rules, err := lifecycle.Matching(c.ctx(), s.Store, &thread, store.Event{Type: body.EventType, Keys: body.ChangedKeys})
	return listed(rules, len(rules), err, viewRule)
}
