package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Operators of conditions.
const (
	Equals    = "equals"
	NotEquals = "notEquals"
	In        = "in"
	NotIn     = "notIn"
	Contains  = "contains" // of a list, or of a text
	Exists    = "exists"   // takes no value
)

// Operators lists the operators of conditions.
func Operators() []string { return []string{Equals, NotEquals, In, NotIn, Contains, Exists} }

// Field describes something that conditions can compare.
type Field struct {
	Field string `json:"field"`
	Type  string `json:"type"`
}

// agentID is a field that some threads don't have: see [value].
const agentID = "object.agent_id"

// analysisPrefix is the prefix of the fields that are keys of the analysis.
const analysisPrefix = "object.thread_metadata.analysis."

// changedKeys is the field with the changed keys of an [store.AnalysisUpdated] event.
const changedKeys = "event.changed_keys"

// Fields lists the fields of a thread's events. The field of the analysis stands for
// each of its keys.
func Fields() []Field {
	return []Field{
		{"object.id", "string"},
		{agentID, "string"},
		{"object.genie_id", "string"},
		{"object.user_id", "string"},
		{"object.context_id", "string"},
		{"object.title", "string"},
		{"object.status", "string"},
		{analysisPrefix + "<key>", "any"},
		{changedKeys, "string[]"},
	}
}

// CheckTerm returns an error that describes what is wrong with a condition.
func CheckTerm(t store.RuleTerm) error {
	key, isAnalysis := strings.CutPrefix(t.Field, analysisPrefix)
	known := slices.ContainsFunc(Fields(), func(f Field) bool { return f.Field == t.Field })
	switch {
	case isAnalysis && (key == "" || key == "<key>"):
		return fmt.Errorf("field: %s needs the name of a key at its end", analysisPrefix)
	case !isAnalysis && !known:
		return fmt.Errorf("field: there is no field %q", t.Field)
	case !slices.Contains(Operators(), t.Operator):
		return fmt.Errorf("operator: want one of %s", strings.Join(Operators(), ", "))
	case t.Operator == In || t.Operator == NotIn:
		if list, ok := t.Value.([]any); !ok || len(list) == 0 {
			return fmt.Errorf("value: the operator %s needs a list", t.Operator)
		}
	case t.Operator != Exists && t.Value == nil:
		return fmt.Errorf("value: the operator %s needs a value", t.Operator)
	}
	return nil
}

// Matches reports whether a rule applies to an event of a thread.
func Matches(r *store.Rule, t *store.Thread, e store.Event) bool {
	if r.Status != store.StatusActive || r.ObjectType != store.ThreadObject || r.EventType != e.Type {
		return false
	}
	for _, term := range r.Conditions {
		if !holds(term, t, e) {
			return false
		}
	}
	return true
}

func holds(term store.RuleTerm, t *store.Thread, e store.Event) bool {
	got, ok := value(term.Field, t, e)
	if !ok {
		return false
	}
	list, _ := term.Value.([]any)
	among := slices.ContainsFunc(list, func(v any) bool { return same(got, v) })
	switch term.Operator {
	case Equals:
		return same(got, term.Value)
	case NotEquals:
		return !same(got, term.Value)
	case In:
		return among
	case NotIn:
		return !among
	case Contains:
		if many, ok := got.([]any); ok {
			return slices.ContainsFunc(many, func(v any) bool { return same(v, term.Value) })
		}
		text, isText := got.(string)
		part, partIsText := term.Value.(string)
		return isText && partIsText && strings.Contains(text, part)
	}
	return term.Operator == Exists
}

// value returns a field. A thread without an agent of its own has no agent id: rules
// about one must not apply to it (service.md, Thread).
func value(field string, t *store.Thread, e store.Event) (any, bool) {
	if key, ok := strings.CutPrefix(field, analysisPrefix); ok {
		v, ok := t.Analysis[key]
		return v, ok
	}
	switch field {
	case "object.id":
		return t.ID, true
	case agentID:
		return t.AgentID, t.AgentID != store.DefaultAgentID
	case "object.genie_id":
		return strconv.FormatInt(t.ConfigID, 10), true
	case "object.user_id":
		return t.UserID, true
	case "object.context_id":
		return t.ContextID, true
	case "object.title":
		return t.Title, true
	case "object.status":
		return t.Status, true
	case changedKeys:
		keys := make([]any, len(e.Keys))
		for i, k := range e.Keys {
			keys[i] = k
		}
		return keys, len(keys) > 0
	}
	return nil, false
}

// same compares values of JSON; an id may be a number in a rule and text in a thread.
func same(a, b any) bool {
	if text, ok := a.(string); ok {
		if n, ok := b.(float64); ok {
			return text == strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	return reflect.DeepEqual(a, b)
}
