package converse

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestCheckVarsTakesScalarsOnly(t *testing.T) {
	vars := map[string]any{"name": "Sam", "tier": 2, "rate": 1.5, "vip": true, "none": nil}
	got, err := CheckVars(vars)
	if err != nil || !reflect.DeepEqual(got, vars) {
		t.Fatalf("CheckVars = %v, %v", got, err)
	}
	for name, value := range map[string]any{
		"list": []any{1}, "map": map[string]any{}, "func": func() {},
		"sys__ks": "x", "sys__user_obj": "x", "sys__user_obj.email": "x", "secrets": "x", "secrets.API_KEY": "x",
	} {
		_, err := CheckVars(map[string]any{name: value})
		if !errors.Is(err, fault.ValidationError) || !strings.Contains(err.Error(), name) {
			t.Errorf("CheckVars(%s) = %v, want validation_error that names it", name, err)
		}
	}
}

func TestMergeCapabilities(t *testing.T) {
	got, err := MergeCapabilities(map[string]string{"avatar": "on", "generate_followup_questions": "on"},
		map[string]string{"generate_followup_questions": "off", "show_link": "on"})
	want := map[string]string{"avatar": "on", "generate_followup_questions": "off", "show_link": "on"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("MergeCapabilities = %v, %v", got, err)
	}
	expect.Fail(MergeCapabilities(nil, map[string]string{"fly": "on"}))(t, fault.UnknownCapability, "unknown name")
	expect.Fail(MergeCapabilities(nil, map[string]string{"avatar": "yes"}))(t, fault.BadRequest, "unknown state")
}

func TestScrubRemovesWhatCouldReachThePrototype(t *testing.T) {
	deep := map[string]any{}
	for v, i := deep, 0; i < 100; i++ {
		next := map[string]any{}
		v["a"] = next
		v = next
	}
	got := Scrub(map[string]any{"__proto__": 1, "a": []any{map[string]any{"constructor": 1, "b": 2}}, "prototype": 3, "deep": deep})
	b := must.Get(json.Marshal(got))(t)
	if strings.Contains(string(b), "proto") || strings.Contains(string(b), "constructor") || !strings.Contains(string(b), `{"b":2}`) {
		t.Errorf("Scrub left %s", b)
	}
	if n := strings.Count(string(b), `"a":`); n > MaxDepth+1 {
		t.Errorf("Scrub kept %d levels", n)
	}
}

func TestArgsSchema(t *testing.T) {
	schema := ArgsSchema{
		"page": {Type: "int", Required: true},
		"mode": {Type: "str", Enum: []any{"a", "b"}},
		"tags": {Type: "list"},
	}
	for args, want := range map[string][]string{
		`{"page":4,"mode":"a","tags":[]}`: nil,
		`{}`:                              {"page is missing"},
		`{"page":1.5,"mode":"c"}`:         {"mode is not one of the allowed values", "page must be of type int"},
		`{"page":null}`:                   {"page must be of type int"},
		`[]`:                              {"the arguments must be an object"},
	} {
		if got := schema.Check(json.RawMessage(args)); !reflect.DeepEqual(got, want) {
			t.Errorf("Check(%s) = %q, want %q", args, got, want)
		}
	}
}

func TestASchemaNamesOneOfSixTypes(t *testing.T) {
	if err := (ArgsSchema{"a": {Type: "str"}, "b": {Type: "int"}, "c": {Type: "float"}, "d": {Type: "bool"}, "e": {Type: "list"}, "f": {Type: "dict"}, "g": {}}).Valid(); err != nil {
		t.Error(err)
	}
	var f *fault.Error
	if err := (ArgsSchema{"page": {Type: "string"}}).Valid(); !errors.As(err, &f) || f.Code != fault.BadRequest ||
		f.Detail != "the type of the argument page must be one of str, int, float, bool, list, dict" {
		t.Error(err)
	}
}
