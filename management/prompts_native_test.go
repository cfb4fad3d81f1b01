//go:build !js

package management

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func codes(findings []Finding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Code)
	}
	return list
}

func TestLintPrompt(t *testing.T) {
	for _, test := range []struct {
		name, template string
		context        PromptContext
		want           []string
	}{
		{"plain text", "Hello.", PromptContext{}, nil},
		{"client variable", "Hello {{ name }}.", PromptContext{}, nil},
		{"client variable that nothing sets", "Hello {{ name }}.", PromptContext{NoClientVariables: true}, []string{FindingPromptUnknownVariable}},
		{"a default makes up for it", "Hello {{ name | default('you') }}.", PromptContext{NoClientVariables: true}, nil},
		{"open braces", "Hello {{ name", PromptContext{}, []string{FindingPromptSyntax}},
		{"closing braces", "Hello name }}", PromptContext{}, []string{FindingPromptSyntax}},
		{"no name", "Hello {{ }}", PromptContext{}, []string{FindingPromptEmpty}},
		{"unknown sys variable", "{{ sys__userid }}", PromptContext{}, []string{FindingPromptUnknownVariable}},
		{"token", "{{ sys__ks }}", PromptContext{}, []string{FindingPromptToken}},
		{"user attribute", "{{ sys__user_obj.first_name }}", PromptContext{NoClientVariables: true}, nil},
		{"unknown user attribute", "{{ sys__user_obj.age }}", PromptContext{}, []string{FindingPromptUserAttribute}},
		{"the whole user", "{{ sys__user_obj }}", PromptContext{}, []string{FindingPromptUserAttribute}},
		{"secret", "{{ secrets.CRM }}", PromptContext{}, nil},
		{"secret that is set", "{{ secrets.CRM }}", PromptContext{Secrets: []string{"CRM"}}, nil},
		{"secret that is not set", "{{ secrets.CRM }}", PromptContext{Secrets: []string{}}, []string{FindingSecretUnresolved}},
		{"secret that is spoken", "{{ secrets.CRM }}", PromptContext{Spoken: true}, []string{FindingPromptToken}},
		{"wrong prefix of a secret", "{{ secret.CRM }} {{ SECRETS.CRM }} {{ secrets }}", PromptContext{}, []string{
			FindingSecretPrefix, FindingSecretPrefix, FindingSecretPrefix,
		}},
		{"secret without a name", "{{ secrets.not a name }}", PromptContext{}, []string{FindingSecretPrefix}},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect.List(t, codes(LintPrompt(test.template, test.context)), test.want, "findings")
		})
	}
}

// Each reserved name is known to the lint, so that one that the service gets later is
// not reported.
func TestLintKnowsEveryReservedName(t *testing.T) {
	for _, name := range converse.ReservedVars() {
		for _, f := range LintPrompt("{{ "+name+" }}", PromptContext{NoClientVariables: true}) {
			if f.Code == FindingPromptUnknownVariable {
				t.Errorf("%s: %s", name, f.Detail)
			}
		}
	}
	for _, attribute := range converse.UserAttributes() {
		if findings := LintPrompt("{{ sys__user_obj."+attribute+" }}", PromptContext{}); findings != nil {
			t.Errorf("%s: %v", attribute, findings)
		}
	}
}

func TestLintPromptsNamesThePlace(t *testing.T) {
	no := false
	findings := LintPrompts(&Intellect{
		BaseDirective: "{{ sys__ks }}", Prompts: []Prompt{{Value: "fine"}, {Value: "{{ x"}, {Value: " "}},
		Glossary: "{{ word }}", OpeningPhrase: "{{ secrets.A }}", AllowClientVariables: &no, Secrets: SecretNames{"A"},
	})
	var got []string
	for _, f := range findings {
		got = append(got, f.Field+" "+f.Code)
	}
	want := []string{
		"base_directive prompt_token", "prompts[1].value prompt_syntax", "prompts[2].value prompt_empty",
		"glossary prompt_unknown_variable", "opening_phrase prompt_token",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings\n got %q\nwant %q", got, want)
	}
}

func TestPreviewPrompt(t *testing.T) {
	preview := must.Get(PreviewPrompt(
		"{{ greeting | default('Hi') }} {{ sys__user_obj.first_name }}{{ sys__user_obj.email }}, {{ name }}, {{ secrets.CRM }}, {{ n }}, {{ missing }}.",
		PreviewValues{
			Vars:     map[string]any{"name": "Ada", "n": 3},
			Reserved: map[string]any{"sys__user_obj.first_name": "Ann"},
		}))(t)
	expect.Equal(t, preview.Text, "Hi Ann, Ada, ***, 3, .", "text")
	expect.List(t, preview.Unresolved, []string{"missing", "sys__user_obj.email"}, "unresolved")
	expect.List(t, codes(preview.Findings), []string{string(fault.ReservedUserAttrUnresolved)}, "findings")
	expect.Equal(t, len(preview.Variables), 7, "variables %v", preview.Variables)
}

func TestPreviewPromptRefusesReservedNames(t *testing.T) {
	for name, v := range map[string]PreviewValues{
		"reserved as a client's":  {Vars: map[string]any{"sys__user_id": "u"}},
		"secret as a client's":    {Vars: map[string]any{"secrets.CRM": "x"}},
		"token":                   {Reserved: map[string]any{"sys__ks": "x"}},
		"secret":                  {Reserved: map[string]any{"secrets.CRM": "x"}},
		"unknown":                 {Reserved: map[string]any{"sys__nothing": "x"}},
		"unknown attribute":       {Reserved: map[string]any{"sys__user_obj.age": 3}},
		"value that is no scalar": {Vars: map[string]any{"a": []int{1}}},
		"reserved, no scalar":     {Reserved: map[string]any{"sys__user_id": []int{1}}},
	} {
		expect.Fail(PreviewPrompt("x", v))(t, fault.ValidationError, "%s", name)
	}
}

// What a preview shows is what the local service renders: both have these vectors.
func TestPreviewAgreesWithTheLocalService(t *testing.T) {
	data := must.Get(os.ReadFile("../internal/template/testdata/rendered.json"))(t)
	var vectors struct {
		Vars     map[string]any    `json:"vars"`
		Rendered map[string]string `json:"rendered"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors.Rendered) == 0 {
		t.Fatal(err, vectors)
	}
	for template, want := range vectors.Rendered {
		preview := must.Get(PreviewPrompt(template, PreviewValues{Vars: vectors.Vars}))(t)
		if preview.Text != want {
			t.Errorf("%q: preview %q, the service renders %q", template, preview.Text, want)
		}
	}
}

func TestLintErrorHasItsFindings(t *testing.T) {
	text, err := json.Marshal(lintFailed(LintPrompt("{{ sys__ks }}", PromptContext{})))
	if err != nil || !strings.Contains(string(text), "prompt_token") {
		t.Errorf("%s, %v; want the finding in the body", text, err)
	}
}
