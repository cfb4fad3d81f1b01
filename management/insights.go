package management

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Insights defines what is found out about a conversation at its end; rules of
// [Lifecycle] refer to them (service.md, "Insight settings"). All calls need an admin
// token.
type Insights struct{ Records[Insight, string] }

// Insight is an insight setting.
type Insight struct {
	ID string `json:"id"`
	InsightInput
	// Status is active or disabled.
	Status    string `json:"status"`
	CreatedAt Time   `json:"createdAt,omitempty"`
	UpdatedAt Time   `json:"updatedAt,omitempty"`
	Receipt
}

// States of an [Insight] and of a [Rule].
const (
	StatusActive   = "active"
	StatusDisabled = "disabled"
)

var statuses = []string{StatusActive, StatusDisabled}

// ValueTypes are the types of the value of an insight (management-api.md,
// "insightSettings").
var ValueTypes = []string{"string", "number", "boolean", "string[]", "number[]", "boolean[]"}

// InsightInput is a new insight setting; all fields are required.
type InsightInput struct {
	// Key is the key of the thread's analysis that gets the value.
	Key   string `json:"key"`
	Title string `json:"title"`
	// Prompt tells the model what to find out.
	Prompt string `json:"prompt"`
	// ValueType is one of [ValueTypes].
	ValueType string `json:"valueType"`
}

// InsightPatch describes a change of an insight setting; nil fields stay as they are.
type InsightPatch struct {
	Key       *string `json:"key,omitempty"`
	Title     *string `json:"title,omitempty"`
	Prompt    *string `json:"prompt,omitempty"`
	ValueType *string `json:"valueType,omitempty"`
	Status    *string `json:"status,omitempty"`
}

// InsightFilter selects insight settings; the zero value selects all.
type InsightFilter struct {
	// Status is active or disabled.
	Status string `json:"statusEqual,omitempty"`
}

var insights = collection[Insight, string]{
	at: appinit.Agentic, path: "/insight-settings", create: "create", what: "an insight setting", unused: unusedInsight,
}

func checkInsightKey(key string) error {
	if !secretName(key) {
		return badRequest("the key must be a name of letters, digits and _")
	}
	return nil
}

// Create makes an insight setting. Error: bad_request for a missing field or an unknown
// value type.
func (i Insights) Create(ctx context.Context, in InsightInput, opts ...Option) (*Insight, error) {
	if err := cmp.Or(
		checkInsightKey(in.Key), required("the title", in.Title), required("the prompt", in.Prompt),
		oneOf("the value type", in.ValueType, ValueTypes),
	); err != nil {
		return nil, err
	}
	return i.add(ctx, in, opts)
}

// List iterates over the insight settings that f selects.
func (i Insights) List(ctx context.Context, f InsightFilter, opts ...Option) iter.Seq2[*Insight, error] {
	return i.list(ctx, query{Filter: f}, oneOfOrEmpty("the status", f.Status, statuses), opts)
}

// Update changes an insight setting and returns it. Errors are those of Create and Get,
// and bad_request for an empty patch.
func (i Insights) Update(ctx context.Context, id string, p InsightPatch) (*Insight, error) {
	return i.update(
		ctx, id, p,
		ifSet(p.Key, checkInsightKey), ifSet(p.Title, nonEmpty("the title")), ifSet(p.Prompt, nonEmpty("the prompt")),
		ifSet(p.ValueType, among("the value type", ValueTypes)), ifSet(p.Status, among("the status", statuses)),
	)
}

// unusedInsight refuses a setting to which lifecycle rules refer.
func unusedInsight(ctx context.Context, c *Client, id string) error {
	var naming []string
	for rule, err := range c.Lifecycle.List(ctx, PageSize(MaxPageSize)) {
		if err != nil {
			return err
		}
		if slices.Contains(rule.insights(), id) {
			naming = append(naming, fmt.Sprintf("%s (%s)", rule.ID, rule.Name))
		}
	}
	if len(naming) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "the insight setting is still named by the lifecycle rules "+strings.Join(naming, ", ")+
		"; take it out of them, or pass Force")
}
