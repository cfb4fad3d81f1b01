package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// TestAgentsIntellect: the forms in which an agent names its intellect, or has its fields.
func TestAgentsIntellect(t *testing.T) {
	m := serve(t, nil, nil).manager()
	for _, form := range []string{`{"intellectType":"genie","id":1001}`, `{"id":1001}`, `{"intellectType":"genie","configId":1001}`} {
		made := m.call("/v1/agent/create", `{"displayName":"A","intellect":`+form+`,"maxConversationLength":120}`, 200)
		if fmt.Sprint(made["intellect"], made["avatarIds"], made["maxConversationLength"]) != "map[id:1001 intellectType:genie] [] 120" {
			t.Errorf("%s: %v", form, made)
		}
	}
	made := m.call("/v1/agent/create", `{"displayName":"B","intellect":{"intellectType":"genie","type":"internal","base_directive":"Be brief."}}`, 200)
	own := made["intellect"].(map[string]any)["id"]
	if got := m.call("/v1/intellect/get", fmt.Sprintf(`{"id":%v}`, own), 200); got["base_directive"] != "Be brief." {
		t.Errorf("the intellect of the agent: %v", got)
	}
	changed := m.call("/v1/agent/update", fmt.Sprintf(`{"agentId":%q,"intellect":{"base_directive":"Be long."},"maxConversationLength":60}`, made["agentId"]), 200)
	if next := changed["intellect"].(map[string]any)["id"]; next == own || changed["maxConversationLength"] != 60.0 {
		t.Errorf("changed %v", changed)
	}
	agent, err := m.store.Agent(t.Context(), m.partner.ID, made["agentId"].(string))
	if err != nil || agent.Profile.BaseDirective != "Be long." || agent.Profile.MaxConversation.Seconds() != 60 {
		t.Errorf("%+v, %v", agent.Profile, err)
	}
	_, before, _ := store.Intellects(m.store).List(t.Context(), m.partner.ID, store.Query{})
	m.refuses("/v1/agent/create", `{"displayName":" ","intellect":{"base_directive":"x"}}`, 400, "displayName")
	if _, after, _ := store.Intellects(m.store).List(t.Context(), m.partner.ID, store.Query{}); after != before {
		t.Error("an agent that was refused left its intellect")
	}
}

// TestEmbedScript: the script shows the agent's widget in each style.
func TestEmbedScript(t *testing.T) {
	for _, element := range []string{"", "http://pages.test/js/dist/element.js"} {
		v := serve(t, nil, func(c *Config) { c.ElementURL, c.Site = element, func() string { return "http://site.test" } })
		m := v.manager()
		for style, want := range map[string]string{"contained": "min-height", "page": "inset: 0", "floater": "bottom: 1rem"} {
			got := m.call("/v1/agent/getEmbedScript", fmt.Sprintf(`{"agentId":%q,"embedType":%q}`, v.agents[store.Receptionist].ID, style), 200)
			html := got["html"].(string)
			for _, part := range []string{
				`widget-id="` + v.agents[store.Receptionist].WidgetID + `"`, `agentic-url="http://site.test/v1"`, `genie-url="http://site.test"`,
				`ovp-url="http://site.test/api_v3"`, `modes="face text"`, want, `element.js"></script>`,
			} {
				if !strings.Contains(html, part) {
					t.Errorf("%s: no %s in %s", style, part, html)
				}
			}
			if served := element != ""; served == strings.Contains(fmt.Sprint(got["_meta"]), "serves no pages") || !strings.Contains(html, `src="`+cmp.Or(element, "element.js")+`"`) {
				t.Errorf("element %q: %v", element, got)
			}
		}
	}
}

// TestAvatarClone: the copy has another id, and its changes don't change the first one.
func TestAvatarClone(t *testing.T) {
	m := serve(t, nil, nil).manager()
	id := m.avatarOf(store.Receptionist)
	clone := m.call("/v1/avatar/clone", fmt.Sprintf(`{"id":%q}`, id), 200)
	first := m.call("/v1/avatar/get", fmt.Sprintf(`{"id":%q}`, id), 200)
	if clone["id"] == id || fmt.Sprint(clone["voice"], clone["visual"]) != fmt.Sprint(first["voice"], first["visual"]) {
		t.Errorf("clone %v of %v", clone, first)
	}
	m.call("/v1/avatar/update", fmt.Sprintf(`{"id":%q,"name":"Other"}`, clone["id"]), 200)
	if again := m.call("/v1/avatar/get", fmt.Sprintf(`{"id":%q}`, id), 200); again["name"] != first["name"] {
		t.Errorf("the first one became %v", again)
	}
	m.refuses("/v1/avatar/clone", `{"id":"xyz"}`, 400, "24 hexadecimal")
	m.refuses("/v1/avatar/clone", `{"id":"0123456789abcdef01234567"}`, 200, "AVATAR_NOT_FOUND")
}

// modelFunc is a model for one test.
type modelFunc func(system, user string) (string, error)

func (f modelFunc) Complete(_ context.Context, system, user string) (string, error) {
	return f(system, user)
}

// TestGenerateProfile: from the description alone, and by a model.
func TestGenerateProfile(t *testing.T) {
	const description = `{"userDescription":"A concierge named Mira for hotel guests. She books tables. Never talk about politics."}`
	m := serve(t, nil, nil).manager()
	got := m.call("/v1/application/generateAgentProfile", description, 200)
	for key, want := range map[string]string{
		"name": "Mira", "goal": "A concierge named Mira for hotel guests. She books tables.", "targetAudience": "hotel guests",
		"restrictedTopics": "Never talk about politics.", "openingPhrase": "Hello! I'm Mira. How can I help you?",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if !strings.Contains(fmt.Sprint(got["_meta"]), "no model") {
		t.Errorf("_meta: %v", got["_meta"])
	}
	m.refuses("/v1/application/generateAgentProfile", `{"userDescription":" "}`, 400, "userDescription")

	answer := "Here it is: {\"goal\":\"g\",\"targetAudience\":\"t\",\"restrictedTopics\":\"r\",\"name\":\"N\",\"openingPhrase\":\"o\"}"
	var asked string
	m = serve(t, nil, func(c *Config) {
		c.Model = modelFunc(func(_, user string) (string, error) { asked = user; return answer, nil })
	}).manager()
	got = m.call("/v1/application/generateAgentProfile", description, 200)
	if fmt.Sprint(got["goal"], got["targetAudience"], got["restrictedTopics"], got["name"], got["openingPhrase"]) != "gtrNo" || !strings.Contains(asked, "Mira") {
		t.Errorf("by the model: %v", got)
	}
	answer = "I can't."
	if got = m.call("/v1/application/generateAgentProfile", description, 200); got["name"] != "Mira" || got["_meta"] == nil {
		t.Errorf("after a useless answer: %v", got)
	}
}

// TestCustomPrompts: each of them fits into an intellect and has a key of the profile.
func TestCustomPrompts(t *testing.T) {
	m := serve(t, nil, nil).manager()
	profile := m.call("/v1/application/generateAgentProfile", `{"userDescription":"A guide."}`, 200)
	list := m.call("/v1/application/getCustomPrompts", `{}`, 200)["objects"].([]any)
	if len(list) == 0 {
		t.Fatal("no prompts")
	}
	for _, entry := range list {
		prompt := entry.(map[string]any)
		if _, ok := profile[fmt.Sprint(prompt["key"])]; !ok || prompt["type"] != "custom" || prompt["headerTemplate"] == "" {
			t.Errorf("%v", prompt)
		}
	}
	if got := m.post("/v1/application/getCustomPrompts", m.widget(store.Receptionist), `{}`); got.status != 200 {
		t.Errorf("with a widget token: %d", got.status)
	}
	if got := m.post("/v1/application/generateAgentProfile", m.mint(token.TypeUser, "ann", ""), `{"userDescription":"x"}`); got.status != 403 {
		t.Errorf("a profile for a user's token: %d", got.status)
	}
}

// TestIntellectShapes: what the public client writes is read back as it reads it.
func TestIntellectShapes(t *testing.T) {
	m := serve(t, nil, nil).manager()
	made := m.call("/v1/intellect/add", `{"type":"internal","status":2,"name":"N","description":"D","tags":["a"],
		"prompts":[{"key":"goal","label":"goal","headerTemplate":"Goal","type":"custom","value":"Help {{ name }}."}],
		"mcp_servers":{"docs":{"url":"https://mcp.test/v1"},"crm":{"url":"http://mcp.test","headers":{"X":"{{ secrets.A }}"}}},
		"secrets":{"A":"hidden"},"user_properties_forms":[{"call_stage":"start","properties":[{"key":"email","type":"str"}]}]}`, 200)
	if made["status"] != 2.0 || made["description"] != "D" || fmt.Sprint(made["tags"]) != "[a]" || made["partner_id"] == nil {
		t.Errorf("added %v", made)
	}
	expect.Equal(t, fmt.Sprint(made["prompts"]), "[map[headerTemplate:Goal key:goal label:goal type:custom value:Help {{ name }}.]]", "prompts")
	servers := made["mcp_servers"].(map[string]any)
	if got := fmt.Sprint(servers["docs"]); got != "map[allowed_prompts:<nil> allowed_resources:<nil> allowed_tools:<nil> headers:<nil> transport:streamable_http type:mcp url:https://mcp.test/v1]" {
		t.Errorf("mcp_servers.docs %s", got)
	}
	expect.Equal(t, fmt.Sprint(servers["crm"].(map[string]any)["headers"]), "map[X:{{ secrets.A }}]", "headers")
	form := made["user_properties_forms"].([]any)[0].(map[string]any)
	if form["id"] == nil || form["call_stage"] != "start" || form["title"] != "" || !strings.Contains(fmt.Sprint(made["_meta"]), "no form is shown") {
		t.Errorf("form %v, _meta %v", form, made["_meta"])
	}
	if plain := m.call("/v1/intellect/add", `{"type":"internal"}`, 200); plain["status"] != 1.0 || !strings.Contains(fmt.Sprint(plain["_meta"]), "status") {
		t.Errorf("without a status: %v", plain)
	}
}

// TestPartnerConfig: the brain configuration, and what a link to knowledge writes.
func TestPartnerConfig(t *testing.T) {
	m := serve(t, nil, nil).manager()
	if got := m.call("/partner-config/get", `{"id":0}`, 200); fmt.Sprint(got["config"]) != "map[]" {
		t.Errorf("of the partner: %v", got)
	}
	id := m.agents[store.Receptionist].ConfigID
	config := func(text string) string { return fmt.Sprintf(`{"id":%d,"config":%s}`, id, text) }
	category := m.addCategory(m.ks, "Food", 0)
	got := m.call("/partner-config/update", config(fmt.Sprintf(`{"agent_llm":"m-1","rate_limit_per_hour":5,"run_quota_check":true,"knowledge_ids":[0],
		"capabilities":{"use_knowledge_base":"on"},"indexer":{"categoryInfo":[{"categoryId":"%v","language":"English"}]}}`, category)), 200)
	if meta := fmt.Sprint(got["_meta"]); !strings.Contains(meta, "run_quota_check") || strings.Contains(meta, "agent_llm:") {
		t.Errorf("_meta %s", meta)
	}
	m.call("/partner-config/update", config(`{"run_quota_check":null,"capabilities":{"think_process":"off"}}`), 200)
	got = m.call("/partner-config/get", fmt.Sprintf(`{"id":%d}`, id), 200)["config"].(map[string]any)
	if got["agent_llm"] != "m-1" || got["rate_limit_per_hour"] != 5.0 || got["run_quota_check"] != nil || got["indexer"] == nil {
		t.Errorf("config %v", got)
	}
	agent, err := m.store.Agent(t.Context(), m.partner.ID, m.agents[store.Receptionist].ID)
	if err != nil || agent.Profile.Model.ModelID != "m-1" || agent.Profile.Capabilities["use_knowledge_base"] != "on" ||
		agent.Profile.Capabilities["think_process"] != "off" || *agent.Profile.Turns.PerHour != 5 {
		t.Errorf("%+v, %v", agent.Profile, err)
	}
	for body, text := range map[string]string{
		`{"id":1}`: "config", `{"config":{"agent_llm":"x"}}`: "id", config(`{"agent_llm":" "}`): "agent_llm", config(`{"rate_limit_per_minute":-1}`): "rate_limit_per_minute",
		config(`{"run_quota_check":1}`): "run_quota_check", config(`{"web_search_config":[]}`): "web_search_config", config(`{"colour":1}`): "colour",
		config(`{"capabilities":{"x":"maybe"}}`): "capabilities",
	} {
		m.refuses("/partner-config/update", body, 422, text)
	}
	m.refuses("/partner-config/update", config(`{"skill_ids":[{"id":"none","mode":"adhoc"}]}`), 403, "skill")
	m.refuses("/partner-config/get", `{"id":99}`, 404, "not found")
	m.refuses("/partner-config/update", `{"id":0,"config":{"agent_llm":"x"}}`, 404, "not found")
	m.stranger().refuses("/partner-config/get", fmt.Sprintf(`{"id":%d}`, id), 404, "not found")
}

// TestTurnLimits: each user has the turns that the brain configuration allows, and a limit
// of 0 refuses those without an id.
func TestTurnLimits(t *testing.T) {
	m := serve(t, nil, nil).manager()
	m.call("/partner-config/update", fmt.Sprintf(`{"id":%d,"config":{"rate_limit_per_minute":2,"anonymous_rate_limit_per_hour":0}}`,
		m.agents[store.Receptionist].ConfigID), 200)
	ann, bob := m.conversation(store.Receptionist, "ann"), m.conversation(store.Receptionist, "bob")
	turn := func(ks string, want int) {
		t.Helper()
		if got := m.post("/assistant/converse", ks, `{"userMessage":"Hello"}`); got.status != want {
			t.Errorf("%d %s, want %d", got.status, got.body, want)
		}
	}
	turn(ann, 200)
	turn(ann, 200)
	turn(ann, 429)
	turn(m.conversation(store.Receptionist, "ann"), 429) // another token of hers
	turn(bob, 200)
	turn(m.conversation(store.Receptionist, ""), 429)
	m.call("/partner-config/update", fmt.Sprintf(`{"id":%d,"config":{"rate_limit_per_minute":null}}`, m.agents[store.Receptionist].ConfigID), 200)
	turn(ann, 200)
}
