//go:build !js

package management

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestModelConfiguration(t *testing.T) {
	for name, test := range map[string]struct {
		m  *ModelConfiguration
		ok bool
	}{
		"nil clears":           {nil, true},
		"whole":                {&ModelConfiguration{"m-1", 500, "low", new(0.5)}, true},
		"bounds":               {&ModelConfiguration{Temperature: new(0.0)}, true},
		"upper bound":          {&ModelConfiguration{Temperature: new(1.0)}, true},
		"nothing":              {&ModelConfiguration{}, false},
		"too warm":             {&ModelConfiguration{Temperature: new(1.1)}, false},
		"too cold":             {&ModelConfiguration{Temperature: new(-0.1)}, false},
		"no number":            {&ModelConfiguration{Temperature: new(math.NaN())}, false},
		"unknown level":        {&ModelConfiguration{ThinkingLevel: "much"}, false},
		"negative tokens":      {&ModelConfiguration{MaxOutputTokens: -1}, false},
		"model with space":     {&ModelConfiguration{ModelID: "a b"}, false},
		"model with line feed": {&ModelConfiguration{ModelID: "a\n"}, false},
	} {
		if err := test.m.check(); (err == nil) != test.ok || err != nil && !errors.Is(err, fault.BadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSummaryTemplateKeys(t *testing.T) {
	for name, test := range map[string]struct {
		c  *AvatarSummaryConfig
		ok bool
	}{
		"nil restores":           {nil, true},
		"defaults":               {&AvatarSummaryConfig{}, true},
		"summary without a list": {&AvatarSummaryConfig{Template: "{{ summary }}"}, true},
		"own keys":               {&AvatarSummaryConfig{Analysis: map[string]string{"mood": "x"}, Template: "{{ mood }}"}, true},
		"another key":            {&AvatarSummaryConfig{Template: "{{ mood }}"}, false},
		"summary is no own key":  {&AvatarSummaryConfig{Analysis: map[string]string{"mood": "x"}, Template: "{{ summary }}"}, false},
		"key with a space":       {&AvatarSummaryConfig{Analysis: map[string]string{"a b": "x"}}, false},
		"braces":                 {&AvatarSummaryConfig{Template: "{{ summary"}, false},
		"content type":           {&AvatarSummaryConfig{ContentType: "pdf"}, false},
	} {
		if err := test.c.check(); (err == nil) != test.ok || err != nil && !errors.Is(err, fault.BadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpeningPhrase(t *testing.T) {
	for phrase, ok := range map[string]bool{
		SilentOpening: true, "Hello {{ name }}!": true, "Hello {{ sys__user_obj.first_name }}": true,
		"{{ secrets.CRM }}": false, "{{ sys__ks }}": false, "{{ sys__nothing }}": false, "{{ name": false,
	} {
		if err := checkOpening(phrase); (err == nil) != ok || err != nil && !errors.Is(err, fault.BadRequest) {
			t.Errorf("%q: %v", phrase, err)
		}
	}
}

func TestSecretValuesAreThrownAway(t *testing.T) {
	const value = "hunter2"
	for _, reply := range []string{`{"id":1,"secrets":{"B":"` + value + `","A":"***"}}`, `{"id":1,"secrets":["B","A"]}`} {
		var i Intellect
		if err := json.Unmarshal([]byte(reply), &i); err != nil {
			t.Fatal(err)
		}
		if want := (SecretNames{"A", "B"}); !slices.Equal(i.Secrets, want) {
			t.Errorf("names %v, want %v", i.Secrets, want)
		}
		text, err := json.Marshal(i)
		if shown := fmt.Sprintf("%s %v %+v %#v", text, i, i, i); err != nil || strings.Contains(shown, value) {
			t.Errorf("the value is in %s", shown)
		}
	}
	var none, some Intellect
	if json.Unmarshal([]byte(`{"id":1}`), &none) != nil || json.Unmarshal([]byte(`{"id":1,"secrets":{}}`), &some) != nil {
		t.Fatal("the records do not decode")
	}
	if none.Secrets != nil || some.Secrets == nil {
		t.Error("secrets that are not known and no secrets must differ")
	}
}

func TestSecretsAreChecked(t *testing.T) {
	for name, values := range map[string]map[string]string{
		"the mask": {"A": mask}, "empty": {"A": ""}, "name with a dot": {"A.B": "x"}, "name with braces": {"A}}": "x"},
	} {
		if err := checkSecrets(values); !errors.Is(err, fault.BadRequest) {
			t.Errorf("%s: %v, want bad_request", name, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the value is in %v", name, err)
		}
	}
	if err := checkSecrets(map[string]string{"CRM_KEY": "hunter2"}); err != nil {
		t.Error(err)
	}
}

func TestDisabledCapabilityIsAVeto(t *testing.T) {
	stored := map[string]string{"use_web_search": "disabled", "avatar": "on"}
	changes := map[string]string{"use_web_search": "on"}
	if _, err := mergeCapabilities(stored, changes, false); !errors.Is(err, fault.CapabilityVetoed) {
		t.Errorf("%v, want capability_vetoed", err)
	}
	merged, err := mergeCapabilities(stored, changes, true)
	if want := (map[string]string{"use_web_search": "on", "avatar": "on"}); err != nil || !maps.Equal(merged, want) {
		t.Errorf("merged %v, %v; want %v", merged, err, want)
	}
	if stored["use_web_search"] != "disabled" {
		t.Error("the map that was read has changed")
	}
	for _, state := range []string{"disabled", "off"} {
		if _, err := mergeCapabilities(stored, map[string]string{"use_web_search": state}, false); err != nil {
			t.Error(state, err)
		}
	}
}

func TestIntellectFieldsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		f    IntellectFields
		code fault.Code
	}{
		"tool twice":           {IntellectFields{ToolIDs: []string{"a", "a"}}, fault.BadRequest},
		"empty tool":           {IntellectFields{ToolIDs: []string{""}}, fault.BadRequest},
		"start tool twice":     {IntellectFields{ThreadStartTools: []string{"a", "a"}}, fault.BadRequest},
		"two knowledge ids":    {IntellectFields{KnowledgeIDs: []int64{1, 2}}, fault.BadRequest},
		"negative knowledge":   {IntellectFields{KnowledgeIDs: []int64{-1}}, fault.BadRequest},
		"skill mode":           {IntellectFields{SkillIDs: []SkillRef{{ID: "a", Mode: "always"}}}, fault.BadRequest},
		"skill condition":      {IntellectFields{SkillIDs: []SkillRef{{"a", SkillAdhoc, "{{ x }}"}}}, fault.BadRequest},
		"skill twice":          {IntellectFields{SkillIDs: []SkillRef{{ID: "a", Mode: SkillAdhoc}, {ID: "a", Mode: SkillPreloaded}}}, fault.BadRequest},
		"opening":              {IntellectFields{OpeningPhrase: new("{{ x")}, fault.BadRequest},
		"model":                {IntellectFields{ModelConfiguration: &ModelConfiguration{}}, fault.BadRequest},
		"summary":              {IntellectFields{AvatarSummaryConfig: &AvatarSummaryConfig{Template: "{{ x }}"}}, fault.BadRequest},
		"language":             {IntellectFields{Language: new("german")}, fault.BadRequest},
		"capability":           {IntellectFields{Capabilities: map[string]string{"x": "on"}}, fault.UnknownCapability},
		"capability state":     {IntellectFields{Capabilities: map[string]string{"avatar": "yes"}}, fault.BadRequest},
		"secret":               {IntellectFields{Secrets: map[string]string{"A": mask}}, fault.BadRequest},
		"MCP address":          {IntellectFields{MCPServers: []MCPServer{{Name: "a", URL: "ftp://x"}}}, fault.InvalidURL},
		"MCP password":         {IntellectFields{MCPServers: []MCPServer{{Name: "a", URL: "https://u:p@x"}}}, fault.InvalidURL},
		"MCP name":             {IntellectFields{MCPServers: []MCPServer{{URL: "https://x"}}}, fault.BadRequest},
		"form without a field": {IntellectFields{UserPropertiesForms: []UserPropertiesForm{{CallStage: "start"}}}, fault.BadRequest},
		"form without a stage": {IntellectFields{UserPropertiesForms: []UserPropertiesForm{{Properties: []FormProperty{{Key: "a"}}}}}, fault.BadRequest},
		"prompt without a key": {IntellectFields{Prompts: []Prompt{{Value: "x"}}}, fault.BadRequest},
		"type of a prompt":     {IntellectFields{Prompts: []Prompt{{Key: "a", Type: "fixed"}}}, fault.BadRequest},
		"status":               {IntellectFields{Status: new(3)}, fault.BadRequest},
		"form field type":      {IntellectFields{UserPropertiesForms: []UserPropertiesForm{{CallStage: "start", Properties: []FormProperty{{Key: "a", Type: "x"}}}}}, fault.BadRequest},
		"prompt":               {IntellectFields{Prompts: []Prompt{{Key: "a", Value: "{{ sys__ks }}"}}}, fault.PromptLintFailed},
		"directive":            {IntellectFields{BaseDirective: new("{{ x")}, fault.PromptLintFailed},
		"glossary":             {IntellectFields{Glossary: new("{{ x")}, fault.PromptLintFailed},
	} {
		if err := test.f.check(); !errors.Is(err, test.code) {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
	whole := IntellectFields{
		Name: new("n"), BaseDirective: new("You are {{ agent_name }}."), Prompts: []Prompt{{Key: "a", Value: "b"}}, Glossary: new("g"),
		ToolIDs: []string{"t"}, KnowledgeIDs: []int64{0}, SkillIDs: []SkillRef{{"s", SkillAdhocSave, "sys__avatar_enabled"}},
		AllowClientVariables: new(true), ModelConfiguration: &ModelConfiguration{ModelID: "m"}, OpeningPhrase: new(SilentOpening),
		ThreadStartTools: []string{"t"}, AvatarSummaryConfig: &AvatarSummaryConfig{}, Capabilities: map[string]string{"avatar": "disabled"},
		Secrets: map[string]string{"A": "b"}, MCPServers: []MCPServer{{Name: "a", URL: "https://x.example/mcp"}}, Language: new("pt-BR"),
		UserPropertiesForms: []UserPropertiesForm{{CallStage: "end", Properties: []FormProperty{{Key: "email"}}}},
	}
	if err := whole.check(); err != nil {
		t.Error(err)
	}
}

func TestForcedLanguagePrompt(t *testing.T) {
	if len(Languages) != 28 {
		t.Errorf("%d languages, want 28", len(Languages))
	}
	for tag, want := range map[string]string{"de": "German", "pt-BR": "Portuguese", "EN-us": "English"} {
		if name, err := languageName(tag, ""); err != nil || name != want {
			t.Errorf("%s: %q, %v; want %s", tag, name, err, want)
		}
	}
	for _, tag := range []string{"", "german", "d", "de_DE", "12", "xx", "de-"} {
		if _, err := languageName(tag, ""); !errors.Is(err, fault.BadRequest) {
			t.Errorf("%q: %v, want bad_request", tag, err)
		}
	}
	if name, err := languageName("cy", "Welsh"); err != nil || name != "Welsh" {
		t.Errorf("%q, %v; want Welsh", name, err)
	}
	own := []Prompt{{Key: "mine", Value: "text"}}
	once := withForcedLanguage(own, "German {{ x }}")
	twice := withForcedLanguage(once, "French")
	if len(once) != 2 || len(twice) != 2 || !strings.Contains(twice[1].Value, "French") || strings.Contains(once[1].Value, "{{") {
		t.Errorf("%v, then %v", once, twice)
	}
	if none := withForcedLanguage(twice, ""); !slices.Equal(none, own) {
		t.Errorf("%v, want %v", none, own)
	}
}
