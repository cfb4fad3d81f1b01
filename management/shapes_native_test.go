//go:build !js

package management_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

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
		if got := management.MatchProtectedTag([]string{"a", tag}); got != want {
			t.Errorf("%q: %q", tag, got)
		}
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
		if got := fmt.Sprint(c.State, " ", c.From, " ", c.Vetoed, " ", c.Inferred); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if l := all["think_process"].Layers; l != (management.CapabilityLayers{Env: "disabled", Request: "on", Default: "off"}) {
		t.Errorf("layers %+v", l)
	}
}

// A reference with a brace in its default is one to the service, too.
func TestSecretRefsWithFilters(t *testing.T) {
	for _, text := range []string{"{{ secrets.A | default('}') }}", "{{secrets.A|default('x')}}"} {
		if got := management.ValidateSecretRefs(nil, nil, []string{text}); len(got.Unresolved) != 1 {
			t.Errorf("%s: %+v, want one that is not set", text, got)
		}
	}
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
}

func TestDiffSnapshots(t *testing.T) {
	a, b := &management.Snapshot{}, &management.Snapshot{}
	a.Fields.Prompts = []management.Prompt{{Key: "x", Value: "1"}, {Key: "y", Value: "2"}, {Key: "z", Value: "3"}}
	b.Fields.Prompts = []management.Prompt{{Key: "y", Value: "2"}, {Key: "x", Label: "x", Value: "9"}, {Key: "new", Value: "4"}}
	b.Fields.Glossary, b.Fields.Capabilities = "g", map[string]string{"avatar": "on"}
	want := management.SnapshotDiff{
		Added: []string{"new"}, Removed: []string{"z"}, Modified: []string{"x"}, Reordered: true, Scalars: []string{"glossary"}, Capabilities: true,
	}
	if got := management.DiffSnapshots(a, b); !reflect.DeepEqual(got, want) || got.Empty() {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := management.DiffSnapshots(b, b); !got.Empty() {
		t.Errorf("got %+v", got)
	}
}

// TestShapesOnTheService: agents, intellects, tools and the catalog in the real shapes, on
// the local service.
func TestShapesOnTheService(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	profile, err := c.Application.GenerateProfile(ctx, "A concierge named Mira for hotel guests.")
	must(t, "profile", err)
	prompts, err := c.Application.CustomPrompts(ctx)
	must(t, "prompts", err)
	for n := range prompts {
		prompts[n].Value = map[string]string{"goal": profile.Goal, "name": profile.Name}[prompts[n].Key]
	}
	agent, err := c.Agents.Create(ctx, management.AgentInput{
		DisplayName: profile.Name, MaxConversationLength: 60,
		Intellect: management.IntellectRef{Fields: &management.IntellectFields{Prompts: prompts, Secrets: map[string]string{"CRM": "a secret value"}}},
	})
	must(t, "agent", err)
	id := agent.Intellect.ID
	if agent.Intellect.Type != management.IntellectGenie || id == 0 || agent.MaxConversationLength != 60 || len(agent.AvatarIDs) != 0 {
		t.Errorf("agent %+v", agent)
	}
	html, err := c.Agents.EmbedScript(ctx, agent.ID, "contained")
	if err != nil || !strings.Contains(html, "agent-avatar") {
		t.Errorf("embed %q, %v", html, err)
	}

	before, err := c.Intellects.Snapshot(ctx, id, "first")
	must(t, "snapshot", err)
	must(t, "prompts", drop(c.Intellects.Update(ctx, id, management.IntellectFields{BaseDirective: new("Be long."), Prompts: []management.Prompt{}})))
	must(t, "capability", c.Intellects.SetCapability(ctx, id, "show_link", "on"))
	after, err := c.Intellects.Snapshot(ctx, id, "second")
	must(t, "snapshot", err)
	if d := management.DiffSnapshots(before, after); len(d.Removed) != len(prompts) || !slices.Equal(d.Scalars, []string{"base_directive"}) || !d.Capabilities {
		t.Errorf("diff %+v", d)
	}
	_, err = c.Intellects.Restore(ctx, before)
	must(t, "restore", err)
	again, err := c.Intellects.Snapshot(ctx, id, "")
	if d := management.DiffSnapshots(before, again); err != nil || !d.Empty() {
		t.Errorf("diff %+v, %v", d, err)
	}

	resolved, err := c.Intellects.ResolveCapabilities(ctx, id, map[string]string{"show_link": "on"})
	if err != nil || resolved["show_link"].From != management.FromRequest {
		t.Errorf("%+v, %v", resolved["show_link"], err)
	}
	result, err := c.Intellects.SetBrainConfig(ctx, id, management.BrainConfig{
		AgentLLM: "m-1", RateLimits: management.RateLimits{PerMinute: new(3)}, WebSearch: &management.WebSearch{},
	})
	if err != nil || !result.Applied || !slices.Equal(result.SentKeys, []string{"agent_llm", "rate_limit_per_minute", "web_search_config"}) {
		t.Errorf("%+v, %v", result, err)
	}
	config, err := c.Intellects.GetBrainConfig(ctx, id)
	if err != nil || string(config["agent_llm"]) != `"m-1"` || !strings.Contains(string(config["web_search_config"]), `"include_answer":false`) {
		t.Errorf("%s, %v", config["web_search_config"], err)
	}
	result, err = c.Intellects.SetBrainConfig(ctx, 999999, management.BrainConfig{AgentLLM: "m"})
	if err != nil || result.Applied || result.Code != "not_deployed" {
		t.Errorf("of an unknown intellect: %+v, %v", result, err)
	}

	tool := management.APITool("Finds.", "POST", "https://x.example/{{ args.q }}", management.Param{Name: "q", Description: "what", Required: true})
	tool.Request.Body, tool.ResponseTemplate = json.RawMessage(`{"q":"{{args.q}}"}`), "{{ id }}"
	tool.Request.Headers = map[string]string{"Authorization": "Bearer {{secrets.OTHER}}"}
	made, err := c.Tools.Add(ctx, "find_it", tool)
	must(t, "tool", err)
	if read, err := c.Tools.Get(ctx, made.ID); err != nil || !reflect.DeepEqual(read.Config.Args, management.Params{{Name: "q", Type: "str", Description: "what", Required: true}}) ||
		read.Config.Request.Timeout != management.DefaultRequestTimeout || read.Config.ResponseTemplate != "{{ id }}" {
		t.Errorf("%+v, %v", read, err)
	}
	must(t, "tool_ids", drop(c.Intellects.Update(ctx, id, management.IntellectFields{ToolIDs: []string{made.ID}})))
	refs, err := c.Intellects.ValidateSecrets(ctx, id)
	if err != nil || refs.OK() || refs.Unresolved[0].Name != "OTHER" || !slices.Equal(refs.Unused, []string{"CRM"}) {
		t.Errorf("%+v, %v", refs, err)
	}

	receptionist, _ := info.Agent("receptionist")
	shown, err := c.Agents.Get(ctx, receptionist.AgentID)
	must(t, "receptionist", err)
	clone, err := c.Avatars.Clone(ctx, shown.AvatarIDs[0])
	if err != nil || clone.ID == shown.AvatarIDs[0] || clone.Voice.ID == "" {
		t.Errorf("%+v, %v", clone, err)
	}
	voice, err := c.Catalog.ImportVoiceFromElevenLabs(ctx, "demo-voice-1")
	must(t, "voice", err)
	voice, err = c.Catalog.Update(ctx, voice.ID, management.CatalogPatch{
		Attributes: map[string]map[string]any{"voice": {"name": "Renamed"}}, AdminTags: []string{"a", "b"}, File: bytes.NewReader(wav(7)),
	})
	if err != nil || voice.Attributes.Voice.Name != "Renamed" || !slices.Equal(voice.AdminTags, []string{"a", "b"}) || voice.VoiceSampleURL == "" {
		t.Errorf("%+v, %v", voice, err)
	}
	_, err = c.Catalog.ImportVoiceFromCartesia(ctx, "x")
	wantCode(t, "Cartesia", err, fault.VoiceNotFoundCartesia)
	presets, err := management.Collect(c.Catalog.List(ctx, management.CatalogFilter{Type: management.CatalogVisual}))
	must(t, "presets", err)
	_, err = c.Catalog.Update(ctx, presets[0].ID, management.CatalogPatch{AdminTags: []string{}})
	wantCode(t, "a preset", err, fault.CatalogItemNotFound)
}
