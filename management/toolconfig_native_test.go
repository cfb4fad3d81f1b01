//go:build !js

package management

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestToolBuilders(t *testing.T) {
	params := []Param{
		{Name: "note", Description: "what to save", Required: true},
		{Name: "count", Type: "integer"},
		{Name: "kind", Enum: []string{"a", "b"}},
	}
	const schema = `{"type":"object","properties":{"note":{"type":"string","description":"what to save"},` +
		`"count":{"type":"integer"},"kind":{"type":"string","enum":["a","b"]}},"required":["note"]}`
	for name, test := range map[string]struct {
		config ToolConfig
		want   string
	}{
		"client": {
			ClientTool("Saves.", params...),
			`{"type":"client","description":"Saves.","parameters":` + schema + `,"wait_for_response":true}`,
		},
		"api": {
			APITool("Asks.", "", "https://x.example/{{ note }}"),
			`{"type":"api","description":"Asks.","wait_for_response":true,"method":"GET","url":"https://x.example/{{ note }}"}`,
		},
		"csv":  {CSVTool("Finds.", "a,b\n1,2"), `{"type":"csv","description":"Finds.","wait_for_response":true,"csv":"a,b\n1,2"}`},
		"code": {CodeTool("Runs.", "x"), `{"type":"code","description":"Runs.","wait_for_response":true,"code":"x"}`},
	} {
		if err := ValidateTool("tool", test.config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := json.Marshal(test.config); err != nil || string(got) != test.want {
			t.Errorf("%s\n got %s, %v\nwant %s", name, got, err, test.want)
		}
		if !test.config.Waits() {
			t.Errorf("%s: the turn must wait", name)
		}
	}
}

func TestValidateTool(t *testing.T) {
	api := func(change func(*ToolConfig)) ToolConfig {
		c := APITool("Asks.", "POST", "https://x.example/a")
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		name   string
		config ToolConfig
		code   fault.Code
	}{
		"name with a space":  {"save note", ClientTool("x"), fault.BadRequest},
		"name with a brace":  {"save{", ClientTool("x"), fault.BadRequest},
		"no name":            {"", ClientTool("x"), fault.BadRequest},
		"no type":            {"a", ToolConfig{Description: "x"}, fault.BadRequest},
		"no description":     {"a", ClientTool(""), fault.BadRequest},
		"timeout":            {"a", ToolConfig{Type: ToolClient, Description: "x", TimeoutSeconds: 121}, fault.BadRequest},
		"negative timeout":   {"a", ToolConfig{Type: ToolClient, Description: "x", TimeoutSeconds: -1}, fault.BadRequest},
		"no schema":          {"a", ToolConfig{Type: ToolClient, Description: "x", Parameters: json.RawMessage(`[]`)}, fault.BadRequest},
		"schema of a text":   {"a", ToolConfig{Type: ToolClient, Description: "x", Parameters: json.RawMessage(`{"type":"string"}`)}, fault.BadRequest},
		"type of a property": {"a", ClientTool("x", Param{Name: "n", Type: "int"}), fault.BadRequest},
		"required, unknown":  {"a", ToolConfig{Type: ToolClient, Description: "x", Parameters: json.RawMessage(`{"type":"object","required":["a"]}`)}, fault.BadRequest},
		"table":              {"a", CSVTool("x", ""), fault.BadRequest},
		"code":               {"a", CodeTool("x", ""), fault.BadRequest},
		"method":             {"a", APITool("x", "TRACE", "https://x.example"), fault.BadRequest},
		"address":            {"a", APITool("x", "", "x.example"), fault.InvalidURL},
		"scheme":             {"a", APITool("x", "", "file:///etc/passwd"), fault.InvalidURL},
		"password":           {"a", APITool("x", "", "https://u:p@x.example"), fault.InvalidURL},
		"variable host":      {"a", APITool("x", "", "https://{{ host }}/a"), fault.InvalidURL},
		"variable scheme":    {"a", APITool("x", "", "{{ url }}"), fault.InvalidURL},
		"braces":             {"a", APITool("x", "", "https://x.example/{{ a"), fault.InvalidURL},
		"header":             {"a", api(func(c *ToolConfig) { c.Headers = map[string]string{"a b": "x"} }), fault.BadRequest},
		"value of a header":  {"a", api(func(c *ToolConfig) { c.Headers = map[string]string{"a": "x\ny"} }), fault.BadRequest},
		"path":               {"a", api(func(c *ToolConfig) { c.ResponseMapping = map[string]string{"x": "data.x"} }), fault.BadJSONPath},
		"filter in a path":   {"a", api(func(c *ToolConfig) { c.ResponseMapping = map[string]string{"x": "$..x"} }), fault.BadJSONPath},
	} {
		if err := ValidateTool(test.name, test.config); !errors.Is(err, test.code) {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
}

func TestApplyResponseMapping(t *testing.T) {
	reply := []byte(`{"data":[{"email":"a@x.example","the name":"Ada"}],"n":3}`)
	got, err := ApplyResponseMapping(map[string]string{
		"all": "$.n", "email": "$.data[0].email", "name": "$['data'][0]['the name']", "missing": "$.data[7].email", "deep": "$.n.x",
	}, reply)
	want := map[string]any{"all": 3.0, "email": "a@x.example", "name": "Ada", "missing": nil, "deep": nil}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := ApplyResponseMapping(map[string]string{"x": "$["}, reply); !errors.Is(err, fault.BadJSONPath) {
		t.Errorf("%v, want bad_jsonpath", err)
	}
	if _, err := ApplyResponseMapping(nil, []byte("<html>")); !errors.Is(err, fault.BadRequest) {
		t.Errorf("%v, want bad_request", err)
	}
}

func TestClientToolReadiness(t *testing.T) {
	ready := ClientTool("x", Param{Name: "a", Description: "b"})
	if findings := ClientToolReadiness("a", ready); findings != nil {
		t.Error(findings)
	}
	if findings := ClientToolReadiness("a", APITool("x", "", "nonsense")); findings != nil {
		t.Error(findings)
	}
	findings := ClientToolReadiness("a", ToolConfig{
		Type: ToolClient, Description: "x", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`),
	})
	if want := []string{FindingClientTool}; !slices.Equal(codes(findings), want) || hasErrors(findings) {
		t.Errorf("%v, want a warning", findings)
	}
	if findings := ClientToolReadiness("a b", ready); !hasErrors(findings) {
		t.Errorf("%v, want an error", findings)
	}
}
