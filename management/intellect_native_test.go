//go:build !js

package management

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestSecretValuesAreThrownAway(t *testing.T) {
	const value = "hunter2"
	for _, reply := range []string{`{"id":1,"secrets":{"B":"` + value + `","A":"***"}}`, `{"id":1,"secrets":["B","A"]}`} {
		var i Intellect
		must.Do(t, json.Unmarshal([]byte(reply), &i))
		expect.List(t, i.Secrets, (SecretNames{"A", "B"}), "names")
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

func TestIntellectFieldsAreChecked(t *testing.T) {
	for fields, code := range map[string]fault.Code{
		`"tool_ids":["a","a"]`:                     fault.BadRequest,
		`"tool_ids":[""]`:                          fault.BadRequest,
		`"thread_start_tools":["a","a"]`:           fault.BadRequest,
		`"knowledge_ids":[1,2]`:                    fault.BadRequest,
		`"knowledge_ids":[-1]`:                     fault.BadRequest,
		`"knowledge_ids":[0]`:                      "",
		`"skill_ids":[{"id":"a","mode":"always"}]`: fault.BadRequest,
		`"skill_ids":[{"id":"a","mode":"adhoc","condition":"{{ x }}"}]`:                  fault.BadRequest,
		`"skill_ids":[{"id":"a","mode":"adhoc"},{"id":"a","mode":"preloaded"}]`:          fault.BadRequest,
		`"skill_ids":[{"id":"s","mode":"adhoc-save","condition":"sys__avatar_enabled"}]`: "",
		`"opening_phrase":"<blank>"`:                        "",
		`"opening_phrase":"Hello {{ name }}!"`:              "",
		`"opening_phrase":"{{ sys__user_obj.first_name }}"`: "",
		`"opening_phrase":"{{ secrets.CRM }}"`:              fault.BadRequest,
		`"opening_phrase":"{{ sys__ks }}"`:                  fault.BadRequest,
		`"opening_phrase":"{{ sys__nothing }}"`:             fault.BadRequest,
		`"opening_phrase":"{{ name"`:                        fault.BadRequest,
		`"model_configuration":{"model_id":"m-1","max_output_tokens":500,"thinking_level":"low","temperature":0.5}`: "",
		`"model_configuration":{"temperature":0}`:                                                "",
		`"model_configuration":{"temperature":1}`:                                                "",
		`"model_configuration":{}`:                                                               fault.BadRequest,
		`"model_configuration":{"temperature":1.1}`:                                              fault.BadRequest,
		`"model_configuration":{"temperature":-0.1}`:                                             fault.BadRequest,
		`"model_configuration":{"thinking_level":"much"}`:                                        fault.BadRequest,
		`"model_configuration":{"max_output_tokens":-1}`:                                         fault.BadRequest,
		`"model_configuration":{"model_id":"a b"}`:                                               fault.BadRequest,
		`"model_configuration":{"model_id":"a\n"}`:                                               fault.BadRequest,
		`"avatar_summary_config":{}`:                                                             "",
		`"avatar_summary_config":{"template":"{{ summary }}"}`:                                   "",
		`"avatar_summary_config":{"analysis":{"mood":"x"},"template":"{{ mood }}"}`:              "",
		`"avatar_summary_config":{"template":"{{ mood }}"}`:                                      fault.BadRequest,
		`"avatar_summary_config":{"analysis":{"mood":"x"},"template":"{{ summary }}"}`:           fault.BadRequest,
		`"avatar_summary_config":{"analysis":{"a b":"x"}}`:                                       fault.BadRequest,
		`"avatar_summary_config":{"template":"{{ summary"}`:                                      fault.BadRequest,
		`"avatar_summary_config":{"content_type":"pdf"}`:                                         fault.BadRequest,
		`"language":"german"`:                                                                    fault.BadRequest,
		`"language":"pt-BR"`:                                                                     "",
		`"capabilities":{"x":"on"}`:                                                              fault.UnknownCapability,
		`"capabilities":{"avatar":"yes"}`:                                                        fault.BadRequest,
		`"capabilities":{"avatar":"disabled"}`:                                                   "",
		`"secrets":{"CRM_KEY":"hunter2"}`:                                                        "",
		`"secrets":{"A":"***"}`:                                                                  fault.BadRequest,
		`"secrets":{"A":""}`:                                                                     fault.BadRequest,
		`"secrets":{"A.B":"hunter2"}`:                                                            fault.BadRequest,
		`"secrets":{"A}}":"hunter2"}`:                                                            fault.BadRequest,
		`"mcp_servers":{"a":{"url":"ftp://x"}}`:                                                  fault.InvalidURL,
		`"mcp_servers":{"a":{"url":"https://u:p@x"}}`:                                            fault.InvalidURL,
		`"mcp_servers":{"":{"url":"https://x"}}`:                                                 fault.BadRequest,
		`"mcp_servers":{"a":{"url":"https://x.example/mcp"}}`:                                    "",
		`"user_properties_forms":[{"call_stage":"start"}]`:                                       fault.BadRequest,
		`"user_properties_forms":[{"properties":[{"key":"a"}]}]`:                                 fault.BadRequest,
		`"user_properties_forms":[{"call_stage":"start","properties":[{"key":"a","type":"x"}]}]`: fault.BadRequest,
		`"user_properties_forms":[{"call_stage":"end","properties":[{"key":"email"}]}]`:          "",
		`"prompts":[{"value":"x"}]`:                                                              fault.BadRequest,
		`"prompts":[{"key":"a","type":"fixed"}]`:                                                 fault.BadRequest,
		`"prompts":[{"key":"a","value":"{{ sys__ks }}"}]`:                                        fault.PromptLintFailed,
		`"base_directive":"{{ x"`:                                                                fault.PromptLintFailed,
		`"base_directive":"You are {{ agent_name }}."`:                                           "",
		`"glossary":"{{ x"`:                                                                      fault.PromptLintFailed,
		`"status":3`:                                                                             fault.BadRequest,
	} {
		var f IntellectFields
		if err := json.Unmarshal([]byte("{"+fields+"}"), &f); err != nil {
			t.Fatalf("%s: %v", fields, err)
		}
		switch err := f.check(); {
		case code == "" && err != nil, code != "" && !errors.Is(err, code):
			t.Errorf("%s: %v, want %q", fields, err, code)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the value of a secret is in %v", fields, err)
		}
	}
	noNumber := IntellectFields{ModelConfiguration: &ModelConfiguration{Temperature: new(math.NaN())}} // has no JSON
	expect.Error(t, noNumber.check(), fault.BadRequest, "a temperature that is no number")
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
		expect.Fail(languageName(tag, ""))(t, fault.BadRequest, "%q", tag)
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
