package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// TestAgentsIntellect: the forms in which an agent names its intellect, or has its fields.
func TestAgentsIntellect(t *testing.T) {
	v := serve(t, nil, nil)
	m := v.manager()
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
	agent, err := v.store.Agent(t.Context(), v.partner.ID, made["agentId"].(string))
	if err != nil || agent.Profile.BaseDirective != "Be long." || agent.Profile.MaxConversation.Seconds() != 60 {
		t.Errorf("%+v, %v", agent.Profile, err)
	}
	_, before, _ := v.store.Intellects().List(t.Context(), v.partner.ID, store.Query{})
	m.refuses("/v1/agent/create", `{"displayName":" ","intellect":{"base_directive":"x"}}`, 400, "displayName")
	if _, after, _ := v.store.Intellects().List(t.Context(), v.partner.ID, store.Query{}); after != before {
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
	v := serve(t, nil, nil)
	m := v.manager()
	id := v.avatarOf(store.Receptionist)
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
	v := serve(t, nil, nil)
	m := v.manager()
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
	if got := v.post("/v1/application/getCustomPrompts", v.widget(store.Receptionist), `{}`); got.status != 200 {
		t.Errorf("with a widget token: %d", got.status)
	}
	if got := v.post("/v1/application/generateAgentProfile", v.mint(token.TypeUser, "ann", ""), `{"userDescription":"x"}`); got.status != 403 {
		t.Errorf("a profile for a user's token: %d", got.status)
	}
}
