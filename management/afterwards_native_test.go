//go:build !js

package management_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestKnowledgeCalls(t *testing.T) {
	const record = `{"id":0,"name":"Manual","status":"ready","config":{"sources":[{"type":"markdown","name":"a","content":"b","entry_id":"e-1","indexers":[{"type":"fulltext","index_position":true}]}]}}`
	testCalls(t, []call{
		{"list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Knowledge.List(ctx)))
		}, "genie", "/v1/knowledge/list", `{"filter":{},"pager":{"pageIndex":1,"pageSize":30}}`, `{"totalCount":1,"objects":[` + record + `]}`},
		{"get", func(ctx context.Context, c *management.Client) error {
			r, err := c.Knowledge.Get(ctx, 0)
			if err == nil && (!r.Indexed() || r.Config.Sources[0].EntryID != "e-1") {
				t.Errorf("record %+v", r)
			}
			return err
		}, "genie", "/v1/knowledge/get", `{"id":0}`, record},
		{"add", func(ctx context.Context, c *management.Client) error { return drop(c.Knowledge.Add(ctx, "Manual")) }, "genie", "/v1/knowledge/add", `{"name":"Manual"}`, record},
		{"update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.Update(ctx, 3, management.KnowledgePatch{Config: &management.KnowledgeConfig{Sources: []management.Source{}}}))
		}, "genie", "/v1/knowledge/update", `{"id":3,"config":{"sources":[]}}`, record},
		{"delete by force", func(ctx context.Context, c *management.Client) error {
			return c.Knowledge.Delete(ctx, 3, management.ConfirmPermanent, management.Force)
		}, "genie", "/v1/knowledge/delete", `{"id":3}`, `null`},
		{"entry status", func(ctx context.Context, c *management.Client) error {
			list, err := c.Knowledge.EntryStatus(ctx, 3, "e-1", "e-2")
			if err == nil && (len(list) != 2 || !list[0].Done() || list[1].Done()) {
				t.Errorf("status %v", list)
			}
			return err
		}, "genie", "/v1/knowledge/entry_status", `{"knowledge_id":3,"entry_ids":["e-1","e-2"]}`, `{"totalCount":2,"objects":[{"entry_id":"e-1","status":"indexed","index_position":true},{"entry_id":"e-2","status":"not_found"}]}`},
		{"search", func(ctx context.Context, c *management.Client) error {
			found, err := c.Knowledge.Search(ctx, management.SearchInput{Query: "price"})
			if err == nil && (found.Text != "42" || found.Chapters != nil) {
				t.Errorf("found %+v", found)
			}
			return err
		}, "genie", "/mcp/search", `{"query":"price"}`, `{"status":"success","data":{"text":"42","chapters":null}}`},
		{"search with everything", func(ctx context.Context, c *management.Client) error {
			found, err := c.Knowledge.Search(ctx, management.SearchInput{
				Query: "price", TopN: 3, WithLineNumbers: new(true), MarginsInSeconds: new(0), IncludeSources: new(true), EntryDescription: new(false),
			})
			if err == nil && (found.Text != "" || len(found.Chapters) != 1) {
				t.Errorf("found %+v", found)
			}
			return err
		}, "genie", "/mcp/search", `{"query":"price","top_n":3,"with_line_numbers":true,"margins_in_seconds":0,"include_sources":true,"entry_description":false}`, `{"status":"success","data":{"text":null,"chapters":[{"title":"a"}]}}`},
	})
	testRefusals(t, []refusal{
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.Knowledge.Get(ctx, -1)) }, fault.BadRequest},
		{"add", func(ctx context.Context, c *management.Client) error { return drop(c.Knowledge.Add(ctx, "")) }, fault.BadRequest},
		{"update of nothing", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.Update(ctx, 3, management.KnowledgePatch{}))
		}, fault.BadRequest},
		{"source without a text", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.AddSource(ctx, 3, management.Source{Name: "a"}))
		}, fault.BadRequest},
		{"source of another type", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.AddSource(ctx, 3, management.Source{Type: "pdf", Name: "a", Content: "b"}))
		}, fault.BadRequest},
		{"remove nothing", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.RemoveSource(ctx, 3, management.Source{}))
		}, fault.BadRequest},
		{"delete", func(ctx context.Context, c *management.Client) error { return c.Knowledge.Delete(ctx, 3) }, fault.ConfirmationRequired},
		{"entry status", func(ctx context.Context, c *management.Client) error { return drop(c.Knowledge.EntryStatus(ctx, 3)) }, fault.BadRequest},
		{"search", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.Search(ctx, management.SearchInput{}))
		}, fault.BadRequest},
		{"top_n", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.Search(ctx, management.SearchInput{Query: "x", TopN: -1}))
		}, fault.BadRequest},
		{"margins", func(ctx context.Context, c *management.Client) error {
			return drop(c.Knowledge.Search(ctx, management.SearchInput{Query: "x", MarginsInSeconds: new(-1)}))
		}, fault.BadRequest},
	})
}

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

func TestInsightCalls(t *testing.T) {
	const record = `{"id":"i-1","key":"mood","title":"Mood","prompt":"How?","valueType":"string","status":"active"}`
	testCalls(t, []call{
		{"create", func(ctx context.Context, c *management.Client) error {
			return drop(c.Insights.Create(ctx, management.InsightInput{Key: "mood", Title: "Mood", Prompt: "How?", ValueType: "string[]"}))
		}, "agent", "/insight-settings/create", `{"key":"mood","title":"Mood","prompt":"How?","valueType":"string[]"}`, record},
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.Insights.Get(ctx, "i-1")) }, "agent", "/insight-settings/get", `{"id":"i-1"}`, record},
		{"list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Insights.List(ctx, management.InsightFilter{Status: management.StatusActive})))
		}, "agent", "/insight-settings/list", `{"filter":{"statusEqual":"active"},"pager":{"offset":0,"limit":30}}`, `{"totalCount":1,"objects":[` + record + `]}`},
		{"update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Insights.Update(ctx, "i-1", management.InsightPatch{Status: new("disabled")}))
		}, "agent", "/insight-settings/update", `{"id":"i-1","status":"disabled"}`, record},
		{"delete by force", func(ctx context.Context, c *management.Client) error {
			return c.Insights.Delete(ctx, "i-1", management.ConfirmPermanent, management.Force)
		}, "agent", "/insight-settings/delete", `{"id":"i-1"}`, `null`},
	})
	whole := management.InsightInput{Key: "mood", Title: "Mood", Prompt: "How?", ValueType: "number"}
	var refusals []refusal
	for name, change := range map[string]func(*management.InsightInput){
		"key": func(in *management.InsightInput) { in.Key = "" }, "key with a space": func(in *management.InsightInput) { in.Key = "a b" },
		"title": func(in *management.InsightInput) { in.Title = "" }, "prompt": func(in *management.InsightInput) { in.Prompt = "" },
		"value type": func(in *management.InsightInput) { in.ValueType = "date" },
	} {
		in := whole
		change(&in)
		refusals = append(refusals, refusal{name, func(ctx context.Context, c *management.Client) error { return drop(c.Insights.Create(ctx, in)) }, fault.BadRequest})
	}
	testRefusals(t, append(refusals,
		refusal{"update of nothing", func(ctx context.Context, c *management.Client) error {
			return drop(c.Insights.Update(ctx, "i-1", management.InsightPatch{}))
		}, fault.BadRequest},
		refusal{"status", func(ctx context.Context, c *management.Client) error {
			return drop(c.Insights.Update(ctx, "i-1", management.InsightPatch{Status: new("off")}))
		}, fault.BadRequest},
		refusal{"status of a list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Insights.List(ctx, management.InsightFilter{Status: "off"})))
		}, fault.BadRequest},
		refusal{"delete", func(ctx context.Context, c *management.Client) error { return c.Insights.Delete(ctx, "i-1") }, fault.ConfirmationRequired},
	))
	f := newFake(t, map[string][]answer{"/lifecycle/list": {{0, `{"totalCount":1,"objects":[{"id":"r-1","name":"Moods","actions":[{"type":"triggerInsightSettingsKai","insightSettingIds":["i-1"]}]}]}`}}})
	err := f.Insights.Delete(t.Context(), "i-1", management.ConfirmPermanent)
	wantCode(t, "in use", err, fault.Conflict)
	if !strings.Contains(err.Error(), "r-1 (Moods)") {
		t.Errorf("%v does not name the rule", err)
	}
	wantRequests(t, f, "agent /lifecycle/list")
}

func TestLifecycleCalls(t *testing.T) {
	const record = `{"id":"r-1","name":"Moods","status":"active","objectType":"thread","eventType":"session_ended","conditions":[],"actions":[{"type":"triggerInsightSettingsKai","insightSettingIds":["i-1"]}]}`
	actions := []management.RuleAction{{Type: management.ActionInsights, InsightSettingIDs: []string{"i-1"}}}
	in := management.RuleInput{
		Name: "Moods", EventType: management.EventSessionEnded, Actions: actions,
		Conditions: []management.RuleTerm{{Field: "object.agent_id", Operator: "in", Value: []string{"a-1"}}},
	}
	testCalls(t, []call{
		{
			"create", func(ctx context.Context, c *management.Client) error { return drop(c.Lifecycle.Create(ctx, in)) }, "agent", "/lifecycle/create",
			`{"name":"Moods","objectType":"thread","eventType":"session_ended","conditions":[{"field":"object.agent_id","operator":"in","value":["a-1"]}],
			"actions":[{"type":"triggerInsightSettingsKai","insightSettingIds":["i-1"]}]}`, record,
		},
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.Lifecycle.Get(ctx, "r-1")) }, "agent", "/lifecycle/get", `{"id":"r-1"}`, record},
		{"list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.Lifecycle.List(ctx)))
		}, "agent", "/lifecycle/list", `{"filter":{},"pager":{"offset":0,"limit":30}}`, `{"totalCount":1,"objects":[` + record + `]}`},
		{"update", func(ctx context.Context, c *management.Client) error {
			return drop(c.Lifecycle.Update(ctx, "r-1", management.RulePatch{Status: new("disabled"), Conditions: []management.RuleTerm{}}))
		}, "agent", "/lifecycle/update", `{"id":"r-1","status":"disabled","conditions":[]}`, record},
		{"delete", func(ctx context.Context, c *management.Client) error {
			return c.Lifecycle.Delete(ctx, "r-1", management.ConfirmPermanent)
		}, "agent", "/lifecycle/delete", `{"id":"r-1"}`, `{"id":"r-1"}`},
		{"match", func(ctx context.Context, c *management.Client) error {
			rules, err := c.Lifecycle.Match(ctx, "th-1", management.EventAnalysisUpdated, "mood")
			if err == nil && (len(rules) != 1 || rules[0].ID != "r-1") {
				t.Errorf("rules %v", rules)
			}
			return err
		}, "agent", "/lifecycle/match", `{"objectType":"thread","objectId":"th-1","eventType":"analysis_updated","changedKeys":["mood"]}`, `{"totalCount":1,"objects":[` + record + `]}`},
		{"objects", func(ctx context.Context, c *management.Client) error {
			types, err := c.Lifecycle.Objects(ctx)
			if err == nil && !slices.Equal(types, []string{"thread"}) {
				t.Errorf("types %v", types)
			}
			return err
		}, "agent", "/lifecycle/listObjects", `{}`, `{"totalCount":1,"objects":[{"objectType":"thread"}]}`},
		{"events", func(ctx context.Context, c *management.Client) error { return drop(c.Lifecycle.Events(ctx)) }, "agent", "/lifecycle/listEvents", `{}`, `{"objects":[]}`},
		{"fields", func(ctx context.Context, c *management.Client) error { return drop(c.Lifecycle.DescribeFields(ctx)) }, "agent", "/lifecycle/describeFields", `{}`, `{"objects":[{"field":"object.id","type":"string"}]}`},
	})
	var refusals []refusal
	for name, change := range map[string]func(*management.RuleInput){
		"name":      func(in *management.RuleInput) { in.Name = "" },
		"event":     func(in *management.RuleInput) { in.EventType = "birthday" },
		"object":    func(in *management.RuleInput) { in.ObjectType = "agent" },
		"status":    func(in *management.RuleInput) { in.Status = "off" },
		"no action": func(in *management.RuleInput) { in.Actions = nil },
		"action":    func(in *management.RuleInput) { in.Actions = []management.RuleAction{{Type: "webhook"}} },
		"no insight": func(in *management.RuleInput) {
			in.Actions = []management.RuleAction{{Type: management.ActionInsights}}
		},
		"no template": func(in *management.RuleInput) {
			in.Actions = []management.RuleAction{{Type: management.ActionEmail, To: "a@x.example"}}
		},
		"insights": func(in *management.RuleInput) {
			in.Actions = []management.RuleAction{{Type: management.ActionInsights, InsightSettingIDs: make([]string, 21)}}
		},
		"operator": func(in *management.RuleInput) {
			in.Conditions = []management.RuleTerm{{Field: "a", Operator: "like", Value: "x"}}
		},
		"field": func(in *management.RuleInput) {
			in.Conditions = []management.RuleTerm{{Operator: "equals", Value: "x"}}
		},
		"no value": func(in *management.RuleInput) {
			in.Conditions = []management.RuleTerm{{Field: "a", Operator: "equals"}}
		},
		"no list": func(in *management.RuleInput) {
			in.Conditions = []management.RuleTerm{{Field: "a", Operator: "in", Value: "x"}}
		},
		"empty one": func(in *management.RuleInput) {
			in.Conditions = []management.RuleTerm{{Field: "a", Operator: "in", Value: []any{}}}
		},
	} {
		in := in
		change(&in)
		refusals = append(refusals, refusal{name, func(ctx context.Context, c *management.Client) error { return drop(c.Lifecycle.Create(ctx, in)) }, fault.BadRequest})
	}
	testRefusals(t, append(refusals,
		refusal{"update of nothing", func(ctx context.Context, c *management.Client) error {
			return drop(c.Lifecycle.Update(ctx, "r-1", management.RulePatch{}))
		}, fault.BadRequest},
		refusal{"update to no action", func(ctx context.Context, c *management.Client) error {
			return drop(c.Lifecycle.Update(ctx, "r-1", management.RulePatch{Actions: []management.RuleAction{}}))
		}, fault.BadRequest},
		refusal{"delete", func(ctx context.Context, c *management.Client) error { return c.Lifecycle.Delete(ctx, "r-1") }, fault.ConfirmationRequired},
		refusal{"match", func(ctx context.Context, c *management.Client) error {
			return drop(c.Lifecycle.Match(ctx, "th-1", "birthday"))
		}, fault.BadRequest},
	))
}

func TestEmailTemplateCalls(t *testing.T) {
	const record = `{"id":"e-1","appGuid":"g","name":"n","subject":"s","body":"b","from":"f","language":"en","status":"active"}`
	whole := management.EmailTemplateInput{AppGUID: "g", Name: "n", Subject: "s", Body: "b", From: "f", Language: "en"}
	testCalls(t, []call{
		{"create", func(ctx context.Context, c *management.Client) error {
			e, err := c.EmailTemplates.Create(ctx, whole)
			if err == nil && e.EmailTemplateInput != whole {
				t.Errorf("made %+v", e)
			}
			return err
		}, "messaging", "/email-template/add", `{"appGuid":"g","name":"n","subject":"s","body":"b","from":"f","language":"en"}`, record},
		{"get", func(ctx context.Context, c *management.Client) error { return drop(c.EmailTemplates.Get(ctx, "e-1")) }, "messaging", "/email-template/get", `{"id":"e-1"}`, record},
		{"list", func(ctx context.Context, c *management.Client) error {
			return drop(management.Collect(c.EmailTemplates.List(ctx)))
		}, "messaging", "/email-template/list", `{"filter":{},"pager":{"offset":0,"limit":30}}`, `{"totalCount":1,"objects":[` + record + `]}`},
		{"update", func(ctx context.Context, c *management.Client) error {
			return drop(c.EmailTemplates.Update(ctx, "e-1", management.EmailTemplatePatch{Subject: new("x")}))
		}, "messaging", "/email-template/update", `{"id":"e-1","subject":"x"}`, record},
		{"delete", func(ctx context.Context, c *management.Client) error {
			return c.EmailTemplates.Delete(ctx, "e-1", management.ConfirmPermanent)
		}, "messaging", "/email-template/delete", `{"id":"e-1"}`, `null`},
	})
	var refusals []refusal
	for n := range 6 { // each of the six required fields
		in := whole
		reflect.ValueOf(&in).Elem().Field(n).SetString("")
		refusals = append(refusals, refusal{
			reflect.TypeOf(in).Field(n).Name, func(ctx context.Context, c *management.Client) error { return drop(c.EmailTemplates.Create(ctx, in)) }, fault.BadRequest,
		})
	}
	testRefusals(t, append(refusals,
		refusal{"update of nothing", func(ctx context.Context, c *management.Client) error {
			return drop(c.EmailTemplates.Update(ctx, "e-1", management.EmailTemplatePatch{}))
		}, fault.BadRequest},
		refusal{"delete", func(ctx context.Context, c *management.Client) error { return c.EmailTemplates.Delete(ctx, "e-1") }, fault.ConfirmationRequired},
	))
	// The EU has no messaging service, unless its address is given.
	c, err := management.New(management.Options{PartnerID: partner, Secret: secret, Config: management.Config{Region: new("frp2")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wantCode(t, "EU", drop(c.EmailTemplates.Get(t.Context(), "e-1")), fault.RegionUnavailable)
	f := newFake(t, map[string][]answer{"/email-template/get": {{0, record}}}, func(o *management.Options) { o.Region = new("frp2") })
	if _, err := f.EmailTemplates.Get(t.Context(), "e-1"); err != nil {
		t.Error(err)
	}
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
		"/v1/tool/list":      page(`{"id":"t-1","name":"note","config":{"type":"client","description":""}}`, `{"id":"t-2","name":"crm","config":{"type":"api","description":"x","url":"https://x.example","headers":{"k":"{{ secrets.NONE }}"}}}`),
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
	d, err := f.Doctor(t.Context(), management.DoctorInput{})
	if err != nil {
		t.Fatal(err)
	}
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
	d, err := f.Doctor(t.Context(), management.DoctorInput{})
	if err != nil {
		t.Fatal(err)
	}
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
		findings, err := newFake(t, answers).Lifecycle.Audit(t.Context(), "r-3")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range findings {
			got = append(got, f.Code)
			if f.Code == management.FindingTemplateTokens && !strings.Contains(f.Detail, "{{ colour }}") || f.Code == management.FindingDTCWithoutForms && !strings.HasSuffix(f.Detail, ": a-1") {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	answers["/lifecycle/get"] = []answer{{404, `{}`}}
	_, err := newFake(t, answers).Lifecycle.Audit(t.Context(), "r-9")
	wantCode(t, "unknown", err, fault.NotFound)
}

func TestAuditOfAnIntellect(t *testing.T) {
	answers := sick()
	answers["/v1/intellect/get"] = []answer{{0, `{"id":7,"tool_ids":["t-9"],"base_directive":"{{ sys__nothing }}"}`}}
	f := newFake(t, answers)
	findings, err := f.Intellects.Audit(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != 2 || findings[0].Code != "prompt_unknown_variable" || findings[1].Code != "tool_not_found" || findings[1].Object != "intellect 7" {
		t.Errorf("found %+v", findings)
	}
}
