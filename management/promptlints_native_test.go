//go:build !js

package management_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func codes(findings []management.Finding) []string {
	list := []string{}
	for _, f := range findings {
		list = append(list, f.Field+" "+f.Code)
	}
	return list
}

func TestLintGlossary(t *testing.T) {
	for text, want := range map[string]management.GlossaryLint{
		" \n":                                {Format: "empty"},
		"Suite: a room with {{ beds }} beds": {Format: "text", Variables: []string{"beds"}},
		"{{ beds }} and {{ beds }}":          {Format: "text", Variables: []string{"beds"}},
		`[{"Suite":"a room"}]`:               {Format: "json"},
		` {"Suite":"a room"}`:                {Format: "json"},
		"{":                                  {Format: "json"},
	} {
		got := management.LintGlossary(text, management.PromptContext{})
		wantCodes := []string{}
		if want.Format == "json" {
			wantCodes = []string{"glossary glossary_format"}
		}
		if got.Format != want.Format || !slices.Equal(got.Variables, want.Variables) || !slices.Equal(codes(got.Findings), wantCodes) || !got.OK() {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := management.LintGlossary("{{ sys__ks }} {{", management.PromptContext{}); got.OK() || !slices.Equal(codes(got.Findings), []string{"glossary prompt_syntax", "glossary prompt_token"}) {
		t.Errorf("%+v", got)
	}
}

func TestLintPersonaIdentity(t *testing.T) {
	prompts := []management.Prompt{{Key: "a", Value: "Say: my name is Ada Lovelace."}, {Key: "b", Value: "You are patient."}}
	for name, c := range map[string]struct {
		persona  management.Persona
		detected string
		codes    []string
	}{
		"no name":     {management.Persona{BaseDirective: "You are a guide.", OpeningPhrase: "Hello!"}, "", nil},
		"one name":    {management.Persona{BaseDirective: "You are Ada.", Prompts: prompts, OpeningPhrase: "Hi, I’m Ada"}, "Ada", nil},
		"its name":    {management.Persona{Name: "ada lovelace", BaseDirective: "You are Ada.", OpeningPhrase: "This is Ada."}, "Ada", nil},
		"another":     {management.Persona{Name: "Mira", BaseDirective: "You are Ada.", Prompts: prompts}, "Ada", []string{"base_directive persona_name_mismatch", "prompts[0].value persona_name_mismatch"}},
		"two of them": {management.Persona{BaseDirective: "You are Ada.", OpeningPhrase: "I am Émile Zola, hello"}, "Ada", []string{"opening_phrase persona_name_drift"}},
		"not a name":  {management.Persona{Name: "Ada", OpeningPhrase: "I am Adam."}, "Adam", []string{"opening_phrase persona_name_mismatch"}},
	} {
		got := management.LintPersonaIdentity(c.persona)
		if got.DetectedName != c.detected || !slices.Equal(codes(got.Findings), c.codes) || !got.OK() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAssembleSystemPrompt(t *testing.T) {
	prompts := []management.Prompt{
		{Key: "goal", HeaderTemplate: "Goal of {{ name }}", Value: "Sell {{ what | default('rooms') }}."}, {Key: "empty", HeaderTemplate: "Nothing", Value: " "}, {Key: "tone", Value: "Be kind to {{ who }}{{ nothing }}."},
	}
	got := management.AssembleSystemPrompt(management.SystemPromptInput{
		Prompts: prompts, BaseDirective: "You are {{ name }}, {{ sys__user_id }}.", Glossary: "Suite: {{ who }}", Vars: map[string]any{"name": "Ada", "nothing": nil, "sys__user_id": 7},
	})
	want := management.SystemPrompt{
		Text:        "You are Ada, 7.\n\n## Goal of Ada\nSell rooms.\n\n## tone\nBe kind to {{ who }}.\n\nSuite: {{ who }}",
		SkippedKeys: []string{"empty"}, UnresolvedVariables: []string{"who"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	got = management.AssembleSystemPrompt(management.SystemPromptInput{Prompts: prompts[:1], Literal: true, Vars: map[string]any{"name": "Ada"}})
	want = management.SystemPrompt{
		Text:        "<<the service's default directive>>\n\n## Goal of {{ name }}\nSell {{ what | default('rooms') }}.",
		SkippedKeys: []string{}, UnresolvedVariables: []string{}, UsedDefaultDirective: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestInspectKS(t *testing.T) {
	for ks, want := range map[string]management.KSInfo{
		"":                 {},
		"not a token":      {},
		"djJ8*":            {},
		"djJ8dHdv":         {Encrypted: true}, // v2|two
		"djJ8NTUwMXwA_w==": {OK: true, PartnerID: 5501, Encrypted: true},
		"djJ8NTUwMXxnZW5pZWdwY2lkOjcsYWdlbnRpZDph":     {OK: true, PartnerID: 5501, Kind: management.ConversationToken},
		"djJ8NTUwMXxhZ2VudGlkOmE=":                     {OK: true, PartnerID: 5501, Kind: management.AgentToken},
		"djJ8NTUwMXxkaXNhYmxlZW50aXRsZW1lbnQ=":         {OK: true, PartnerID: 5501, Kind: management.AdminToken, DisableEntitlement: true},
		"djJ8NTUwMXx3aWRnZXQ6MQ==":                     {OK: true, PartnerID: 5501},
		"djJ8OTk5OTk5OTk5OTk5OTk5OTk5OTl8d2lkZ2V0OjE=": {PartnerID: 1<<63 - 1}, // more than an account's number can be
	} {
		expect.Equal(t, management.InspectKS(ks), want, "%q", ks)
	}
}

// TestInspectKSOfTheService: a token of the service is encrypted.
func TestInspectKSOfTheService(t *testing.T) {
	c, info := newClient(t)
	token := must.Get(c.Tokens.Admin(t.Context(), management.AdminTokenInput{UserID: "root"}))(t)
	if got := management.InspectKS(token.KS()); !got.OK || got.PartnerID != info.PartnerID || !got.Encrypted {
		t.Errorf("%+v", got)
	}
}

func TestContactRecipes(t *testing.T) {
	hubspot := must.Get(management.HubSpotContactUpsert(management.HubSpotContact{SecretName: "HUBSPOT"}))(t)
	salesforce := must.Get(management.SalesforceContactUpsert(management.SalesforceContact{
		SecretName: "SF", InstanceURL: "https://acme.example/", ExternalIDField: "Key__c", Fields: []string{"Key__c", "Phone"}, Name: "save_contact", Description: "Saves.",
	}))(t)
	for _, c := range []struct {
		tool       management.NewTool
		name, want string
	}{
		{hubspot, "hubspot_contact_upsert", `{
			"type":"api","description":"Stores the contact details of the visitor in HubSpot.","wait_for_response":true,
			"args":{"email":{"prompt":"The visitor's email.","type":"str","required":true},"firstname":{"prompt":"The visitor's firstname.","type":"str"},"lastname":{"prompt":"The visitor's lastname.","type":"str"}},
			"request":{"url":"https://api.hubapi.com/crm/v3/objects/contacts","method":"POST","headers":{"Authorization":"Bearer {{secrets.HUBSPOT}}"},
				"body":{"properties":{"email":"{{args.email}}","firstname":"{{args.firstname}}","lastname":"{{args.lastname}}"}}},
			"response_mapping":{"contact_id":"id","result":"properties"}}`},
		{salesforce, "save_contact", `{
			"type":"api","description":"Saves.","wait_for_response":true,
			"args":{"Key__c":{"prompt":"The visitor's Key__c.","type":"str","required":true},"Phone":{"prompt":"The visitor's Phone.","type":"str"}},
			"request":{"url":"https://acme.example/services/data/v59.0/sobjects/Contact/Key__c/{{args.Key__c}}","method":"PATCH",
				"headers":{"Authorization":"Bearer {{secrets.SF}}"},"body":{"Phone":"{{args.Phone}}"}},
			"response_mapping":{"result":"id"}}`},
	} {
		text, err := json.Marshal(c.tool.Config)
		var got, want any
		if err != nil || json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(c.want), &want) != nil || !reflect.DeepEqual(got, want) || c.tool.Name != c.name {
			t.Errorf("%s: %s, %v", c.tool.Name, text, err)
		}
	}
	for name, in := range map[string]management.HubSpotContact{
		"no secret": {}, "a bad secret": {SecretName: "a b"}, "a bad field": {SecretName: "A", Properties: []string{"first name"}}, "no field": {SecretName: "A", Properties: []string{}},
		"a bad name": {SecretName: "A", Name: "a b"},
	} {
		_, err := management.HubSpotContactUpsert(in)
		wantCode(t, name, err, fault.BadRequest)
	}
	for name, in := range map[string]management.SalesforceContact{
		"no address": {SecretName: "A"}, "no key": {SecretName: "A", InstanceURL: "https://x.example", Fields: []string{"Phone"}},
	} {
		_, err := management.SalesforceContactUpsert(in)
		wantCode(t, name, err, fault.BadRequest)
	}
	_, err := management.SalesforceContactUpsert(management.SalesforceContact{SecretName: "A", InstanceURL: "acme"})
	wantCode(t, "not an address", err, fault.InvalidURL)
}

// TestContactToolsOnTheService: the service accepts the tools, and their secrets are checked.
func TestContactToolsOnTheService(t *testing.T) {
	c, _ := newClient(t)
	ctx := t.Context()
	recipe := must.Get(management.HubSpotContactUpsert(management.HubSpotContact{SecretName: "HUBSPOT"}))(t)
	tool := must.Get(c.Tools.Add(ctx, recipe.Name, recipe.Config))(t)
	intellect := must.Get(c.Intellects.Add(ctx, management.IntellectFields{ToolIDs: []string{tool.ID}}))(t)
	refs, err := c.Intellects.ValidateSecrets(ctx, intellect.ID)
	if err != nil || !slices.Equal(refs.Unresolved, []management.SecretRef{{Name: "HUBSPOT", Where: management.InTools}}) {
		t.Errorf("%+v, %v", refs, err)
	}
}

// TestReceipts: a write returns when and where it was made, and what has no effect; what is
// read has no receipt.
func TestReceipts(t *testing.T) {
	f := newFake(t, map[string][]answer{
		"/v1/intellect/add": {{0, `{"id":7,"_meta":{"generatedAt":"no time","partnerId":"x","noEffect":["status: a"]}}`}},
		"/v1/intellect/get": {{0, `{"id":7}`}},
	})
	intellect := must.Get(f.Intellects.Add(t.Context(), management.IntellectFields{}))(t)
	if m := intellect.Meta; m == nil || m.GeneratedAt.IsZero() || m.GeneratedAt.Nanosecond() != 0 || m.PartnerID != partner ||
		m.Source != "/v1/intellect/add" || m.Scope != "intellect:7" || !slices.Equal(m.NoEffect, []string{"status: a"}) {
		t.Errorf("receipt %+v", m)
	}
	read, err := f.Intellects.Get(t.Context(), 7)
	if err != nil || read.Meta != nil {
		t.Errorf("read %+v, %v", read.Meta, err)
	}
	for _, c := range []call{
		{"Catalog.Update", `["v-1",{"adminTags":[]}]`, "agent /catalog-item/update", `{"itemId":"v-1","adminTags":[]}`, `{"itemId":"v-1"}`, "catalog-item:v-1"},
		{"Knowledge.Update", `[0,{"name":"n"}]`, "genie /v1/knowledge/update", `{"id":0,"name":"n"}`, `{"id":0}`, "knowledge:0"},
		{"EmailTemplates.Update", `["e-1",{"name":"n"}]`, "messaging /email-template/update", `{"id":"e-1","name":"n"}`, `{"id":"e-1"}`, "email-template:e-1"},
		{"Lifecycle.Update", `["r-1",{"name":"n"}]`, "agent /lifecycle/update", `{"id":"r-1","name":"n"}`, `{"id":"r-1"}`, "lifecycle:r-1"},
		{"Avatars.Clone", `["` + avatarID + `"]`, "agent /avatar/clone", `{"id":"` + avatarID + `"}`, `{"id":"` + avatarID + `"}`, "avatar:" + avatarID},
	} {
		c.result = `{"_meta":{"scope":"` + c.result + `"}}`
		testCalls(t, []call{c})
	}
}
