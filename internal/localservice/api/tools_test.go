package api

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestToolRoutes(t *testing.T) {
	m := serve(t, nil, nil).manager()
	made := m.call("/v1/tool/add", `{"name":"lookup","config":{"type":"api","description":"d","request":{"url":"http://localhost:1/{{ q }}"},"response_mapping":{"size":"items.0.@größe"}}}`, 200)
	id := made["id"].(string)
	about := fmt.Sprintf(`{"id":%q}`, id)
	config := m.call("/v1/tool/get", about, 200)["config"].(map[string]any)
	if config["type"] != "api" || config["wait_for_response"] != true || fmt.Sprint(config["request"]) != "map[url:http://localhost:1/{{ q }}]" {
		t.Errorf("config %v", config)
	}
	got := m.call("/v1/tool/update", fmt.Sprintf(`{"id":%q,"name":"find"}`, id), 200)
	if got["name"] != "find" || got["config"].(map[string]any)["type"] != "api" {
		t.Errorf("renamed %v", got)
	}
	got = m.call("/v1/tool/update", fmt.Sprintf(`{"id":%q,"config":{"type":"client","wait_for_response":false}}`, id), 200)
	if config := got["config"].(map[string]any); config["type"] != "client" || config["wait_for_response"] != false || config["request"] != nil {
		t.Errorf("the configuration is replaced as a whole: %v", config)
	}
	m.refuses("/v1/tool/add", `{"name":"find","config":{"type":"client"}}`, 409, "in use")
	second := m.call("/v1/tool/add", `{"name":"second","config":{"type":"client"}}`, 200)["id"]
	m.refuses("/v1/tool/update", fmt.Sprintf(`{"id":%q,"name":"find"}`, second), 409, "in use")
	m.refuses("/v1/tool/add", `{"name":"save_note","config":{"type":"client"}}`, 409, "in use") // of a built-in agent
	list := m.call("/v1/tool/list", `{"filter":{"objectType":"ToolListFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, 200)
	expect.List(t, names(list, "name"), []string{"save_note", "get_weather", "go_to_page", "highlight", "find", "second"}, "list")
	m.refuses("/v1/tool/list", `{"filter":{}}`, 422, "objectType")
	m.refuses("/v1/tool/list", `{"filter":{"objectType":"SkillListFilter"}}`, 422, "Invalid filter type")
	other := m.stranger()
	other.call("/v1/tool/add", `{"name":"find","config":{"type":"client"}}`, 200) // names are a partner's own
	m.call("/v1/skill/add", `{"name":"find","description":"d"}`, 200)             // and a kind's
}

func TestToolsThatAreRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	for body, text := range map[string]string{
		`{"config":{"type":"client"}}`:                                                                              "name",
		`{"name":"t"}`:                                                                                              "config",
		`{"name":"has space","config":{"type":"client"}}`:                                                           "name",
		`{"name":"t","config":{"type":"other"}}`:                                                                    `"config","type"`,
		`{"name":"t","config":{"type":"client","secret":1}}`:                                                        "secret",
		`{"name":"t","config":{"type":"api"}}`:                                                                      "request",
		`{"name":"t","config":{"type":"code"}}`:                                                                     "code",
		`{"name":"t","config":{"type":"csv"}}`:                                                                      "csv",
		`{"name":"t","config":{"args":{"a":{"prompt":"p","type":"text"}}}}`:                                         "args.a",
		`{"name":"t","config":{"args":[]}}`:                                                                         "args",
		`{"name":"t","config":{"timeout":121}}`:                                                                     "1 to 120",
		`{"name":"t","config":{"request":{"url":"http://x","timeout":121}}}`:                                        "1 to 120",
		`{"name":"t","config":{"request":{"url":"http://x","timeout":-1}}}`:                                         "1 to 120",
		`{"name":"t","config":{"request":{"url":"file:///etc/passwd"}}}`:                                            "url",
		`{"name":"t","config":{"request":{"url":"http://localhost/","method":"TRACE"}}}`:                            "method",
		`{"name":"t","config":{"request":{"url":"http://x"},"response_mapping":{"a":"b"},"response_template":"c"}}`: "Only one",
		`{"name":"t","config":{"request":{"url":"http://x"},"variables_mapping":{"a":"$.b"}}}`:                      "path",
		`{"name":"t","config":{"request":{"url":"http://x"},"response_mapping":{"a":"b[0]"}}}`:                      "path",
		`{"name":"t","config":{"request":{"url":"http://x","authentication":{"type":"oauth2","client_id":"c","client_secret":"plain"}}}}`: "secrets.NAME",
		`{"name":"t","config":{"type":"client"},"partner_id":0}`:                                                                          "partner_id",
		`{"name":"t","config":{"type":"code","code":"1"}}`:                                                                                "must define a function main",
		`{"name":"t","config":{"type":"code","code":"function main( {"}}`:                                                                 "the code fails",
		`{"name":"t","config":{"type":"code","code":"def main(c):\n  return 1"}}`:                                                         "Python does not run here",
		`{"name":"t","config":{"type":"code","code":"for (;;);"}}`:                                                                        "took longer",
	} {
		m.refuses("/v1/tool/add", body, 422, text)
	}
}

// TestSkillsThatAreRefused has what TestRandomRecords does not try.
func TestSkillsThatAreRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	m.call("/v1/skill/add", `{"name":"refunds","description":"d"}`, 200)
	m.refuses("/v1/skill/add", `{"name":"refunds","description":"d"}`, 409, "in use")
	second := m.call("/v1/skill/add", `{"name":"second","description":"d"}`, 200)["id"]
	m.refuses("/v1/skill/update", fmt.Sprintf(`{"id":%q,"name":"refunds"}`, second), 409, "in use")
	for body, text := range map[string]string{`{"description":"d"}`: "name", `{"name":"x"}`: "description", `{"name":"","description":"d"}`: "name", `{"name":"x","description":"d","mode":"adhoc"}`: "mode"} {
		m.refuses("/v1/skill/add", body, 422, text)
	}
	m.refuses("/v1/skill/list", `{"filter":{}}`, 422, "objectType")
}

// TestSharedSkills: they are listed and can be attached, and nothing else.
func TestSharedSkills(t *testing.T) {
	m := serve(t, nil, nil).manager()
	shared := must.Get(store.Skills(m.store).Create(t.Context(), store.SharedPartner, store.Skill{Name: "shared for all", Description: "d"}))(t)
	list := m.call("/v1/skill/list", `{"filter":{"objectType":"SkillListFilter"}}`, 200)
	i := slices.Index(names(list, "id"), shared.ID)
	if i < 0 || names(list, "partner_id")[i] != "0" {
		t.Errorf("list %v", list)
	}
	about := fmt.Sprintf(`{"id":%q}`, shared.ID)
	for _, action := range []string{"get", "update", "delete"} {
		m.refuses("/v1/skill/"+action, about, 404, "not found")
	}
	m.call("/v1/intellect/add", fmt.Sprintf(`{"skill_ids":[{"id":%q,"mode":"adhoc"}]}`, shared.ID), 200)
}
