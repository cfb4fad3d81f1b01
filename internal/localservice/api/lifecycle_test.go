package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

const moodSetting = `{"key":"mood","title":"Mood","prompt":"How is the user?","valueType":"string"}`

// TestInsightSettings has what TestRandomRecords does not try.
func TestInsightSettings(t *testing.T) {
	m := serve(t, nil, nil).manager()
	id := m.call("/v1/insight-settings/create", moodSetting, 200)["id"]
	m.call("/v1/insight-settings/create", strings.Replace(moodSetting, `"mood"`, `"score","status":"disabled"`, 1), 200)
	for filter, want := range map[string]string{`{"statusEqual":"active"}`: "[mood]", `{"statusEqual":"disabled"}`: "[score]"} {
		expect.Equal(t, fmt.Sprint(names(m.call("/v1/insight-settings/list", `{"filter":`+filter+`}`, 200), "key")), want, "%s", filter)
	}
	for body, text := range map[string]string{
		`{"title":"t","prompt":"p","valueType":"string"}`:                                       "key",
		`{"key":"k","prompt":"p","valueType":"string"}`:                                         "title",
		`{"key":"k","title":"t","valueType":"string"}`:                                          "prompt",
		`{"key":"k","title":"t","prompt":"p"}`:                                                  "valueType",
		`{"key":"no spaces","title":"t","prompt":"p","valueType":"string"}`:                     "key",
		`{"key":"k","title":"t","prompt":"p","valueType":"date"}`:                               "valueType",
		`{"key":"k","title":"t","prompt":"p","valueType":"string","status":"paused"}`:           "status",
		`{"key":"k","title":"t","prompt":"p","valueType":"string","adminTags":["not a field"]}`: "adminTags",
	} {
		m.refuses("/v1/insight-settings/create", body, 400, text)
	}
	m.refuses("/v1/insight-settings/list", `{"filter":{"other":1}}`, 400, "other")
	rule := m.call("/v1/lifecycle/create", fmt.Sprintf(
		`{"name":"r","eventType":"session_ended","actions":[{"type":"triggerInsightSettingsKai","insightSettingIds":[%q]}]}`, id), 200)["id"].(string)
	m.refuses("/v1/insight-settings/delete", fmt.Sprintf(`{"id":%q}`, id), 409, rule)
}

const fullEmail = `{"appGuid":"g","name":"Hello","subject":"Hi","body":"<p>Hi</p>","from":"a@b.example","language":"en"}`

// emailTemplate adds an e-mail template and returns its id.
func (m *manager) emailTemplate() string {
	m.t.Helper()
	return m.call("/v1/email-template/add", fullEmail, 200)["id"].(string)
}

// mailRule is a rule with an e-mail template.
func mailRule(template string) string {
	return `{"name":"mail","eventType":"analysis_updated","conditions":[{"field":"event.changed_keys","operator":"contains","value":"mood"}],` +
		`"actions":[{"type":"sendEmail","emailTemplateId":"` + template + `","to":"a@b.example"}]}`
}

func TestLifecycleRules(t *testing.T) {
	v := serve(t, twoThings, nil)
	m := v.manager()
	template := m.emailTemplate()
	made := m.call("/v1/lifecycle/create", mailRule(template), 200)
	id := made["id"].(string)
	about := fmt.Sprintf(`{"id":%q}`, id)
	if made["status"] != "active" || made["objectType"] != "thread" || made["eventType"] != "analysis_updated" {
		t.Errorf("made %v", made)
	}
	ended := m.call("/v1/lifecycle/create", fmt.Sprintf(`{"name":"end","eventType":"session_ended","actions":[{"type":"sendEmail","emailTemplateId":%q,"to":"x"}]}`, template), 200)
	m.call("/v1/lifecycle/update", fmt.Sprintf(`{"id":%q,"description":"d"}`, id), 200)
	if got := m.call("/v1/lifecycle/get", about, 200); got["description"] != "d" || got["name"] != "mail" || len(got["conditions"].([]any)) != 1 {
		t.Errorf("get %v", got)
	}
	for filter, want := range map[string]string{`{}`: "[mail end]", `{"eventTypeEqual":"session_ended"}`: "[end]", `{"statusEqual":"disabled"}`: "[]"} {
		expect.Equal(t, fmt.Sprint(names(m.call("/v1/lifecycle/list", `{"filter":`+filter+`}`, 200), "name")), want, "%s", filter)
	}
	talk := v.ask(v.conversation(store.Receptionist, "ann"), "", "Hello")
	match := func(body string) string {
		t.Helper()
		return fmt.Sprint(names(m.call("/v1/lifecycle/match", fmt.Sprintf(`{"objectType":"thread","objectId":%q,%s}`, talk.threadID, body), 200), "name"))
	}
	for body, want := range map[string]string{
		`"eventType":"session_ended"`: "[end]", `"eventType":"analysis_updated"`: "[]",
		`"eventType":"analysis_updated","changedKeys":["mood"]`: "[mail]", `"eventType":"analysis_updated","changedKeys":["x"]`: "[]",
	} {
		expect.Equal(t, match(body), want, "%s matches", body)
	}
	m.call("/v1/lifecycle/update", fmt.Sprintf(`{"id":%q,"status":"disabled"}`, ended["id"]), 200)
	expect.Equal(t, match(`"eventType":"session_ended"`), "[]", "a disabled rule matches")
	other := v.stranger()
	other.refuses("/v1/lifecycle/match", fmt.Sprintf(`{"objectId":%q,"eventType":"session_ended"}`, talk.threadID), 404, "not found")
	m.call("/v1/lifecycle/delete", about, 200)
	m.refuses("/v1/lifecycle/get", about, 404, "not found")
}

func TestLifecycleIsDescribed(t *testing.T) {
	m := serve(t, nil, nil).manager()
	if got := names(m.call("/v1/lifecycle/listObjects", `{}`, 200), "objectType"); fmt.Sprint(got) != "[thread]" {
		t.Errorf("objects %v", got)
	}
	if got := names(m.call("/v1/lifecycle/listEvents", `{}`, 200), "eventType"); fmt.Sprint(got) != "[session_ended analysis_updated]" {
		t.Errorf("events %v", got)
	}
	fields := m.call("/v1/lifecycle/describeFields", `{"objectType":"thread"}`, 200)
	if got := fmt.Sprint(names(fields, "field")); !strings.Contains(got, "object.agent_id") || !strings.Contains(got, "event.changed_keys") {
		t.Errorf("fields %s", got)
	}
	m.refuses("/v1/lifecycle/describeFields", `{"objectType":"entry"}`, 400, "objectType")
}

func TestLifecycleRulesThatAreRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	const actions = `"actions":[{"type":"sendEmail","emailTemplateId":"t","to":"x"}]`
	for body, text := range map[string]string{
		`{"eventType":"session_ended",` + actions + `}`:                                                                                 "name",
		`{"name":"r",` + actions + `}`:                                                                                                  "eventType",
		`{"name":"r","eventType":"session_ended"}`:                                                                                      "actions",
		`{"name":"r","eventType":"session_ended","actions":[]}`:                                                                         "actions",
		`{"name":"r","eventType":"message_added",` + actions + `}`:                                                                      "eventType",
		`{"name":"r","eventType":"session_ended","objectType":"x",` + actions + `}`:                                                     "objectType",
		`{"name":"r","eventType":"session_ended","status":"x",` + actions + `}`:                                                         "status",
		`{"name":"r","eventType":"session_ended","actions":[{"type":"runCode"}]}`:                                                       "triggerInsightSettingsKai",
		`{"name":"r","eventType":"session_ended","actions":[{"type":"sendEmail"}]}`:                                                     "emailTemplateId",
		`{"name":"r","eventType":"session_ended","actions":[{"type":"triggerInsightSettingsKai"}]}`:                                     "insightSettingIds",
		`{"name":"r","eventType":"session_ended","conditions":[{"field":"object.shoe","operator":"equals","value":1}],` + actions + `}`: "object.shoe",
		`{"name":"r","eventType":"session_ended","conditions":[{"field":"object.id","operator":"like","value":1}],` + actions + `}`:     "operator",
		`{"name":"r","eventType":"session_ended","conditions":[{"field":"object.id","operator":"in","value":"x"}],` + actions + `}`:     "list",
		`{"name":"r","eventType":"session_ended","conditions":[{"field":"object.id","operator":"equals"}],` + actions + `}`:             "value",
		`{"name":"r","eventType":"session_ended","schedule":"daily",` + actions + `}`:                                                   "schedule",
	} {
		m.refuses("/v1/lifecycle/create", body, 400, text)
	}
	id := m.call("/v1/lifecycle/create", mailRule(m.emailTemplate()), 200)["id"]
	m.refuses("/v1/lifecycle/update", fmt.Sprintf(`{"id":%q}`, id), 400, "at least one field")
	m.refuses("/v1/lifecycle/match", `{"objectId":"x"}`, 400, "eventType")
	m.refuses("/v1/lifecycle/match", `{"eventType":"session_ended"}`, 400, "objectId")
	m.refuses("/v1/lifecycle/match", `{"eventType":"x","objectId":"x"}`, 400, "eventType")
}

// TestEmailTemplates has what TestRandomRecords does not try.
func TestEmailTemplates(t *testing.T) {
	m := serve(t, nil, nil).manager()
	id := m.emailTemplate()
	for _, key := range []string{"appGuid", "name", "subject", "body", "from", "language"} {
		m.refuses("/v1/email-template/add", strings.Replace(fullEmail, `"`+key+`":`, `"other":`, 1), 400, key)
		m.refuses("/v1/email-template/update", fmt.Sprintf(`{"id":%q,%q:" "}`, id, key), 400, key)
	}
	// The messaging base takes its tokens as Bearer.
	request := m.request("POST", "/v1/email-template/get", "", "application/json", fmt.Sprintf(`{"id":%q}`, id))
	request.Header.Set("Authorization", "Bearer "+m.admin())
	wantStatus(t, "bearer", m.do(request), 200, "")
}
