package visitor

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Filter selects the objects of a list that meet all conditions, by the keys of
// [ThreadQuery] and [MessageQuery]. A nil value is no condition. Depending on its key
// a value is a text, an id, a list of texts, a boolean, a time (time.Time, RFC 3339
// text or seconds since 1970) or an order.
//
// An unknown key and an invalid value are a validation_error. So is an empty id, which
// is probably an unset variable. An objectType is replaced by that of the list
// (service.md "Threads").
type Filter map[string]any

// rule is the check of the value of a filter's key.
type rule struct {
	want  string
	holds func(value any) bool // value is made of JSON's own types
}

var (
	aText   = rule{"a string that is not empty", isText}
	aUser   = rule{"a string", isString} // "" is the user of anonymous visitors
	anID    = rule{"a number or a string that is not empty", func(v any) bool { return isNumber(v) || isText(v) }}
	aList   = rule{"a list of strings that are not empty", func(v any) bool { return isListOf(v, isText) }}
	aSwitch = rule{"true or false", isBool}
	ratings = rule{"a list of true and false", func(v any) bool { return isListOf(v, isBool) }}
	aTime   = rule{"a time: RFC 3339 text or seconds since 1970", func(v any) bool { return isNumber(v) || isText(v) }}
	anOrder = rule{"one of " + strings.Join(orders[:], ", "), func(v any) bool {
		order, ok := v.(string)
		return ok && slices.Contains(orders[:], order)
	}}
)

// orders are the values of orderBy (protocol §9.10).
var orders = [...]string{"+createdAt", "-createdAt", "+updatedAt", "-updatedAt"}

// threadKeys and messageKeys are the keys of service.md "Threads" and
// "Messages, feedback, followups".
var threadKeys = map[string]rule{
	"agentIdEquals":               aText,
	"contextIdEqual":              aText,
	"createdAtGreaterThanOrEqual": aTime,
	"createdAtLessThanOrEqual":    aTime,
	"idEquals":                    aText,
	"idsIn":                       aList,
	"isEverywhere":                aSwitch,
	"orderBy":                     anOrder,
	"partnerIdEquals":             anID,
	"statusEquals":                aText,
	"statusIn":                    aList,
	"updatedAtGreaterThanOrEqual": aTime,
	"updatedAtLessThanOrEqual":    aTime,
	"userIdEquals":                aUser,
}

var messageKeys = map[string]rule{
	"createdAtGreaterThanOrEqual": aTime,
	"createdAtLessThanOrEqual":    aTime,
	"genieIdEquals":               anID,
	"idEquals":                    aText,
	"idsIn":                       aList,
	"isPositiveEquals":            aSwitch,
	"isPositiveIn":                ratings,
	"orderBy":                     anOrder,
	"threadIdEquals":              aText,
	"updatedAtGreaterThanOrEqual": aTime,
	"updatedAtLessThanOrEqual":    aTime,
	"userIdEquals":                aUser,
}

// merge checks f and returns it with objectType, as it is sent.
func (f Filter) merge(objectType string, keys map[string]rule) (map[string]any, error) {
	merged := map[string]any{"objectType": objectType}
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if key == "objectType" {
			continue
		}
		rule, ok := keys[key]
		if !ok {
			return nil, unknownKey(key, keys)
		}
		encoded, err := json.Marshal(f[key])
		if err != nil {
			return nil, fault.New(fault.ValidationError, "filter."+key+" must be "+rule.want).Wrap(err)
		}
		var value any
		if json.Unmarshal(encoded, &value) == nil && value == nil {
			continue
		}
		if !rule.holds(value) {
			return nil, fault.New(fault.ValidationError, "filter."+key+" must be "+rule.want)
		}
		merged[key] = json.RawMessage(encoded) // a float64 would round a large number
	}
	return merged, nil
}

func unknownKey(key string, keys map[string]rule) error {
	why := "filter." + key + " is an unknown key"
	if key == "agentIdIn" {
		why = "there is no filter.agentIdIn; ask for each agent with agentIdEquals"
	}
	return fault.New(fault.ValidationError, why+"; the keys are "+strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
}

func isString(v any) bool { _, ok := v.(string); return ok }
func isText(v any) bool   { return isString(v) && v != "" }
func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isNumber(v any) bool { _, ok := v.(float64); return ok }

func isListOf(v any, is func(any) bool) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(item any) bool { return !is(item) })
}
