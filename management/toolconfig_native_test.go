//go:build !js

package management

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestToolBuilders(t *testing.T) {
	params := []Param{
		{Name: "note", Description: "what to save", Required: true},
		{Name: "count", Type: "integer", Description: "how many", Default: 1},
		{Name: "kind", Description: "its kind", Enum: []string{"a", "b"}},
	}
	const args = `{"note":{"prompt":"what to save","type":"str","required":true},` +
		`"count":{"prompt":"how many","type":"int","default":1},"kind":{"prompt":"its kind (one of: a, b)","type":"str"}}`
	api := APITool("Asks.", "", "https://x.example/{{ args.note }}", params[0])
	api.ResponseMapping = map[string]string{"mail": "data.0.email"}
	api.Request.Authentication = &ToolAuthentication{ClientID: "c", ClientSecret: "secrets.CRM", TokenURL: "https://x.example/token"}
	for name, test := range map[string]struct {
		config ToolConfig
		want   string
	}{
		"client": {
			ClientTool("Saves.", params...),
			`{"name":"tool","type":"client","description":"Saves.","args":` + args + `,"wait_for_response":true}`,
		},
		"api": {
			api,
			`{"name":"tool","type":"api","description":"Asks.","args":{"note":{"prompt":"what to save","type":"str","required":true}},"wait_for_response":true,` +
				`"request":{"url":"https://x.example/{{ args.note }}","method":"GET","timeout":10,` +
				`"authentication":{"type":"oauth2","client_id":"c","client_secret":"secrets.CRM","token_url":"https://x.example/token"}},"response_mapping":{"mail":"data.0.email"}}`,
		},
		"csv":  {CSVTool("Finds.", "a,b\n1,2"), `{"name":"tool","type":"csv","description":"Finds.","wait_for_response":true,"csv":"a,b\n1,2"}`},
		"code": {CodeTool("Runs.", "x"), `{"name":"tool","type":"code","description":"Runs.","wait_for_response":true,"code":"x"}`},
	} {
		expect.Equal(t, ValidateTool("tool", test.config), nil, "%s", name)
		if got, err := json.Marshal(test.config.wire("tool")); err != nil || string(got) != test.want {
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
		c.ResponseMapping = map[string]string{"x": "x"}
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		name   string
		config ToolConfig
		code   fault.Code
	}{
		"name with a space":   {"save note", ClientTool("x"), fault.BadRequest},
		"name with a brace":   {"save{", ClientTool("x"), fault.BadRequest},
		"no name":             {"", ClientTool("x"), fault.BadRequest},
		"no type":             {"a", ToolConfig{Description: "x"}, fault.BadRequest},
		"no description":      {"a", ClientTool(""), fault.BadRequest},
		"timeout":             {"a", ToolConfig{Type: ToolClient, Description: "x", Timeout: 121}, fault.BadRequest},
		"negative timeout":    {"a", ToolConfig{Type: ToolClient, Description: "x", Timeout: -1}, fault.BadRequest},
		"type of an argument": {"a", ClientTool("x", Param{Name: "n", Description: "d", Type: "text"}), fault.BadRequest},
		"no prompt":           {"a", ClientTool("x", Param{Name: "n"}), fault.BadRequest},
		"argument twice":      {"a", ClientTool("x", Param{Name: "n", Description: "d"}, Param{Name: "n", Description: "d"}), fault.BadRequest},
		"name with a hyphen":  {"a-b", ClientTool("x"), fault.BadRequest},
		"no request":          {"a", ToolConfig{Type: ToolAPI, Description: "x"}, fault.BadRequest},
		"no mapping":          {"a", APITool("x", "", "https://x.example"), fault.BadRequest},
		"two mappings":        {"a", api(func(c *ToolConfig) { c.ResponseTemplate = "x" }), fault.BadRequest},
		"path of chapters": {"a", api(func(c *ToolConfig) {
			c.ResponseMapping, c.ResponseChapters = nil, &ResponseChapters{IterateOn: "a b", Content: "c"}
		}), fault.BadJSONPath},
		"path of a variable": {"a", api(func(c *ToolConfig) { c.VariablesMapping = map[string]string{"v": ""} }), fault.BadJSONPath},
		"time of a request":  {"a", api(func(c *ToolConfig) { c.Request.Timeout = 121 }), fault.BadRequest},
		"body":               {"a", api(func(c *ToolConfig) { c.Request.Body = json.RawMessage("{") }), fault.BadRequest},
		"plain client secret": {"a", api(func(c *ToolConfig) {
			c.Request.Authentication = &ToolAuthentication{ClientID: "c", ClientSecret: "hunter2"}
		}), fault.BadRequest},
		"token address": {"a", api(func(c *ToolConfig) {
			c.Request.Authentication = &ToolAuthentication{ClientID: "c", ClientSecret: "secrets.A", TokenURL: "x"}
		}), fault.InvalidURL},
		"table":              {"a", CSVTool("x", ""), fault.BadRequest},
		"code":               {"a", CodeTool("x", ""), fault.BadRequest},
		"method":             {"a", APITool("x", "TRACE", "https://x.example"), fault.BadRequest},
		"address":            {"a", APITool("x", "", "x.example"), fault.InvalidURL},
		"scheme":             {"a", APITool("x", "", "file:///etc/passwd"), fault.InvalidURL},
		"password":           {"a", APITool("x", "", "https://u:p@x.example"), fault.InvalidURL},
		"variable host":      {"a", APITool("x", "", "https://{{ host }}/a"), fault.InvalidURL},
		"variable scheme":    {"a", APITool("x", "", "{{ url }}"), fault.InvalidURL},
		"braces":             {"a", APITool("x", "", "https://x.example/{{ a"), fault.InvalidURL},
		"header":             {"a", api(func(c *ToolConfig) { c.Request.Headers = map[string]string{"a b": "x"} }), fault.BadRequest},
		"value of a header":  {"a", api(func(c *ToolConfig) { c.Request.Headers = map[string]string{"a": "x\ny"} }), fault.BadRequest},
		"path":               {"a", api(func(c *ToolConfig) { c.ResponseMapping = map[string]string{"x": "data.[0]"} }), fault.BadJSONPath},
		"path from the root": {"a", api(func(c *ToolConfig) { c.ResponseMapping = map[string]string{"x": "$.x"} }), fault.BadJSONPath},
	} {
		expect.Error(t, ValidateTool(test.name, test.config), test.code, "%s", name)
	}
}

func TestApplyResponseMapping(t *testing.T) {
	reply := []byte(`{"data":[{"email":"a@x.example","@id":"x","größe":4}],"n":3}`)
	got, err := ApplyResponseMapping(map[string]string{
		"all": "n", "email": "data.0.email", "missing": "data.7.email", "deep": "n.x", "no index": "data.x", "id": "data.0.@id", "size": "data.0.größe",
	}, reply)
	want := map[string]any{"all": 3.0, "email": "a@x.example", "id": "x", "size": 4.0, "missing": nil, "deep": nil, "no index": nil}
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
	if findings := ClientToolReadiness("a b", ready); !hasErrors(findings) {
		t.Errorf("%v, want an error", findings)
	}
}

// TestToolConfigsWithoutAType: the type is that of what the tool has.
func TestToolConfigsWithoutAType(t *testing.T) {
	for text, want := range map[string]string{
		`{"request":{"url":"https://x.example"}}`: ToolAPI, `{"csv":"a"}`: ToolCSV, `{"code":"x"}`: ToolCode, `{"description":"d"}`: ToolClient,
	} {
		var got ToolConfig
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Type != want {
			t.Errorf("%s: %q, %v; want %s", text, got.Type, err, want)
		}
	}
}

// TestToolConfigsOfOtherClients: params of any type, and scopes as one text, which the service
// and the TypeScript client take. One such tool must not make a list unreadable.
func TestToolConfigsOfOtherClients(t *testing.T) {
	var got ToolConfig
	must.Do(t, json.Unmarshal([]byte(`{"type":"api","request":{"url":"https://x.example","params":{"q":"{{args.q}}","limit":1000000,"all":true,"none":null},
		"authentication":{"type":"oauth2","client_id":"c","client_secret":"secrets.A","scopes":"read write"}}}`), &got))
	if want := (ToolParams{"q": "{{args.q}}", "limit": "1000000", "all": "true", "none": "null"}); !reflect.DeepEqual(got.Request.Params, want) {
		t.Errorf("params %v", got.Request.Params)
	}
	if want := (Tags{"read write"}); !reflect.DeepEqual(got.Request.Authentication.Scopes, want) {
		t.Errorf("scopes %v", got.Request.Authentication.Scopes)
	}
}

func TestClientToolReadinessOf(t *testing.T) {
	for name, test := range map[string]struct {
		i     Intellect
		ready bool
	}{
		"no tools": {Intellect{}, true},
		"default":  {Intellect{ToolIDs: []string{"t"}}, false},
		"on":       {Intellect{ToolIDs: []string{"t"}, Capabilities: map[string]string{"kaltura_genie_experiences": "on"}}, false},
		"off":      {Intellect{ToolIDs: []string{"t"}, Capabilities: map[string]string{"kaltura_genie_experiences": "off"}}, true},
	} {
		if findings := ClientToolReadinessOf(&test.i); (findings == nil) != test.ready || hasErrors(findings) {
			t.Errorf("%s: %v", name, findings)
		}
	}
}
