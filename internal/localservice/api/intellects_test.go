package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// TestIntellectRoutes has what TestRandomRecords does not try.
func TestIntellectRoutes(t *testing.T) {
	m := serve(t, nil, nil).manager()
	blank := m.call("/v1/intellect/add", `{}`, 200)
	if blank["allow_client_variables"] != true || blank["model_configuration"] != nil || blank["opening_phrase"] != nil ||
		blank["avatar_summary_config"] != nil || fmt.Sprint(blank["tool_ids"], blank["thread_start_tools"]) != "[] []" {
		t.Errorf("defaults %v", blank)
	}
	skill := m.call("/v1/skill/add", `{"name":"manners","description":"d"}`, 200)["id"]
	var tools [2]any
	for n := range tools {
		tools[n] = m.call("/v1/tool/add", fmt.Sprintf(`{"name":"t%d","config":{"type":"client","description":"d"}}`, n), 200)["id"]
	}
	knowledge := m.call("/v1/knowledge/add", `{"name":"k"}`, 200)["id"]
	made := m.call("/v1/intellect/add", fmt.Sprintf(`{"name":"N","base_directive":"Be kind, {{ user }}.","prompts":[{"key":"p","headerTemplate":"P","value":"v"}],
		"glossary":"g","tool_ids":[%q],"knowledge_ids":[%v],"skill_ids":[{"id":%q,"mode":"preloaded","condition":"sys__avatar_enabled"}],
		"allow_client_variables":false,"model_configuration":{"model_id":"m","max_output_tokens":9,"thinking_level":"low","temperature":0.5},
		"opening_phrase":"Hi","thread_start_tools":[%q,%q],"avatar_summary_config":{"analysis":{"mood":"the mood"},"template":"{{ mood }}","content_type":"markdown"},
		"capabilities":{"generate_followup_questions":"on"},"mcp_servers":{"crm":{"url":"https://crm.example/mcp"}},"secrets":{"KEY":"s3cr3t"},
		"language":"de","metadata":{"a":1}}`, tools[0], knowledge, skill, tools[0], tools[1]), 200)
	id := int64(made["id"].(float64))
	got := m.call("/v1/intellect/get", fmt.Sprintf(`{"id":%d}`, id), 200)
	if got["base_directive"] != "Be kind, {{ user }}." || got["allow_client_variables"] != false || got["opening_phrase"] != "Hi" || got["language"] != "de" ||
		fmt.Sprint(got["thread_start_tools"]) != fmt.Sprint(tools) || fmt.Sprint(got["secrets"]) != "map[KEY:***]" || fmt.Sprint(got["knowledge_ids"]) != fmt.Sprint([]any{knowledge}) {
		t.Errorf("get %v", got)
	}
	update := func(fields string) map[string]any {
		t.Helper()
		return m.call("/v1/intellect/update", fmt.Sprintf(`{"id":%d,%s}`, id, fields), 200)
	}
	if got := update(`"capabilities":{"think_process":"on"}`); fmt.Sprint(got["capabilities"]) != "map[think_process:on]" {
		t.Errorf("a map is replaced as a whole: %v", got["capabilities"])
	}
	got = update(`"model_configuration":null,"opening_phrase":null,"avatar_summary_config":null,"thread_start_tools":[],"language":null`)
	if got["model_configuration"] != nil || got["opening_phrase"] != nil || got["avatar_summary_config"] != nil || got["language"] != "en-US" || fmt.Sprint(got["thread_start_tools"]) != "[]" {
		t.Errorf("null and empty lists clear: %v", got)
	}
	other := m.stranger()
	own := int64(other.call("/v1/intellect/add", `{"name":"own"}`, 200)["id"].(float64))
	other.refuses("/v1/intellect/update", fmt.Sprintf(`{"id":%d,"skill_ids":[{"id":%q,"mode":"adhoc"}]}`, own, skill), 403, "skill")
}

// TestSecretsAreNeverReadBack: they are masked, the mask keeps a value, and what an
// update leaves out is gone.
func TestSecretsAreNeverReadBack(t *testing.T) {
	m := serve(t, nil, nil).manager()
	id := int64(m.call("/v1/intellect/add", `{"secrets":{"A":"alpha-value","B":"beta-value"}}`, 200)["id"].(float64))
	for _, call := range []struct{ path, body string }{
		{"get", fmt.Sprintf(`{"id":%d}`, id)},
		{"list", `{"pager":{"pageSize":100}}`},
		{"update", fmt.Sprintf(`{"id":%d,"secrets":{"A":"***","C":"gamma-value"}}`, id)},
		{"update", fmt.Sprintf(`{"id":%d,"secrets":{"D":"***","E":"delta-value"}}`, id)},
	} {
		if got := m.post("/v1/intellect/"+call.path, m.ks, call.body); strings.Contains(got.body, "-value") {
			t.Errorf("%s shows a secret: %s", call.path, got.body)
		}
	}
	r, err := store.Intellects(m.store).Get(t.Context(), m.partner.ID, fmt.Sprint(id))
	if err != nil || fmt.Sprint(r.Body.Secrets) != "map[A:alpha-value C:gamma-value]" {
		t.Errorf("stored %v, %v", r.Body.Secrets, err)
	}
}

func TestIntellectsThatAreRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	for _, tt := range []struct {
		fields string
		status int
		text   string
	}{
		{`"unknown":1`, 422, "unknown"},
		{`"type":"external"`, 422, "internal"},
		{`"base_directive":7`, 422, "base_directive"},
		{`"base_directive":7`, 422, "should be a string, not number"},
		{`"prompts":{}`, 422, "should be an array, not object"},
		{`"capabilities":[]`, 422, "should be an object, not array"},
		{`"allow_client_variables":1`, 422, "should be a boolean, not number"},
		{`"knowledge_ids":["x"]`, 422, "should be an integer, not string"},
		{`"model_configuration":{"temperature":"x"}`, 422, "should be a number, not string"},
		{`"skill_ids":[{"id":"none","mode":"adhoc"}]`, 403, "skill"},
		{`"skill_ids":[{"id":"none","mode":"always"}]`, 422, "mode"},
		{`"skill_ids":[{"id":"none","mode":"adhoc","condition":"{{ x }}"}]`, 422, "condition"},
		{`"skill_ids":[{"id":"none","mode":"adhoc","condition":"x =="}]`, 422, "condition"},
		{`"skill_ids":[{"id":"a","mode":"adhoc"},{"id":"a","mode":"adhoc"}]`, 422, "unique"},
		{`"tool_ids":["a","a"]`, 422, "unique"},
		{`"thread_start_tools":["a","a"]`, 422, "unique"},
		{`"model_configuration":{"temperature":1.5}`, 422, "temperature"},
		{`"model_configuration":{"thinking_level":"deep"}`, 422, "thinking_level"},
		{`"model_configuration":{"max_output_tokens":-1}`, 422, "max_output_tokens"},
		{`"model_configuration":{"model":"x"}`, 422, "model"},
		{`"avatar_summary_config":{"template":"{{ mood }}"}`, 422, "mood"},
		{`"avatar_summary_config":{"analysis":{"mood":"m"},"template":"{{ summary }}"}`, 422, "summary"},
		{`"avatar_summary_config":{"content_type":"pdf"}`, 422, "content_type"},
		{`"capabilities":{"avatar":"maybe"}`, 422, "capabilities"},
		{`"mcp_servers":[{"name":"x","url":"http://x"}]`, 422, "mcp_servers"},
		{`"secrets":{"A":"***"}`, 422, "secrets"},
		{`"secrets":{"A B":"x"}`, 422, "secrets"},
		{`"knowledge_ids":[-1]`, 422, "knowledge_ids"},
		{`"knowledge_ids":[null]`, 422, "knowledge_ids"},
		{`"prompts":[null]`, 422, "prompts"},
		{`"script":"rules: 7"`, 422, "script"},
		{`"status":3`, 422, "status"},
		{`"prompts":[{"key":"k","type":"fixed","value":"v"}]`, 422, "custom"},
		{`"mcp_servers":{"a":{"url":"ftp://x"}}`, 422, "mcp_servers"},
		{`"mcp_servers":{"a":{"url":"http://x","allowed_prompts":["x"]}}`, 422, "allowed_prompts"},
		{`"user_properties_forms":[null]`, 422, "user_properties_forms"},
		{`"tags":["a","a"]`, 422, "tags"},
	} {
		m.refuses("/v1/intellect/add", "{"+tt.fields+"}", tt.status, tt.text)
		m.refuses("/v1/intellect/update", fmt.Sprintf(`{"id":%d,%s}`, m.agents[store.Silent].ConfigID, tt.fields), tt.status, tt.text)
	}
	m.refuses("/v1/intellect/update", `{"name":"x"}`, 422, "id")
	m.refuses("/v1/intellect/update", `{"id":7,"name":"x"}`, 404, "not found")
	m.refuses("/v1/intellect/get", `{"id":"7"}`, 422, "id")
	m.refuses("/v1/intellect/get", `{}`, 422, "id")
	m.refuses("/v1/intellect/delete", `{"id":7}`, 404, "not found")
	m.refuses("/v1/intellect/list", `{"filter":{"nameEquals":"x"}}`, 422, "nameEquals")
	m.refuses("/v1/intellect/list", `{"pager":{"pageIndex":0}}`, 422, "pageIndex")
}
