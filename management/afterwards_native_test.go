//go:build !js

package management_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Indexing is read from index_position, not from the status.
func TestIndexedIsReadFromIndexPosition(t *testing.T) {
	for config, want := range map[string]bool{
		`{"sources":[]}`:                                                                              false,
		`{"sources":[{"indexers":[]}]}`:                                                               false,
		`{"sources":[{"indexers":[{"type":"a"}]}]}`:                                                   false,
		`{"sources":[{"indexers":[{"type":"a","index_position":null}]}]}`:                             false,
		`{"sources":[{"indexers":[{"type":"a","index_position":17}]}]}`:                               true,
		`{"sources":[{"indexers":[{"index_position":true},{"type":"b"}]}]}`:                           false,
		`{"sources":[{"indexers":[{"index_position":true}]},{"indexers":[{"type":"b"}]}]}`:            false,
		`{"sources":[{"indexers":[{"index_position":{"a":1}}]},{"indexers":[{"index_position":0}]}]}`: true,
	} {
		var r management.KnowledgeRecord
		if err := json.Unmarshal([]byte(`{"id":1,"status":"ready","config":`+config+`}`), &r); err != nil || r.Indexed() != want {
			t.Errorf("%s: %v, %v", config, r.Indexed(), err)
		}
	}
}

func TestSourcesAreMergedIntoTheWholeConfig(t *testing.T) {
	const record = `{"id":3,"config":{"language":"de","sources":[{"type":"markdown","name":"a","content":"b","entry_id":"e-1","more":7}]}}`
	f := newFake(t, map[string][]answer{"/v1/knowledge/get": {{0, record}}, "/v1/knowledge/update": {{0, record}}})
	do := func(do func(context.Context, int64, management.Source) (bool, error), s management.Source, want bool) {
		t.Helper()
		if applied, err := do(t.Context(), 3, s); err != nil || applied != want {
			t.Errorf("applied %v, %v; want %v", applied, err, want)
		}
	}
	known, other := management.Source{Name: "a", Content: "b"}, management.Source{Type: management.SourceText, Name: "a", Content: "b"}
	do(f.Knowledge.AddSource, known, false)
	do(f.Knowledge.RemoveSource, other, false)
	wantRequests(t, f, "genie /v1/knowledge/get", "genie /v1/knowledge/get")
	kept := map[string]any{"type": "markdown", "name": "a", "content": "b", "entry_id": "e-1", "more": 7.0}
	do(f.Knowledge.AddSource, other, true)
	_, body := f.last()
	want := map[string]any{"id": 3.0, "config": map[string]any{
		"language": "de", "sources": []any{kept, map[string]any{"type": "text", "name": "a", "content": "b"}},
	}}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v\nwant %v", body, want)
	}
	for _, s := range []management.Source{known, {EntryID: "e-1"}} {
		do(f.Knowledge.RemoveSource, s, true)
		_, body = f.last()
		if want := (map[string]any{"id": 3.0, "config": map[string]any{"language": "de", "sources": []any{}}}); !reflect.DeepEqual(body, want) {
			t.Errorf("sent %v\nwant %v", body, want)
		}
	}
	empty := newFake(t, map[string][]answer{"/v1/knowledge/get": {{0, `{"id":3}`}}, "/v1/knowledge/update": {{0, record}}})
	do(empty.Knowledge.AddSource, known, true)
}

func page(objects ...string) []answer {
	text, _ := json.Marshal(len(objects))
	return []answer{{0, `{"totalCount":` + string(text) + `,"objects":[` + strings.Join(objects, ",") + `]}`}}
}

// mailing is a rule by which visitors of the agent a-1 get an e-mail.
const mailing = `"eventType":"analysis_updated","actions":[{"type":"sendEmail","emailTemplateId":"e-2","to":"{{ email }}"}],"conditions":[
	{"field":"object.agent_id","operator":"in","value":["a-1"]},{"field":"event.changed_keys","operator":"contains","value":"total"}]`

// sick is an account in which everything is wrong that Doctor looks for.
func sick() map[string][]answer {
	return map[string][]answer{
		"/agent/list": page(
			`{"agentId":"a-1","displayName":"Robin","intellect":{"id":7},"avatarIds":["v-1","v-2"]}`,
			`{"agentId":"a-2","intellect":{"id":9},"avatarIds":[]}`,
		),
		"/avatar/list":       page(`{"id":"v-1","voice":{"id":"x"}}`),
		"/v1/tool/list":      page(`{"id":"t-1","name":"note","config":{"type":"client","description":""}}`, `{"id":"t-2","name":"crm","config":{"type":"api","description":"x","request":{"url":"https://x.example","headers":{"k":"{{ secrets.NONE }}"}}}}`),
		"/v1/skill/list":     page(`{"id":"s-1","name":"a","description":"b"}`),
		"/v1/knowledge/list": page(`{"id":0,"name":"x"}`),
		"/v1/intellect/list": page(
			`{"id":7,"name":"Robin","type":"external","secrets":{"CRM":"***"},"allow_client_variables":false,
			"base_directive":"{{ name }} {{ secrets.OTHER }} {{ secret.CRM }} {{ sys__ks }} {{ sys__user_obj.age }} {{ open",
			"capabilities":{"fly":"on"},"knowledge_ids":[0,3],"tool_ids":["t-1","t-2","t-9"],"thread_start_tools":["t-8"],
			"skill_ids":[{"id":"s-9","mode":"adhoc"}],"user_properties_forms":{"a":1}}`,
			`{"id":8,"avatar_summary_config":{"analysis":{"total":"The sum."}}}`,
		),
		"/insight-settings/list": page(`{"id":"i-1","key":"mood","status":"disabled"}`, `{"id":"i-2","key":"spare","status":"active"}`),
		"/email-template/list": page(
			`{"id":"e-1","name":"spare"}`,
			`{"id":"e-2","subject":"{{ mood }} {{ total }} {{ summary }}","body":"{{ sys__user_obj.email }} {{ sys__thread_id }} {{ colour }}"}`,
		),
		"/lifecycle/list": page(
			`{"id":"r-1","name":"all","status":"active","eventType":"session_ended","actions":[
			{"type":"triggerInsightSettingsKai","insightSettingIds":["i-1","i-9"`+strings.Repeat(`,"i-1"`, 20)+`]},{"type":"sendEmail","emailTemplateId":"e-9","to":"a@x.example"}]}`,
			`{"id":"r-2","status":"disabled","eventType":"analysis_updated","actions":[],"conditions":[
			{"field":"object.agent_id","operator":"in","value":["a-1","a-1","a-9","default"]},{"field":"event.changed_keys","operator":"contains","value":"none"}]}`,
			`{"id":"r-3","status":"active",`+mailing+`}`,
		),
	}
}

func TestDoctor(t *testing.T) {
	f := newFake(t, sick())
	d := must.Get(f.Doctor(t.Context(), management.DoctorInput{}))(t)
	var got []string
	for _, f := range d.Findings {
		got = append(got, f.Object+"|"+f.Field+"|"+f.Code)
	}
	want := []string{
		"intellect 7 (Robin)|base_directive|prompt_syntax",
		"intellect 7 (Robin)|base_directive|secret_ref_unresolved",
		"intellect 7 (Robin)|base_directive|secret_ref_bad_prefix",
		"intellect 7 (Robin)|base_directive|prompt_token",
		"intellect 7 (Robin)|user_properties_forms|invalid_user_properties_forms",
		"intellect 7 (Robin)|capabilities|capabilities_invalid",
		"intellect 7 (Robin)|knowledge_ids|knowledge_ids_over_cap",
		"intellect 7 (Robin)|knowledge_ids[1]|knowledge_not_found",
		"intellect 7 (Robin)|skill_ids[0]|skill_not_found",
		"intellect 7 (Robin)|tool_ids[0]|client_tools_not_ready",
		"intellect 7 (Robin)|tool_ids[1]|secret_ref_unresolved",
		"intellect 7 (Robin)|tool_ids[2]|tool_not_found",
		"intellect 7 (Robin)|thread_start_tools[0]|tool_not_found",
		"agent a-1 (Robin)|avatarIds[1]|avatar_not_found",
		"agent a-2|intellect.id|intellect_not_found",
		"lifecycle rule r-1 (all)|actions[0]|too_many_insight_settings",
		"lifecycle rule r-1 (all)|actions[0]|insight_setting_missing",
		"lifecycle rule r-1 (all)|actions[1]|template_missing_or_deleted",
		"lifecycle rule r-2|conditions[0]|agent_not_found",
		"lifecycle rule r-2|conditions[0]|agent_id_default",
	}
	if errors := got[:min(len(got), d.Summary.Errors)]; !slices.Equal(errors, want) {
		t.Errorf("errors\n got %s\nwant %s", strings.Join(errors, "\n     "), strings.Join(want, "\n     "))
	}
	warnings := strings.Join(got[min(len(got), d.Summary.Errors):], "\n")
	for _, want := range []string{
		"intellect 7 (Robin)|base_directive|prompt_unknown_variable",
		"intellect 7 (Robin)|base_directive|reserved_user_attr_unresolved",
		"intellect 7 (Robin)|type|external_intellect",
		"lifecycle rule r-1 (all)|conditions|unscoped_rule",
		"lifecycle rule r-1 (all)|actions[0]|insight_setting_disabled",
		"lifecycle rule r-1 (all)|actions[1]|email_on_session_ended",
		"lifecycle rule r-1 (all)|actions[1]|email_unfiltered",
		"lifecycle rule r-2|status|rule_disabled",
		"lifecycle rule r-2|conditions[0]|duplicate_agent_ids",
		"lifecycle rule r-2|conditions[1]|changed_keys_unproduced",
		"lifecycle rule r-3|actions[0]|template_tokens_unproduced",
		"lifecycle rule r-3|actions[0]|dtc_without_forms",
		"insight setting i-2 (spare)||orphan_insight_setting",
		"e-mail template e-1 (spare)||orphan_email_template",
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no %s in\n%s", want, warnings)
		}
	}
	if want := map[string]int{
		"agents": 2, "avatars": 1, "tools": 2, "skills": 1, "knowledge": 1, "intellects": 2, "insight settings": 2, "e-mail templates": 2, "lifecycle rules": 3,
	}; !reflect.DeepEqual(d.Checked, want) || len(d.Skipped) > 0 {
		t.Errorf("checked %v, skipped %v", d.Checked, d.Skipped)
	}
	for _, path := range f.requests() { // it only reads
		if !strings.HasSuffix(path, "/list") {
			t.Errorf("asked %s", path)
		}
	}
	noSecrets(t, d)
}

// What can't be read is skipped, and what depends on it is not reported.
func TestDoctorSkipsWhatItCannotRead(t *testing.T) {
	answers := sick()
	for path := range answers {
		if path != "/v1/intellect/list" && path != "/lifecycle/list" {
			answers[path] = []answer{{403, `{"message":"no"}`}}
		}
	}
	f := newFake(t, answers)
	d := must.Get(f.Doctor(t.Context(), management.DoctorInput{}))(t)
	if len(d.Skipped) != 7 || !strings.Contains(d.Skipped["tools"], "forbidden") {
		t.Errorf("skipped %v", d.Skipped)
	}
	for _, f := range d.Findings {
		if strings.HasSuffix(f.Code, "_not_found") || strings.HasPrefix(f.Code, "orphan") || strings.Contains(f.Code, "missing") {
			t.Errorf("found %+v", f)
		}
	}
}

func TestDoctorOfOneAgent(t *testing.T) {
	answers := sick()
	answers["/agent/get"] = []answer{{0, `{"agentId":"a-3","displayName":"Sam","intellect":{"id":8},"avatarIds":["v-1"]}`}}
	f := newFake(t, answers)
	d, err := f.Doctor(t.Context(), management.DoctorInput{AgentIDs: []string{"a-3"}})
	if err != nil || len(d.Findings) != 0 || d.Checked["agents"] != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = f.Doctor(t.Context(), management.DoctorInput{AgentIDs: []string{"a-3", "a-3"}})
	wantCode(t, "twice", err, fault.BadRequest)
	answers["/agent/get"] = []answer{{404, `{}`}}
	_, err = newFake(t, answers).Doctor(t.Context(), management.DoctorInput{AgentIDs: []string{"a-9"}})
	wantCode(t, "unknown", err, fault.NotFound)
}

func TestAuditOfARule(t *testing.T) {
	answers := sick()
	rule := func(to, operator string) string {
		text := strings.Replace(mailing, "{{ email }}", to, 1)
		return `{"id":"r-3","status":"active",` + strings.Replace(text, `"operator":"in"`, `"operator":"`+operator+`"`, 1) + `}`
	}
	intellects := answers["/v1/intellect/list"]
	withForms := page(`{"id":7,"user_properties_forms":[{"call_stage":"start","properties":[{"key":"email","type":"str"}]}]}`, `{"id":8,"avatar_summary_config":{"analysis":{"total":"x"}}}`)
	for name, c := range map[string]struct {
		rule       string
		intellects []answer
		want       []string
	}{
		"no form":       {rule("{{ email }}", "in"), intellects, []string{"template_tokens_unproduced", "dtc_without_forms"}},
		"a form":        {rule("{{ email }}", "in"), withForms, []string{"template_tokens_unproduced"}},
		"other agents":  {rule("{{ email }}", "notIn"), intellects, []string{"template_tokens_unproduced"}},
		"one address":   {rule("a@x.example", "in"), intellects, []string{"template_tokens_unproduced"}},
		"no intellects": {rule("{{ email }}", "in"), []answer{{403, `{}`}}, nil},
	} {
		answers["/lifecycle/get"], answers["/v1/intellect/list"] = []answer{{0, c.rule}}, c.intellects
		findings := must.Get(newFake(t, answers).Lifecycle.Audit(t.Context(), "r-3"))(t)
		var got []string
		for _, f := range findings {
			got = append(got, f.Code)
			if f.Code == management.FindingTemplateTokens && !strings.Contains(f.Detail, "{{ colour }}") || f.Code == management.FindingDTCWithoutForms && !strings.HasSuffix(f.Detail, ": a-1") {
				t.Errorf("%s: %+v", name, f)
			}
		}
		expect.List(t, got, c.want, "%s", name)
	}
	answers["/lifecycle/get"] = []answer{{404, `{}`}}
	_, err := newFake(t, answers).Lifecycle.Audit(t.Context(), "r-9")
	wantCode(t, "unknown", err, fault.NotFound)
}

func TestAuditOfAnIntellect(t *testing.T) {
	answers := sick()
	answers["/v1/intellect/get"] = []answer{{0, `{"id":7,"tool_ids":["t-9"],"base_directive":"{{ sys__nothing }}"}`}}
	f := newFake(t, answers)
	findings := must.Get(f.Intellects.Audit(t.Context(), 7))(t)
	if len(findings) != 2 || findings[0].Code != "prompt_unknown_variable" || findings[1].Code != "tool_not_found" || findings[1].Object != "intellect 7" {
		t.Errorf("found %+v", findings)
	}
	// An audit that was cancelled has not read everything, and finds nothing less.
	ctx, cancel := context.WithCancel(t.Context())
	f = newFake(t, answers, func(o *management.Options) {
		o.OnResponse = func(r management.Response) {
			if r.Path == "/v1/intellect/get" {
				cancel()
			}
		}
	})
	findings, err := f.Intellects.Audit(ctx, 7)
	wantCode(t, "cancelled", err, fault.Aborted)
	if findings != nil {
		t.Errorf("found %+v", findings)
	}
}
