package api

import (
	"fmt"
	"testing"
)

// TestReferencesThatDoNotExist: a record that names another one is refused unless that exists, when it is new and when it is changed.
func TestReferencesThatDoNotExist(t *testing.T) {
	v := serve(t, nil, nil)
	m, other := v.manager(), v.stranger()
	const unknown, hex = "5ac00000-0000-4000-8000-0000000000ff", "5ac0000000000000000000ff"
	email := `{"appGuid":"g","name":"n","subject":"s","body":"b","from":"f","language":"en"}`
	foreign := other.call("/v1/tool/add", `{"name":"t","config":{"type":"client","description":"d"}}`, 200)["id"]
	template := m.call("/v1/email-template/add", email, 200)["id"]
	foreignTemplate := other.call("/v1/email-template/add", email, 200)["id"]
	intellect := fmt.Sprint(m.call("/v1/intellect/add", `{}`, 200)["id"])
	agent := m.call("/v1/agent/create", `{"displayName":"A","intellect":{"id":`+intellect+`},"avatarIds":[]}`, 200)["agentId"]
	avatar := m.call("/v1/avatar/create", `{"voice":{"id":"5ac0000000000000000000b1"}}`, 200)["id"]
	rule := m.call("/v1/lifecycle/create", fmt.Sprintf(`{"name":"r","eventType":"session_ended","actions":[{"type":"sendEmail","emailTemplateId":%q,"to":"x"}]}`, template), 200)["id"]
	setting := func(id string) string {
		return `"actions":[{"type":"triggerInsightSettingsKai","insightSettingIds":["` + id + `"]}]`
	}
	mail := func(id any) string {
		return fmt.Sprintf(`"actions":[{"type":"sendEmail","emailTemplateId":%q,"to":"x"}]`, id)
	}
	for _, kind := range []struct{ create, update, needs, id string }{
		{"/v1/lifecycle/create", "/v1/lifecycle/update", `"name":"r","eventType":"session_ended",`, fmt.Sprintf(`"id":%q,`, rule)},
		{"/v1/intellect/add", "/v1/intellect/update", "", `"id":` + intellect + `,`},
		{"/v1/avatar/create", "/v1/avatar/update", `"name":"n",`, fmt.Sprintf(`"id":%q,`, avatar)},
		{"/v1/agent/create", "/v1/agent/update", `"displayName":"B",`, fmt.Sprintf(`"agentId":%q,`, agent)},
	} {
		for _, wrong := range map[string][]struct {
			fields string
			status int
			text   string
		}{
			"/v1/lifecycle/create": {{setting(unknown), 400, unknown}, {mail(unknown), 400, unknown}, {mail(foreignTemplate), 400, "email template"}},
			"/v1/intellect/add": {
				{`"tool_ids":["` + unknown + `"]`, 403, unknown},
				{fmt.Sprintf(`"tool_ids":[%q]`, foreign), 403, "tool"},
				{`"thread_start_tools":["` + unknown + `"]`, 403, unknown},
				{`"knowledge_ids":[987654]`, 403, "987654"},
				{`"skill_ids":[{"id":"` + unknown + `","mode":"adhoc"}]`, 403, unknown},
			},
			"/v1/avatar/create": {{`"voice":{"id":"` + hex + `"}`, 200, "CATALOG_ITEM_NOT_FOUND"}, {`"voice":{"id":"5ac0000000000000000000a1"}`, 200, "CATALOG_ITEM_NOT_FOUND"}},
			"/v1/agent/create": {
				{`"intellect":{"id":987654},"avatarIds":[]`, 200, "AGENT_PARTNER_CONFIG_NOT_FOUND"},
				{`"intellect":{"id":` + intellect + `},"avatarIds":["` + hex + `"]`, 200, "AVATAR_NOT_FOUND"},
				{`"intellect":{"name":"new","tool_ids":["` + unknown + `"]},"avatarIds":[]`, 403, unknown},
			},
		}[kind.create] {
			m.refuses(kind.create, `{`+kind.needs+wrong.fields+`}`, wrong.status, wrong.text)
			m.refuses(kind.update, `{`+kind.id+wrong.fields+`}`, wrong.status, wrong.text)
		}
	}
	m.refuses("/partner-config/update", `{"id":`+intellect+`,"config":{"knowledge_ids":[987654]}}`, 403, "987654")
	m.refuses("/partner-config/update", `{"id":`+intellect+`,"config":{"indexer":{"filterType":"categoryEntry","categoryInfo":[{"categoryId":"987654"}]}}}`, 403, "987654")

	// What was read is written back, also when what it names is gone.
	m.call("/v1/email-template/delete", fmt.Sprintf(`{"id":%q}`, template), 200)
	m.call("/v1/lifecycle/update", fmt.Sprintf(`{"id":%q,"description":"d",%s}`, rule, mail(template)), 200)
	m.call("/v1/intellect/update", `{"id":`+intellect+`,"knowledge_ids":[0]}`, 200) // the service's own documents
}
