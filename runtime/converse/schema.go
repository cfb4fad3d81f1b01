package converse

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// ArgsSchema checks the arguments of a tool, top level only
// (wire-protocol §10.7).
type ArgsSchema map[string]ArgSchema

// ArgSchema is the rule for one argument.
type ArgSchema struct {
	Type     string `json:"type"` // str, int, float, bool, list, dict; "" is any
	Required bool   `json:"required"`
	Enum     []any  `json:"enum"`
}

// argTypes are the types that a rule can name.
var argTypes = []string{"str", "int", "float", "bool", "list", "dict"}

// Valid returns the bad_request of a schema that names a type which is none.
func (s ArgsSchema) Valid() error {
	for name, rule := range s {
		if rule.Type != "" && !slices.Contains(argTypes, rule.Type) {
			return fault.New(fault.BadRequest, "the type of the argument "+name+" must be one of "+strings.Join(argTypes, ", "))
		}
	}
	return nil
}

// Check returns what is wrong with args, one sentence for each argument, in the
// order of their names.
func (s ArgsSchema) Check(args json.RawMessage) []string {
	if !json.Valid(args) || !isObject(args) {
		return []string{"the arguments are no object"}
	}
	values := map[string]json.RawMessage{}
	for name, value := range members(args) { // as they were written: a page would make 1 of 1.0
		values[string(name)] = value
	}
	var errs []string
	for name, rule := range s {
		value, ok := values[name]
		switch {
		case !ok:
			if rule.Required {
				errs = append(errs, name+" is missing")
			}
		case !isType(value, rule.Type):
			errs = append(errs, name+" is no "+rule.Type)
		case rule.Enum != nil && !oneOf(value, rule.Enum):
			errs = append(errs, name+" is not one of the allowed values")
		}
	}
	slices.Sort(errs)
	return errs
}

func isType(value json.RawMessage, name string) bool {
	text := strings.TrimSpace(string(value))
	if text == "" {
		return false
	}
	switch name {
	case "str":
		return text[0] == '"'
	case "int":
		_, err := strconv.ParseInt(text, 10, 64)
		return err == nil
	case "float":
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	case "bool":
		return text == "true" || text == "false"
	case "list":
		return text[0] == '['
	case "dict":
		return text[0] == '{'
	}
	return true
}

func oneOf(value json.RawMessage, enum []any) bool {
	for _, e := range enum {
		b, err := json.Marshal(e)
		if err == nil && Canonical(b) == Canonical(value) {
			return true
		}
	}
	return false
}
