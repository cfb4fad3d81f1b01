//go:build !js

package management_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// A call is one method of the client, with the request that it makes.
type call struct {
	name    string
	do      func(context.Context, *management.Client) error
	service string
	path    string
	body    string // as JSON
	reply   string
}

// testCalls checks the request that each call makes.
func testCalls(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		f := newFake(t, map[string][]answer{c.path: {{0, c.reply}}})
		if err := c.do(t.Context(), f.Client); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		asked, body := f.last()
		if asked.service != c.service || asked.path != c.path || asked.auth != "KS "+adminKS && asked.auth != "Bearer "+adminKS {
			t.Errorf("%s: asked %s %s with %s", c.name, asked.service, asked.path, asked.auth)
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(c.body), &want); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !reflect.DeepEqual(body, want) {
			t.Errorf("%s: sent\n     %s\nwant %s", c.name, asked.body, c.body)
		}
	}
}

// refusal is a call that must fail without a request.
type refusal struct {
	name string
	do   func(context.Context, *management.Client) error
	code fault.Code
}

func testRefusals(t *testing.T, refusals []refusal) {
	t.Helper()
	f := newFake(t, nil)
	for _, r := range refusals {
		wantCode(t, r.name, r.do(t.Context(), f.Client), r.code)
		if list := f.take(); len(list) > 0 {
			t.Errorf("%s: asked %s", r.name, list[0].path)
		}
	}
}

// drop is the error of a call without its result.
func drop[T any](_ T, err error) error { return err }

func TestIntellectCalls(t *testing.T) {
	const record = `{"id":7,"name":"Robin","unknown":{"a":1}}`
	set := func(name, body string, do func(context.Context, management.Intellects) error) call {
		return call{name, func(ctx context.Context, c *management.Client) error { return do(ctx, c.Intellects) }, "genie", "/v1/intellect/update", body, record}
	}
	testCalls(t, []call{
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.Intellects.Get(ctx, 7)) }, "genie", "/v1/intellect/get", `{"id":7}`, record},
		{"list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Intellects.List(ctx)))
		}, "genie", "/v1/intellect/list", `{"filter":{},"pager":{"pageIndex":1,"pageSize":30}}`, `{"totalCount":1,"objects":[` + record + `]}`},
		{"add", func(ctx context.Context, c *management.Client) error {
			return drop(c.Intellects.Add(ctx, management.IntellectFields{Name: new("Robin"), ToolIDs: []string{}}))
		}, "genie", "/v1/intellect/add", `{"type":"internal","name":"Robin","status":2,"tool_ids":[]}`, record},
		{"update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Intellects.Update(ctx, 7, management.IntellectFields{Glossary: new("")}))
		}, "genie", "/v1/intellect/update", `{"id":7,"type":"internal","glossary":""}`, record},
		{"delete", func(ctx context.Context, c *management.Client) error {
			return c.Intellects.Delete(ctx, 7, management.ConfirmPermanent)
		}, "genie", "/v1/intellect/delete", `{"id":7}`, `null`},
		set("model_configuration", `{"id":7,"type":"internal","model_configuration":{"model_id":"m","max_output_tokens":9,"thinking_level":"low","temperature":0}}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetModelConfiguration(ctx, 7, &management.ModelConfiguration{ModelID: "m", MaxOutputTokens: 9, ThinkingLevel: "low", Temperature: new(0.0)})
			}),
		set("model_configuration, cleared", `{"id":7,"type":"internal","model_configuration":null}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetModelConfiguration(ctx, 7, nil) }),
		set("opening_phrase", `{"id":7,"type":"internal","opening_phrase":"Hello {{ name }}"}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetOpeningPhrase(ctx, 7, "Hello {{ name }}")
			}),
		set("opening_phrase, silent", `{"id":7,"type":"internal","opening_phrase":"<blank>"}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetOpeningPhrase(ctx, 7, management.SilentOpening)
			}),
		set("opening_phrase, cleared", `{"id":7,"type":"internal","opening_phrase":null}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetOpeningPhrase(ctx, 7, "") }),
		set("thread_start_tools", `{"id":7,"type":"internal","thread_start_tools":["b","a"]}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetThreadStartTools(ctx, 7, "b", "a")
			}),
		set("thread_start_tools, cleared", `{"id":7,"type":"internal","thread_start_tools":[]}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetThreadStartTools(ctx, 7) }),
		set("avatar_summary_config", `{"id":7,"type":"internal","avatar_summary_config":{"analysis":{"mood":"x"},"template":"{{ mood }}","content_type":"text"}}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetAvatarSummaryConfig(ctx, 7, &management.AvatarSummaryConfig{
					Analysis: map[string]string{"mood": "x"}, Template: "{{ mood }}", ContentType: "text",
				})
			}),
		set("avatar_summary_config, cleared", `{"id":7,"type":"internal","avatar_summary_config":null}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetAvatarSummaryConfig(ctx, 7, nil) }),
		set("skill_ids", `{"id":7,"type":"internal","skill_ids":[{"id":"s","mode":"preloaded","condition":"sys__avatar_enabled"}]}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetSkillIDs(ctx, 7, management.SkillRef{ID: "s", Mode: management.SkillPreloaded, Condition: "sys__avatar_enabled"})
			}),
		set("tool_ids", `{"id":7,"type":"internal","tool_ids":["a"]}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetToolIDs(ctx, 7, "a") }),
		set("knowledge_ids", `{"id":7,"type":"internal","knowledge_ids":[3]}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetKnowledgeIDs(ctx, 7, 3) }),
		set("allow_client_variables", `{"id":7,"type":"internal","allow_client_variables":false}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetAllowClientVariables(ctx, 7, false)
			}),
		set("prompts", `{"id":7,"type":"internal","prompts":[{"key":"a","label":"a","headerTemplate":"a","type":"custom","value":"b"}]}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetPrompts(ctx, 7, management.Prompt{Key: "a", Value: "b"})
			}),
		set("base_directive", `{"id":7,"type":"internal","base_directive":"x"}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetBaseDirective(ctx, 7, "x") }),
		set("mcp_servers", `{"id":7,"type":"internal","mcp_servers":{"a":{"url":"https://a.example"}}}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.SetMCPServers(ctx, 7, management.MCPServer{Name: "a", URL: "https://a.example"})
			}),
		set("user_properties_forms", `{"id":7,"type":"internal","user_properties_forms":[]}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetUserPropertiesForms(ctx, 7) }),
		set("metadata", `{"id":7,"type":"internal","metadata":{}}`,
			func(ctx context.Context, i management.Intellects) error { return i.SetMetadata(ctx, 7, nil) }),
		set("all secrets", `{"id":7,"type":"internal","secrets":{"A":"value"}}`,
			func(ctx context.Context, i management.Intellects) error {
				return i.ReplaceSecrets(ctx, 7, map[string]string{"A": "value"}, management.ConfirmPermanent)
			}),
	})
}

func TestIntellectCallsThatAreRefused(t *testing.T) {
	on := func(do func(context.Context, management.Intellects) error) func(context.Context, *management.Client) error {
		return func(ctx context.Context, c *management.Client) error { return do(ctx, c.Intellects) }
	}
	testRefusals(t, []refusal{
		{"get 0", on(func(ctx context.Context, i management.Intellects) error { return drop(i.Get(ctx, 0)) }), fault.BadRequest},
		{"add", on(func(ctx context.Context, i management.Intellects) error {
			return drop(i.Add(ctx, management.IntellectFields{ToolIDs: []string{""}}))
		}), fault.BadRequest},
		{"update", on(func(ctx context.Context, i management.Intellects) error {
			return drop(i.Update(ctx, 7, management.IntellectFields{KnowledgeIDs: []int64{1, 2}}))
		}), fault.BadRequest},
		{"delete", on(func(ctx context.Context, i management.Intellects) error { return i.Delete(ctx, 7) }), fault.ConfirmationRequired},
		{"delete by force", on(func(ctx context.Context, i management.Intellects) error { return i.Delete(ctx, 7, management.Force) }), fault.ConfirmationRequired},
		{"model_configuration", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetModelConfiguration(ctx, 7, &management.ModelConfiguration{Temperature: new(2.0)})
		}), fault.BadRequest},
		{"opening_phrase", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetOpeningPhrase(ctx, 7, "{{ sys__ks }}")
		}), fault.BadRequest},
		{"thread_start_tools", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetThreadStartTools(ctx, 7, "a", "a")
		}), fault.BadRequest},
		{"avatar_summary_config", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetAvatarSummaryConfig(ctx, 7, &management.AvatarSummaryConfig{Template: "{{ mood }}"})
		}), fault.BadRequest},
		{"skill_ids", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetSkillIDs(ctx, 7, management.SkillRef{ID: "a"})
		}), fault.BadRequest},
		{"tool_ids", on(func(ctx context.Context, i management.Intellects) error { return i.SetToolIDs(ctx, 7, "a b") }), fault.BadRequest},
		{"knowledge_ids", on(func(ctx context.Context, i management.Intellects) error { return i.SetKnowledgeIDs(ctx, 7, 1, 2) }), fault.BadRequest},
		{"allow_client_variables", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetAllowClientVariables(ctx, -7, true)
		}), fault.BadRequest},
		{"prompts", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetPrompts(ctx, 7, management.Prompt{Key: "a", Value: "{{ sys__nothing }}"})
		}), fault.PromptLintFailed},
		{"base_directive", on(func(ctx context.Context, i management.Intellects) error { return i.SetBaseDirective(ctx, 7, "{{") }), fault.PromptLintFailed},
		{"mcp_servers", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetMCPServers(ctx, 7, management.MCPServer{Name: "a", URL: "ws://a"})
		}), fault.InvalidURL},
		{"user_properties_forms", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetUserPropertiesForms(ctx, 7, management.UserPropertiesForm{})
		}), fault.BadRequest},
		{"unknown capability", on(func(ctx context.Context, i management.Intellects) error { return i.SetCapability(ctx, 7, "x", "on") }), fault.UnknownCapability},
		{"state of a capability", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetCapability(ctx, 7, "avatar", "yes")
		}), fault.BadRequest},
		{"no capability", on(func(ctx context.Context, i management.Intellects) error { return i.SetCapabilities(ctx, 7, nil) }), fault.BadRequest},
		{"secret", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetSecrets(ctx, 7, map[string]string{"A": "***"})
		}), fault.BadRequest},
		{"no secret", on(func(ctx context.Context, i management.Intellects) error { return i.SetSecrets(ctx, 7, nil) }), fault.BadRequest},
		{"delete a secret", on(func(ctx context.Context, i management.Intellects) error {
			return i.DeleteSecrets(ctx, 7, []string{"A"})
		}), fault.ConfirmationRequired},
		{"replace secrets", on(func(ctx context.Context, i management.Intellects) error { return i.ReplaceSecrets(ctx, 7, nil) }), fault.ConfirmationRequired},
		{"language", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetForcedLanguage(ctx, management.ForcedLanguage{ConfigID: 7, Language: "klingon"})
		}), fault.BadRequest},
		{"language of nothing", on(func(ctx context.Context, i management.Intellects) error {
			return i.SetForcedLanguage(ctx, management.ForcedLanguage{Language: "de"})
		}), fault.BadRequest},
	})
}

func TestCapabilitiesAreMerged(t *testing.T) {
	const stored = `{"id":7,"capabilities":{"avatar":"on","use_web_search":"disabled"}}`
	f := newFake(t, map[string][]answer{"/v1/intellect/get": {{0, stored}}, "/v1/intellect/update": {{0, stored}}})
	if err := f.Intellects.SetCapability(t.Context(), 7, "show_link", "on"); err != nil {
		t.Fatal(err)
	}
	_, body := f.last()
	want := map[string]any{"id": 7.0, "type": "internal", "capabilities": map[string]any{"avatar": "on", "use_web_search": "disabled", "show_link": "on"}}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
	wantCode(t, "a veto", f.Intellects.SetCapability(t.Context(), 7, "use_web_search", "on"), fault.CapabilityVetoed)
	wantRequests(t, f, "genie /v1/intellect/get")
	if err := f.Intellects.SetCapability(t.Context(), 7, "use_web_search", "on", management.Force); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreWrittenWithTheMaskOfTheOthers(t *testing.T) {
	const stored = `{"id":7,"secrets":{"A":"***","B":"***"}}`
	const value = "a value that is secret"
	f := newFake(t, map[string][]answer{
		"/v1/intellect/get":    {{0, stored}},
		"/v1/intellect/update": {{0, stored}, {0, stored}, {400, `{"message":"bad value ` + value + `"}`}},
	})
	if err := f.Intellects.SetSecrets(t.Context(), 7, map[string]string{"B": value}); err != nil {
		t.Fatal(err)
	}
	_, body := f.last()
	if want := (map[string]any{"id": 7.0, "type": "internal", "secrets": map[string]any{"A": "***", "B": value}}); !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
	if err := f.Intellects.DeleteSecrets(t.Context(), 7, []string{"B", "C"}, management.ConfirmPermanent); err != nil {
		t.Fatal(err)
	}
	_, body = f.last()
	if want := (map[string]any{"id": 7.0, "type": "internal", "secrets": map[string]any{"A": "***"}}); !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
	names, err := f.Intellects.SecretNames(t.Context(), 7)
	if err != nil || !reflect.DeepEqual(names, []string{"A", "B"}) {
		t.Errorf("names %v, %v", names, err)
	}
	err = f.Intellects.SetSecrets(t.Context(), 7, map[string]string{"B": value})
	wantCode(t, "refused", err, fault.BadRequest)
	if text, _ := json.Marshal(err); containsAny(value, err.Error(), string(text)) {
		t.Errorf("the value is in %v, %s", err, text)
	}
}

func TestForcedLanguageIsOneCall(t *testing.T) {
	const stored = `{"id":7,"prompts":[{"name":"mine","value":"x"},{"name":"forced_language","value":"old"}]}`
	f := newFake(t, map[string][]answer{
		"/v1/intellect/get": {{0, stored}}, "/v1/intellect/update": {{0, stored}}, "/agent/update": {{0, agentJSON}},
	})
	if err := f.Intellects.SetForcedLanguage(t.Context(), management.ForcedLanguage{ConfigID: 7, AgentID: "a-1", Language: "de-AT"}); err != nil {
		t.Fatal(err)
	}
	var bodies []map[string]any
	for _, a := range f.take() {
		var body map[string]any
		if json.Unmarshal([]byte(a.body), &body) == nil {
			bodies = append(bodies, body)
		}
	}
	if len(bodies) != 3 {
		t.Fatalf("sent %v", bodies)
	}
	prompts, _ := bodies[1]["prompts"].([]any)
	if bodies[1]["language"] != "de-AT" || len(prompts) != 2 || bodies[2]["agentId"] != "a-1" {
		t.Errorf("sent %v", bodies)
	}
	if err := f.Intellects.SetForcedLanguage(t.Context(), management.ForcedLanguage{ConfigID: 7}); err != nil {
		t.Fatal(err)
	}
	_, body := f.last()
	want := map[string]any{"id": 7.0, "type": "internal", "language": nil, "prompts": []any{
		map[string]any{"key": "mine", "label": "mine", "headerTemplate": "mine", "type": "custom", "value": "x"},
	}}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
}

func TestToolAndSkillCalls(t *testing.T) {
	const tool, skill = `{"id":"t-1","name":"note","config":{"type":"client","description":"x"}}`, `{"id":"s-1","name":"polite","description":"d","partner_id":0}`
	testCalls(t, []call{
		{"tool list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Tools.List(ctx)))
		}, "genie", "/v1/tool/list", `{"filter":{"objectType":"ToolListFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, `{"totalCount":1,"objects":[` + tool + `]}`},
		{"tool get", func(ctx context.Context, c *management.Client) error { return drop(c.Tools.Get(ctx, "t-1")) }, "genie", "/v1/tool/get", `{"id":"t-1"}`, tool},
		{"tool add", func(ctx context.Context, c *management.Client) error {
			return drop(c.Tools.Add(ctx, "note", management.ClientTool("x")))
		}, "genie", "/v1/tool/add", `{"name":"note","config":{"name":"note","type":"client","description":"x","wait_for_response":true}}`, tool},
		{"tool update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Tools.Update(ctx, "t-1", management.ToolPatch{Name: new("other")}))
		}, "genie", "/v1/tool/update", `{"id":"t-1","name":"other"}`, tool},
		{"tool delete by force", func(ctx context.Context, c *management.Client) error {
			return c.Tools.Delete(ctx, "t-1", management.ConfirmPermanent, management.Force)
		}, "genie", "/v1/tool/delete", `{"id":"t-1"}`, `null`},
		{"skill list", func(ctx context.Context, c *management.Client) error {
			list, err := management.Collect(c.Skills.List(ctx))
			if err == nil && !list[0].Shared() {
				t.Error("partner_id 0 is a shared skill")
			}
			return err
		}, "genie", "/v1/skill/list", `{"filter":{"objectType":"SkillListFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, `{"totalCount":1,"objects":[` + skill + `]}`},
		{"skill get", func(ctx context.Context, c *management.Client) error { return drop(c.Skills.Get(ctx, "s-1")) }, "genie", "/v1/skill/get", `{"id":"s-1"}`, skill},
		{"skill add", func(ctx context.Context, c *management.Client) error {
			return drop(c.Skills.Add(ctx, management.SkillInput{Name: "polite", Description: "d", Instructions: "for {{ sys__user_id }}"}))
		}, "genie", "/v1/skill/add", `{"name":"polite","description":"d","instructions":"for {{ sys__user_id }}"}`, skill},
		{"skill update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Skills.Update(ctx, "s-1", management.SkillPatch{Instructions: new("")}))
		}, "genie", "/v1/skill/update", `{"id":"s-1","instructions":""}`, skill},
		{"skill delete by force", func(ctx context.Context, c *management.Client) error {
			return c.Skills.Delete(ctx, "s-1", management.ConfirmPermanent, management.Force)
		}, "genie", "/v1/skill/delete", `{"id":"s-1"}`, `{"id":"s-1"}`},
	})
	testRefusals(t, []refusal{
		{"tool get", func(ctx context.Context, c *management.Client) error { return drop(c.Tools.Get(ctx, "")) }, fault.BadRequest},
		{"tool add", func(ctx context.Context, c *management.Client) error {
			return drop(c.Tools.Add(ctx, "a b", management.ClientTool("x")))
		}, fault.BadRequest},
		{"tool update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Tools.Update(ctx, "t-1", management.ToolPatch{}))
		}, fault.BadRequest},
		{"tool config", func(ctx context.Context, c *management.Client) error {
			return drop(c.Tools.Update(ctx, "t-1", management.ToolPatch{Config: &management.ToolConfig{}}))
		}, fault.BadRequest},
		{"tool delete", func(ctx context.Context, c *management.Client) error {
			return c.Tools.Delete(ctx, "t-1", management.Force)
		}, fault.ConfirmationRequired},
		{"skill add", func(ctx context.Context, c *management.Client) error {
			return drop(c.Skills.Add(ctx, management.SkillInput{Name: "a"}))
		}, fault.BadRequest},
		{"skill instructions", func(ctx context.Context, c *management.Client) error {
			return drop(c.Skills.Add(ctx, management.SkillInput{Name: "a", Description: "b", Instructions: "{{ sys__ks }}"}))
		}, fault.PromptLintFailed},
		{"skill update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Skills.Update(ctx, "s-1", management.SkillPatch{}))
		}, fault.BadRequest},
		{"skill delete", func(ctx context.Context, c *management.Client) error { return c.Skills.Delete(ctx, "s-1") }, fault.ConfirmationRequired},
	})
}

func TestANameInUseIsAConflict(t *testing.T) {
	taken := []answer{{409, `{"message":"the name is in use"}`}}
	f := newFake(t, map[string][]answer{"/v1/tool/add": taken, "/v1/tool/update": taken, "/v1/skill/add": taken, "/v1/skill/update": taken})
	_, err := f.Tools.Add(t.Context(), "note", management.ClientTool("x"))
	wantCode(t, "tool", err, fault.Conflict)
	_, err = f.Tools.Update(t.Context(), "t-1", management.ToolPatch{Name: new("note")})
	wantCode(t, "tool", err, fault.Conflict)
	_, err = f.Skills.Add(t.Context(), management.SkillInput{Name: "a", Description: "b"})
	wantCode(t, "skill", err, fault.Conflict)
	_, err = f.Skills.Update(t.Context(), "s-1", management.SkillPatch{Name: new("a")})
	wantCode(t, "skill", err, fault.Conflict)
}

// intellectsWith returns the list of intellects in two pages; the third intellect has the
// given field.
func intellectsWith(field string) []answer {
	return []answer{
		{0, `{"totalCount":3,"objects":[{"id":1},{"id":2,"tool_ids":["other"],"skill_ids":[{"id":"other","mode":"adhoc"}],"knowledge_ids":[8]}]}`},
		{0, `{"totalCount":3,"objects":[{"id":3,"name":"Robin",` + field + `}]}`},
	}
}

func TestWhatIsInUseIsNotDeleted(t *testing.T) {
	for _, test := range []struct {
		name, field string
		code        fault.Code
		remove      func(context.Context, *management.Client) error
	}{
		{"tool", `"tool_ids":["x"]`, fault.ToolInUse, func(ctx context.Context, c *management.Client) error {
			return c.Tools.Delete(ctx, "x", management.ConfirmPermanent)
		}},
		{"thread-start tool", `"thread_start_tools":["x"]`, fault.ToolInUse, func(ctx context.Context, c *management.Client) error {
			return c.Tools.Delete(ctx, "x", management.ConfirmPermanent)
		}},
		{"knowledge record", `"knowledge_ids":[7]`, fault.KnowledgeInUse, func(ctx context.Context, c *management.Client) error {
			return c.Knowledge.Delete(ctx, 7, management.ConfirmPermanent)
		}},
		{"skill", `"skill_ids":[{"id":"x","mode":"adhoc"}]`, fault.SkillInUse, func(ctx context.Context, c *management.Client) error {
			return c.Skills.Delete(ctx, "x", management.ConfirmPermanent)
		}},
	} {
		f := newFake(t, map[string][]answer{"/v1/intellect/list": intellectsWith(test.field)})
		err := test.remove(t.Context(), f.Client)
		wantCode(t, test.name, err, test.code)
		if text, _ := json.Marshal(err); !containsAny("3 (Robin)", err.Error()) || !containsAny(`"intellects":[3]`, string(text)) {
			t.Errorf("%s: %s does not name the intellect", test.name, text)
		}
		wantRequests(t, f, "genie /v1/intellect/list", "genie /v1/intellect/list")
		// What can't be looked up is not deleted either.
		broken := newFake(t, map[string][]answer{"/v1/intellect/list": {{403, `{}`}}})
		wantCode(t, test.name, test.remove(t.Context(), broken.Client), fault.Forbidden)
		wantRequests(t, broken, "genie /v1/intellect/list")
	}
}

func TestThreadCalls(t *testing.T) {
	const thread = `{"id":"th-1","title":"T"}`
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	testCalls(t, []call{
		{"list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Threads.List(ctx, management.ThreadFilter{})))
		}, "genie", "/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, `{"totalCount":1,"objects":[` + thread + `]}`},
		{"list with every filter", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Threads.List(ctx, management.ThreadFilter{
				AgentID: "a", ContextID: "c", ID: "i", IDs: []string{"i"}, PartnerID: 5, Status: "active", Statuses: []string{"active"}, UserID: new(""),
				Everywhere: true, CreatedFrom: day, CreatedTo: day, UpdatedFrom: day, UpdatedTo: day, OrderBy: "-createdAt",
			}, management.PageSize(500))))
		}, "genie", "/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter","agentIdEquals":"a","contextIdEqual":"c","idEquals":"i","idsIn":["i"],
			"partnerIdEquals":5,"statusEquals":"active","statusIn":["active"],"userIdEquals":"","isEverywhere":true,
			"createdAtGreaterThanOrEqual":"2026-01-02T03:04:05Z","createdAtLessThanOrEqual":"2026-01-02T03:04:05Z",
			"updatedAtGreaterThanOrEqual":"2026-01-02T03:04:05Z","updatedAtLessThanOrEqual":"2026-01-02T03:04:05Z","orderBy":"-createdAt"},
			"pager":{"pageIndex":1,"pageSize":500}}`, `{"totalCount":0,"objects":[]}`},
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.Threads.Get(ctx, "th-1")) }, "genie", "/v1/thread/get", `{"id":"th-1"}`, thread},
		{"rename", func(ctx context.Context, c *management.Client) error { return drop(c.Threads.Rename(ctx, "th-1", "T")) }, "genie", "/v1/thread/update", `{"id":"th-1","title":"T"}`, thread},
		{"set analysis", func(ctx context.Context, c *management.Client) error {
			return drop(c.Threads.SetAnalysis(ctx, "th-1", map[string]any{"mood": "good"}))
		}, "genie", "/v1/thread/update", `{"id":"th-1","thread_metadata":{"analysis":{"mood":"good"}}}`, thread},
		{"clear analysis", func(ctx context.Context, c *management.Client) error {
			return drop(c.Threads.ClearAnalysis(ctx, "th-1"))
		}, "genie", "/v1/thread/update", `{"id":"th-1","thread_metadata":{}}`, thread},
		{"push", func(ctx context.Context, c *management.Client) error {
			pushed, err := c.Threads.Push(ctx, "th-1", management.PushInput{Content: "Hi", RequestVars: map[string]any{"a": 1}, SystemMessage: true})
			if pushed != (management.Pushed{Delivered: true, MessageID: "m-1"}) {
				t.Errorf("pushed %v", pushed)
			}
			return err
		}, "genie", "/thread/push", `{"id":"th-1","content":"Hi","request_vars":{"a":1},"system_message":true}`, `{"delivered":true,"message_id":"m-1"}`},
		{"delete", func(ctx context.Context, c *management.Client) error {
			deleted, err := c.Threads.Delete(ctx, []string{"th-1", "th-2"}, management.ConfirmPermanent)
			if len(deleted) != 1 || deleted[0].ID != "th-1" {
				t.Errorf("deleted %v", deleted)
			}
			return err
		}, "genie", "/v1/thread/delete", `{"thread_ids":["th-1","th-2"]}`, `{"totalCount":1,"objects":[` + thread + `]}`},
		{"transcript", func(ctx context.Context, c *management.Client) error {
			transcript, err := c.Threads.Transcript(ctx, "th-1")
			if len(transcript.Turns) != 2 || transcript.Turns[1].Text != "Hello." {
				t.Errorf("transcript %v", transcript)
			}
			return err
		}, "genie", "/v1/thread/get_transcripts", `{"id":"th-1"}`, `{"status":"success","data":"human: Hi\nai: Hello."}`},
		{"complete", func(ctx context.Context, c *management.Client) error { return c.Threads.Complete(ctx, "th-1") }, "genie", "/thread/session_completed", `{"id":"th-1"}`, `{}`},
	})
	testRefusals(t, []refusal{
		{"order", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Threads.List(ctx, management.ThreadFilter{OrderBy: "title"})))
		}, fault.BadRequest},
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.Threads.Get(ctx, "")) }, fault.BadRequest},
		{"rename", func(ctx context.Context, c *management.Client) error { return drop(c.Threads.Rename(ctx, "th-1", "")) }, fault.BadRequest},
		{"analysis", func(ctx context.Context, c *management.Client) error {
			return drop(c.Threads.SetAnalysis(ctx, "th-1", nil))
		}, fault.BadRequest},
		{"push of nothing", func(ctx context.Context, c *management.Client) error {
			return drop(c.Threads.Push(ctx, "th-1", management.PushInput{}))
		}, fault.BadRequest},
		{"push of a reserved name", func(ctx context.Context, c *management.Client) error {
			return drop(c.Threads.Push(ctx, "th-1", management.PushInput{Content: "x", RequestVars: map[string]any{"sys__user_id": "u"}}))
		}, fault.ValidationError},
		{"delete nothing", func(ctx context.Context, c *management.Client) error {
			return drop(c.Threads.Delete(ctx, nil, management.ConfirmPermanent))
		}, fault.BadRequest},
		{"delete", func(ctx context.Context, c *management.Client) error {
			return drop(c.Threads.Delete(ctx, []string{"th-1"}))
		}, fault.ConfirmationRequired},
		{"transcript", func(ctx context.Context, c *management.Client) error { return drop(c.Threads.Transcript(ctx, "")) }, fault.BadRequest},
		{"complete", func(ctx context.Context, c *management.Client) error { return c.Threads.Complete(ctx, "") }, fault.BadRequest},
	})
}

// The filters have the keys of the service document and no others; there is no agentIdIn.
func TestFilterKeys(t *testing.T) {
	for _, test := range []struct {
		filter any
		keys   []string
	}{
		{management.ThreadFilter{}, []string{
			"agentIdEquals", "contextIdEqual", "createdAtGreaterThanOrEqual", "createdAtLessThanOrEqual", "idEquals", "idsIn", "isEverywhere",
			"orderBy", "partnerIdEquals", "statusEquals", "statusIn", "updatedAtGreaterThanOrEqual", "updatedAtLessThanOrEqual", "userIdEquals",
		}},
		{management.MessageFilter{}, []string{
			"createdAtGreaterThanOrEqual", "createdAtLessThanOrEqual", "genieIdEquals", "idEquals", "idsIn", "isPositiveEquals", "isPositiveIn",
			"orderBy", "threadIdEquals", "updatedAtGreaterThanOrEqual", "updatedAtLessThanOrEqual", "userIdEquals",
		}},
	} {
		typ := reflect.TypeOf(test.filter)
		keys := map[string]bool{}
		for i := range typ.NumField() {
			keys[tagName(typ.Field(i))] = true
		}
		for _, key := range test.keys {
			if !keys[key] {
				t.Errorf("%s has no %s", typ, key)
			}
			delete(keys, key)
		}
		if len(keys) > 0 {
			t.Errorf("%s has %v, which the service does not know", typ, keys)
		}
	}
}

func TestMessageCalls(t *testing.T) {
	const message = `{"id":"m-1","thread_id":"th-1","type":"ai","content":[{"type":"text","content":"Hi"}]}`
	const report = "message_id,thread_id,user_id,question,is_positive\nm-1,th-1,sam,What?,true\n"
	testCalls(t, []call{
		{"list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Messages.List(ctx, management.MessageFilter{ThreadID: "th-1", ConfigID: 7})))
		}, "genie", "/message/list", `{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":"th-1","genieIdEquals":7},"pager":{"pageIndex":1,"pageSize":50}}`, `{"totalCount":1,"objects":[` + message + `]}`},
		{"get", func(ctx context.Context, c *management.Client) error {
			m, err := c.Messages.Get(ctx, "m-1")
			if m.Text() != "Hi" {
				t.Errorf("text %q", m.Text())
			}
			return err
		}, "genie", "/message/get", `{"id":"m-1"}`, message},
		{"share", func(ctx context.Context, c *management.Client) error {
			id, err := c.Messages.Share(ctx, "m-1", "T")
			if id != "m-2" {
				t.Errorf("id %q", id)
			}
			return err
		}, "genie", "/message/share", `{"id":"m-1","newTitle":"T"}`, `{"status":"success","data":{"newMessageId":"m-2"}}`},
		{"report", func(ctx context.Context, c *management.Client) error {
			text, err := c.Messages.Report(ctx, management.MessageFilter{Positive: new(true)}, management.PageSize(100))
			if string(text) != report {
				t.Errorf("report %q", text)
			}
			return err
		}, "genie", "/message/report", `{"filter":{"objectType":"GenieListMessageFilter","isPositiveEquals":true},"pager":{"pageIndex":1,"pageSize":100}}`, report},
		{"report summary", func(ctx context.Context, c *management.Client) error {
			s, err := c.Messages.ReportSummary(ctx, management.MessageFilter{})
			if s.Totals.Messages != 1 || *s.Feedback.PositiveRatio != 1 || s.TopQuestions[0].Question != "What?" ||
				s.Meta.PartnerID != partner || s.Meta.Source != "/message/report" || time.Since(s.Meta.GeneratedAt) > time.Minute || s.Meta.Scope == "" {
				t.Errorf("summary %+v", s)
			}
			return err
		}, "genie", "/message/report", `{"filter":{"objectType":"GenieListMessageFilter"},"pager":{"pageIndex":1,"pageSize":500}}`, report},
		{"feedback", func(ctx context.Context, c *management.Client) error {
			return c.Feedback.Add(ctx, management.FeedbackInput{MessageID: "m-1", Comment: "bad"})
		}, "genie", "/feedback/add", `{"schemaVersion":1,"data":{"message_id":"m-1","is_positive":false,"comment":"bad"}}`, `{}`},
		{"suggested questions", func(ctx context.Context, c *management.Client) error {
			list, err := c.Followups.Suggested(ctx)
			if len(list) != 1 || list[0].Text != "What?" {
				t.Errorf("questions %v", list)
			}
			return err
		}, "genie", "/followup/get-suggested-questions", `{}`, `["What?"]`},
		{"questions", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Followups.List(ctx)))
		}, "genie", "/followup/list", `{"filter":{"objectType":"GenieListQuestionFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, `{"totalCount":0,"objects":[]}`},
	})
	testRefusals(t, []refusal{
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.Messages.Get(ctx, "")) }, fault.BadRequest},
		{"share", func(ctx context.Context, c *management.Client) error { return drop(c.Messages.Share(ctx, "", "")) }, fault.BadRequest},
		{"report of too many", func(ctx context.Context, c *management.Client) error {
			return drop(c.Messages.Report(ctx, management.MessageFilter{}, management.PageSize(501)))
		}, fault.BadRequest},
		{"order", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Messages.List(ctx, management.MessageFilter{OrderBy: "x"})))
		}, fault.BadRequest},
		{"feedback", func(ctx context.Context, c *management.Client) error {
			return c.Feedback.Add(ctx, management.FeedbackInput{})
		}, fault.BadRequest},
	})
	f := newFake(t, map[string][]answer{"/message/share": {{0, `{"status":"success","data":{}}`}}})
	wantCode(t, "a copy without an id", drop(f.Messages.Share(t.Context(), "m-1", "T")), fault.ServerError)
}

// The calls of one user take an admin, conversation or agent token, and no widget token;
// push and the reports take an admin's.
func TestTokensOfThreadCalls(t *testing.T) {
	tokens := map[management.TokenKind]management.Token{}
	f := newFake(t, map[string][]answer{"/service/session/action/startWidgetSession": {{0, `{"ks":"` + userKS + `"}`}}})
	for _, mint := range []func() (management.Token, error){
		func() (management.Token, error) {
			return f.Tokens.Conversation(t.Context(), management.TokenInput{ConfigID: 7, UserID: "sam"})
		},
		func() (management.Token, error) {
			return f.Tokens.Agent(t.Context(), management.TokenInput{ConfigID: 7, AgentID: "a-1"})
		},
		func() (management.Token, error) { return f.Tokens.Widget(t.Context(), "w-1") },
	} {
		token, err := mint()
		if err != nil {
			t.Fatal(err)
		}
		tokens[token.Kind] = token
	}
	user := map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			return drop(management.Collect(f.Threads.List(ctx, management.ThreadFilter{})))
		},
		"get":        func(ctx context.Context) error { return drop(f.Threads.Get(ctx, "th-1")) },
		"rename":     func(ctx context.Context) error { return drop(f.Threads.Rename(ctx, "th-1", "T")) },
		"analysis":   func(ctx context.Context) error { return drop(f.Threads.ClearAnalysis(ctx, "th-1")) },
		"transcript": func(ctx context.Context) error { return drop(f.Threads.Transcript(ctx, "th-1")) },
		"delete": func(ctx context.Context) error {
			return drop(f.Threads.Delete(ctx, []string{"th-1"}, management.ConfirmPermanent))
		},
		"messages": func(ctx context.Context) error {
			return drop(management.Collect(f.Messages.List(ctx, management.MessageFilter{})))
		},
		"message": func(ctx context.Context) error { return drop(f.Messages.Get(ctx, "m-1")) },
		"share":   func(ctx context.Context) error { return drop(f.Messages.Share(ctx, "m-1", "T")) },
	}
	admin := map[string]func(context.Context) error{
		"push": func(ctx context.Context) error {
			return drop(f.Threads.Push(ctx, "th-1", management.PushInput{Content: "x"}))
		},
		"report": func(ctx context.Context) error { return drop(f.Messages.Report(ctx, management.MessageFilter{})) },
		"feedback": func(ctx context.Context) error {
			return drop(f.Feedback.List(ctx, management.FeedbackFilter{}))
		},
		"questions": func(ctx context.Context) error { return drop(management.Collect(f.Followups.List(ctx))) },
		"intellects": func(ctx context.Context) error {
			return drop(management.Collect(f.Intellects.List(ctx)))
		},
	}
	for kind, token := range tokens {
		ctx := management.WithToken(t.Context(), token)
		f.take()
		for name, do := range user {
			if kind == management.WidgetToken {
				wantCode(t, name, do(ctx), fault.WrongTokenScope)
				wantRequests(t, f)
				continue
			}
			// The fake has no such path; what counts is that it was asked.
			wantCode(t, name, do(ctx), fault.NotFound)
			if asked := f.take(); len(asked) != 1 || asked[0].auth != "KS "+token.KS() {
				t.Errorf("%s with a %s token: asked %v", name, kind, asked)
			}
		}
		for name, do := range admin {
			wantCode(t, name, do(ctx), fault.WrongTokenScope)
			wantRequests(t, f)
		}
	}
	// A token of an unknown kind is sent as it is.
	wantCode(t, "raw", user["get"](management.WithToken(t.Context(), management.RawToken(userKS))), fault.NotFound)
	wantRequests(t, f, "genie /v1/thread/get")
}

func TestFeedbackList(t *testing.T) {
	page := func(objects string, n int) answer {
		return answer{0, `{"totalCount":` + string(rune('0'+n)) + `,"objects":[` + objects + `]}`}
	}
	rated := func(id, thread, positive string) string {
		return `{"id":"` + id + `","thread_id":"` + thread + `","user_id":"sam","genie_id":"7","is_positive":` + positive + `,"comment":"c"}`
	}
	f := newFake(t, map[string][]answer{
		"/v1/thread/list": {page(`{"id":"th-1"},{"id":"th-2"}`, 2)},
		"/message/list": {
			page(rated("m-1", "th-1", "true")+`,{"id":"m-2"}`, 3), page(rated("m-3", "th-1", "false"), 3),
			page(`{"id":"m-4","thread_id":"th-2","is_positive":true,"feedback":{"message_id":"m-4","thread_id":"th-2","is_positive":true,"created_at":"2026-01-02T03:04:05Z"}}`, 1),
		},
	})
	rows, err := f.Feedback.List(t.Context(), management.FeedbackFilter{AgentID: "a-1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []management.FeedbackRow{
		{MessageID: "m-1", ThreadID: "th-1", GenieID: "7", UserID: "sam", IsPositive: true, Comment: "c"},
		{MessageID: "m-3", ThreadID: "th-1", GenieID: "7", UserID: "sam", Comment: "c"},
		{MessageID: "m-4", ThreadID: "th-2", IsPositive: true, CreatedAt: "2026-01-02T03:04:05Z"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("rows\n got %+v\nwant %+v", rows, want)
	}
	wantRequests(t, f, "genie /v1/thread/list", "genie /message/list", "genie /message/list", "genie /message/list")

	// Without an agent no threads are read, and the filter goes into that of messages.
	f = newFake(t, map[string][]answer{"/message/list": {page("", 0)}})
	if rows, err := f.Feedback.List(t.Context(), management.FeedbackFilter{MessageID: "a", MessageIDs: []string{"a"}, ThreadID: "t", Positive: new(false)}); err != nil || rows == nil {
		t.Errorf("%v, %v", rows, err)
	}
	asked, body := f.last()
	wantFilter := map[string]any{
		"objectType": "GenieListMessageFilter", "idEquals": "a", "idsIn": []any{"a"}, "threadIdEquals": "t", "isPositiveEquals": false,
	}
	if !reflect.DeepEqual(body["filter"], wantFilter) {
		t.Errorf("sent %s", asked.body)
	}
}
