//go:build !js

package management_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestProtectedTagsAreFoundInOthers(t *testing.T) {
	for tag, protected := range map[string]bool{
		"prod": true, "PROD": true, "eu-prod_1": true, "production": true, "preproduction2": true, "keep": true, "to keep it": true, "live": true, "live-eu": true,
		"do-not-delete": true, "DoNotDelete": true, "product": false, "keeper": false, "alive": false, "delivery": false, "": false, "custom": false,
	} {
		want := ""
		if protected {
			want = tag
		}
		expect.Equal(t, management.MatchProtectedTag([]string{"a", tag}), want, "%q", tag)
	}
}

// TestIntellectsOfAgents: the forms of a record's intellect.
func TestIntellectsOfAgents(t *testing.T) {
	for text, want := range map[string]int64{
		`{"intellectType":"genie","id":7}`: 7, `{"id":7}`: 7, `{"configId":8,"id":7}`: 8, `{"configId":"x","id":7}`: 7, `{"id":"x"}`: 0, `{"id":-1}`: 0, `{}`: 0,
	} {
		var r management.IntellectRef
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.ID != want {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

// TestServersOfIntellects: the map mcp_servers is a list in the order of the names.
func TestServersOfIntellects(t *testing.T) {
	var servers management.MCPServers
	err := json.Unmarshal([]byte(`{"b":{"url":"http://b","type":"mcp","headers":null},"a":{"url":"http://a","allowed_tools":["x"]}}`), &servers)
	if want := (management.MCPServers{{Name: "a", URL: "http://a", AllowedTools: []string{"x"}}, {Name: "b", URL: "http://b"}}); err != nil || !reflect.DeepEqual(servers, want) {
		t.Errorf("%+v, %v", servers, err)
	}
}

func TestResolveCapabilities(t *testing.T) {
	all, err := management.ResolveCapabilities(management.CapabilityInput{
		Env:           map[string]string{"show_link": "on", "think_process": "disabled", "video_gallery": "on"},
		PartnerConfig: map[string]string{"show_link": "off", "avatar": "on", "unknown": "on"},
		Request:       map[string]string{"avatar": "off", "think_process": "on"}, WebSearch: true,
	})
	if err != nil || len(all) != len(converse.Capabilities()) {
		t.Fatalf("%d, %v", len(all), err)
	}
	for name, want := range map[string]string{
		"show_link": "off partner_config false false", "avatar": "off request false false", "think_process": "off disabled_veto true false",
		"video_gallery": "on env false false", "use_web_search": "on web_search_config false true", "avatar_filler": "off default false false",
		"use_knowledge_base": "on default false false",
	} {
		c := all[name]
		expect.Equal(t, fmt.Sprint(c.State, " ", c.From, " ", c.Vetoed, " ", c.Inferred), want, "%s", name)
	}
	expect.Equal(t, all["think_process"].Layers, (management.CapabilityLayers{Env: "disabled", Request: "on", Default: "off"}), "layers")
}

func TestValidateSecretRefs(t *testing.T) {
	tool := management.APITool("d", "POST", "https://x.example/{{ secrets.A }}")
	tool.Request.Headers = map[string]string{"X": "Bearer {{secrets.GONE}}"}
	tool.Request.Authentication = &management.ToolAuthentication{ClientID: "c", ClientSecret: "secrets.B"}
	tool.Request.Body = json.RawMessage(`{"x":["{{ variables.secrets.A }}"]}`)
	got := management.ValidateSecretRefs([]string{"A", "B", "IDLE"}, []management.ToolConfig{tool}, []string{"{{ secrets.A }} secrets.B"})
	want := management.SecretRefs{
		References: []management.SecretRef{{Name: "B", Where: "tools"}, {Name: "GONE", Where: "tools"}, {Name: "A", Where: "tools"}, {Name: "A", Where: "prompts"}},
		Unresolved: []management.SecretRef{{Name: "GONE", Where: "tools"}}, BadPrefix: []management.SecretRef{{Name: "A", Where: "tools"}}, Unused: []string{"IDLE"},
	}
	if !reflect.DeepEqual(got, want) || got.OK() {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, text := range []string{"{{ secrets.A | default('}') }}", "{{secrets.A|default('x')}}"} { // a reference all the same
		if got := management.ValidateSecretRefs(nil, nil, []string{text}); len(got.Unresolved) != 1 {
			t.Errorf("%s: %+v, want one that is not set", text, got)
		}
	}
}

func TestDiffSnapshots(t *testing.T) {
	a, b := &management.Snapshot{}, &management.Snapshot{}
	a.Fields.Prompts = []management.Prompt{{Key: "x", Value: "1"}, {Key: "y", Value: "2"}, {Key: "z", Value: "3"}}
	b.Fields.Prompts = []management.Prompt{{Key: "y", Value: "2"}, {Key: "x", Label: "x", Value: "9"}, {Key: "new", Value: "4"}}
	b.Fields.Glossary, b.Fields.Capabilities = new("g"), map[string]string{"avatar": "on"}
	want := &management.SnapshotDiff{
		Added: []string{"new"}, Removed: []string{"z"}, Modified: []string{"x"}, Reordered: true, Scalars: []string{"glossary"}, Capabilities: true,
	}
	if got := must.Get(management.DiffSnapshots(a, b))(t); !reflect.DeepEqual(got, want) || got.Empty() {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	again := *b
	again.Fields.Glossary = new("g")
	if got := must.Get(management.DiffSnapshots(b, &again))(t); !got.Empty() {
		t.Errorf("got %+v", got)
	}
	_, err := management.DiffSnapshots(nil, b)
	wantCode(t, "no snapshot", err, fault.BadRequest)
	_, err = management.DiffSnapshots(a, nil)
	wantCode(t, "no snapshot", err, fault.BadRequest)
}
