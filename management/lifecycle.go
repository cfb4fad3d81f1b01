package management

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Lifecycle manages rules, which define what is done on an event of a thread (service.md,
// "Lifecycle rule"). All calls need an admin token.
type Lifecycle struct{ Records[Rule, string] }

// Rule is a lifecycle rule. service.md does not show its form; docs/management.md
// describes the local service's.
type Rule struct {
	ID string `json:"id"`
	RuleInput
	CreatedAt Time `json:"createdAt,omitempty"`
	UpdatedAt Time `json:"updatedAt,omitempty"`
	Receipt
}

// insights are the ids of the insight settings that the rule runs.
func (r *Rule) insights() []string {
	var ids []string
	for _, a := range r.Actions {
		ids = append(ids, a.InsightSettingIDs...)
	}
	return ids
}

// RuleTerm is a condition of a rule.
type RuleTerm struct {
	// Field is one of those that [Lifecycle.DescribeFields] lists, such as
	// object.agent_id. Threads of the agent "default" match no condition on
	// object.agent_id.
	Field string `json:"field"`
	// Operator is one of [Operators].
	Operator string `json:"operator"`
	// Value is what the field is compared with: a list for in and notIn, nothing for
	// exists.
	Value any `json:"value,omitempty"`
}

// RuleAction is something that a rule does.
type RuleAction struct {
	// Type is one of [ActionTypes].
	Type string `json:"type"`
	// InsightSettingIDs are the settings that triggerInsightSettingsKai evaluates, at most
	// [MaxRuleInsights].
	InsightSettingIDs []string `json:"insightSettingIds,omitempty"`
	// EmailTemplateID and To are the template and the recipient of sendEmail.
	EmailTemplateID string `json:"emailTemplateId,omitempty"`
	To              string `json:"to,omitempty"`
}

// Events and actions of rules.
const (
	EventSessionEnded    = "session_ended"
	EventAnalysisUpdated = "analysis_updated"
	ActionInsights       = "triggerInsightSettingsKai"
	ActionEmail          = "sendEmail"
	objectThread         = "thread"
)

// EventTypes, ActionTypes and Operators are the values that rules may have.
var (
	EventTypes  = []string{EventSessionEnded, EventAnalysisUpdated}
	ActionTypes = []string{ActionInsights, ActionEmail}
	Operators   = []string{"equals", "notEquals", "in", "notIn", "contains", "exists"}
)

// MaxRuleInsights is how many insight settings one rule may run (management-api.md,
// "lifecycle.audit").
const MaxRuleInsights = 20

// RuleInput is a new rule. Name, EventType and Actions are required.
type RuleInput struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Status is active, the default, or disabled.
	Status string `json:"status,omitempty"`
	// ObjectType is what the events are about: thread, the default.
	ObjectType string `json:"objectType"`
	// EventType is one of [EventTypes].
	EventType string `json:"eventType"`
	// Conditions must all hold.
	Conditions []RuleTerm   `json:"conditions"`
	Actions    []RuleAction `json:"actions"`
}

// RulePatch describes a change of a rule; nil fields stay as they are.
type RulePatch struct {
	Name        *string      `json:"name,omitempty"`
	Description *string      `json:"description,omitempty"`
	Status      *string      `json:"status,omitempty"`
	EventType   *string      `json:"eventType,omitempty"`
	Conditions  []RuleTerm   `json:"conditions,omitzero"`
	Actions     []RuleAction `json:"actions,omitzero"`
}

// RuleField describes something that conditions can compare.
type RuleField struct {
	Field string `json:"field"`
	Type  string `json:"type"`
	// Operators are those that fit the field.
	Operators []string `json:"operators,omitempty"`
}

// RuleEvent describes an event that can trigger rules.
type RuleEvent struct {
	ObjectType  string `json:"objectType"`
	EventType   string `json:"eventType"`
	Description string `json:"description,omitempty"`
}

var rules = collection[Rule, string]{at: appinit.Agentic, path: "/lifecycle", create: "create", what: "a lifecycle rule"}

var (
	lifecycleMatch    = endpoint{at: appinit.Agentic, path: "/lifecycle/match", again: harmless}
	lifecycleObjects  = endpoint{at: appinit.Agentic, path: "/lifecycle/listObjects", again: harmless}
	lifecycleEvents   = endpoint{at: appinit.Agentic, path: "/lifecycle/listEvents", again: harmless}
	lifecycleDescribe = endpoint{at: appinit.Agentic, path: "/lifecycle/describeFields", again: harmless}
)

func checkTerms(terms []RuleTerm) error {
	for n, t := range terms {
		at := indexed("conditions", n)
		if err := cmp.Or(required(at+".field", t.Field), oneOf(at+".operator", t.Operator, Operators)); err != nil {
			return err
		}
		list, isList := t.Value.([]any)
		texts, isTexts := t.Value.([]string)
		switch {
		case (t.Operator == "in" || t.Operator == "notIn") && (!isList || len(list) == 0) && (!isTexts || len(texts) == 0):
			return badRequest(at + ".value must be a list that is not empty")
		case t.Operator != "exists" && t.Value == nil:
			return badRequest(at + ".value must be set")
		}
	}
	return nil
}

func checkActions(actions []RuleAction) error {
	if len(actions) == 0 {
		return badRequest("a rule needs an action")
	}
	for n, a := range actions {
		at := indexed("actions", n)
		if err := oneOf(at+".type", a.Type, ActionTypes); err != nil {
			return err
		}
		switch {
		case a.Type == ActionInsights && len(a.InsightSettingIDs) == 0:
			return badRequest(at + ".insightSettingIds must have an id")
		case len(a.InsightSettingIDs) > MaxRuleInsights:
			return badRequest(at + ".insightSettingIds must have at most 20 ids")
		case a.Type == ActionEmail && (a.EmailTemplateID == "" || a.To == ""):
			return badRequest(at + " must have an emailTemplateId and a to")
		}
		if err := uniqueIDs(at+".insightSettingIds", a.InsightSettingIDs); err != nil {
			return err
		}
	}
	return nil
}

// Create makes a rule. Error: bad_request for missing fields, unknown events, operators
// and types of actions.
func (l Lifecycle) Create(ctx context.Context, in RuleInput, opts ...Option) (*Rule, error) {
	in.ObjectType = cmp.Or(in.ObjectType, objectThread)
	if err := cmp.Or(
		required("the name", in.Name), oneOf("the event type", in.EventType, EventTypes), checkTerms(in.Conditions), checkActions(in.Actions),
		oneOfOrEmpty("the status", in.Status, statuses), oneOf("the object type", in.ObjectType, []string{objectThread}),
	); err != nil {
		return nil, err
	}
	in.Conditions = orEmpty(in.Conditions)
	return l.add(ctx, in, opts)
}

// Update changes a rule and returns it. Errors are those of Create and Get, and
// bad_request for an empty patch.
func (l Lifecycle) Update(ctx context.Context, id string, p RulePatch) (*Rule, error) {
	var actions error
	if p.Actions != nil {
		actions = checkActions(p.Actions)
	}
	return l.update(
		ctx, id, p,
		checkTerms(p.Conditions), ifSet(p.Name, nonEmpty("the name")), ifSet(p.Status, among("the status", statuses)),
		ifSet(p.EventType, among("the event type", EventTypes)), actions,
	)
}

// Match returns the rules that an event of a thread would trigger, without running them.
// changedKeys are the changed keys of an analysis_updated event. Errors: bad_request for
// an empty id or an unknown event, not_found.
func (l Lifecycle) Match(ctx context.Context, threadID, eventType string, changedKeys ...string) ([]Rule, error) {
	if err := cmp.Or(required("the id of a thread", threadID), oneOf("the event type", eventType, EventTypes)); err != nil {
		return nil, err
	}
	return objects[Rule](ctx, l.c, lifecycleMatch, struct {
		ObjectType  string   `json:"objectType"`
		EventType   string   `json:"eventType"`
		ObjectID    string   `json:"objectId"`
		ChangedKeys []string `json:"changedKeys,omitempty"`
	}{objectThread, eventType, threadID, changedKeys})
}

// Objects lists the types of objects that rules can apply to, such as thread.
func (l Lifecycle) Objects(ctx context.Context) ([]string, error) {
	list, err := objects[struct {
		ObjectType string `json:"objectType"`
	}](ctx, l.c, lifecycleObjects, struct{}{})
	types := make([]string, len(list))
	for n, object := range list {
		types[n] = object.ObjectType
	}
	return types, err
}

// Events lists the events that can trigger rules.
func (l Lifecycle) Events(ctx context.Context) ([]RuleEvent, error) {
	return objects[RuleEvent](ctx, l.c, lifecycleEvents, struct{}{})
}

// DescribeFields lists the fields that conditions can compare.
func (l Lifecycle) DescribeFields(ctx context.Context) ([]RuleField, error) {
	return objects[RuleField](ctx, l.c, lifecycleDescribe, struct{}{})
}

// objects calls an endpoint that replies with a whole list.
func objects[T any](ctx context.Context, c *Client, e endpoint, body any, opts ...Option) ([]T, error) {
	var reply struct {
		Objects []T `json:"objects"`
	}
	err := c.post(ctx, e, body, &reply, opts...)
	if err == nil && reply.Objects == nil {
		err = fault.New(fault.InvalidResponse, "the reply has no objects").At(e.path)
	}
	return reply.Objects, err
}

// scoped reports whether a condition limits the rule to certain agents.
func (r *Rule) scoped() bool {
	return slices.ContainsFunc(r.Conditions, func(t RuleTerm) bool { return t.Field == "object.agent_id" })
}
