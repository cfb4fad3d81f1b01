//go:build !js

package management_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// provisionable are the answers of a service on which everything works.
func provisionable() map[string][]answer {
	return map[string][]answer{
		"/application/generateAgentProfile": {{0, `{"goal":"Help guests.","targetAudience":"Guests","restrictedTopics":"","name":"Mira","openingPhrase":"Hi, I am Myra."}`}},
		"/v1/intellect/add":                 {{0, `{"id":7}`}},
		"/v1/intellect/get":                 {{0, `{"id":7,"capabilities":{}}`}},
		"/v1/intellect/update":              {{0, `{"id":7}`}},
		"/v1/tool/add":                      {{0, `{"id":"t-1","name":"save_note"}`}},
		"/catalog-item/list":                {{0, `{"totalCount":9,"objects":[{"itemId":"v-1"}]}`}, {0, `{"totalCount":9,"objects":[{"itemId":"i-1"}]}`}},
		"/avatar/create":                    {{0, avatarJSON}},
		"/agent/create":                     {{0, agentJSON}},
		"/application/resolveWidgetId":      {{0, `{"widgetId":"w-1"}`}},
	}
}

func TestProvision(t *testing.T) {
	f := newFake(t, provisionable())
	made, err := f.Provision(t.Context(), management.Brief{
		DisplayName: "Reception", Directive: "You help guests.", OpeningPhrase: "Hello!", AdminTags: []string{"custom"},
		Capabilities: map[string]string{"generate_followup_questions": "on"},
		Tools:        []management.NewTool{{Name: "save_note", Config: management.ClientTool("Saves a note.")}},
	}, management.IdempotencyKey("k"))
	must.Do(t, err)
	want := management.Provisioned{Name: "Reception", IntellectID: 7, ToolIDs: []string{"t-1"}, AvatarID: avatarID, AgentID: "a-1", WidgetID: "w-1"}
	expect.Equal(t, fmt.Sprintf("%+v", *made), fmt.Sprintf("%+v", want), "made")
	var steps, keys []string
	for _, a := range f.take() {
		if a.path == startPath {
			continue
		}
		steps = append(steps, a.path)
		if key := a.header.Get("Idempotency-Key"); key != "" {
			keys = append(keys, key)
		}
		switch a.path {
		case "/v1/intellect/add":
			if a.body != `{"type":"internal","name":"Reception","status":2,"base_directive":"You help guests.","opening_phrase":"Hello!"}` {
				t.Errorf("intellect %s", a.body)
			}
		case "/avatar/create":
			if a.body != `{"voice":{"id":"v-1","speed":1},"visual":{"id":"i-1","motionControl":{"speaking":0.6,"nonSpeaking":0.2}},"name":"Reception"}` {
				t.Errorf("avatar %s", a.body)
			}
		case "/agent/create":
			if a.body != `{"displayName":"Reception","intellect":{"intellectType":"genie","id":7},"avatarIds":["`+avatarID+`"],"adminTags":["custom"],"maxConversationLength":600}` {
				t.Errorf("agent %s", a.body)
			}
		}
	}
	wantSteps := []string{
		"/v1/intellect/add", "/v1/intellect/get", "/v1/intellect/update", "/v1/tool/add", "/v1/intellect/update",
		"/catalog-item/list", "/catalog-item/list", "/avatar/create", "/agent/create", "/application/resolveWidgetId",
	}
	expect.List(t, steps, wantSteps, "steps")
	expect.List(t, keys, []string{"k/intellect", "k/tool/0", "k/avatar", "k/agent"}, "keys")
}

// TestProvisionFromASentence: the profile of the description becomes the intellect
// (management-api.md, F.10).
func TestProvisionFromASentence(t *testing.T) {
	f := newFake(t, provisionable())
	made := must.Get(f.Provision(t.Context(), management.Brief{Description: "A guide for guests.", VoiceID: "v-2", VisualID: "i-2"}))(t)
	if made.Name != "Mira" || made.Profile == nil || made.Profile.Goal != "Help guests." || !slices.Equal(codes(made.PersonaLint.Findings), []string{"opening_phrase persona_name_mismatch"}) {
		t.Errorf("made %+v", made)
	}
	for _, a := range f.take() {
		want := map[string]string{
			"/application/generateAgentProfile": `{"userDescription":"A guide for guests."}`,
			"/v1/intellect/add": `{"type":"internal","name":"Mira","status":2,"base_directive":"You are Mira. Keep your answers short, in the way people speak.","prompts":[` +
				`{"key":"goal","label":"goal","headerTemplate":"Your goal","type":"custom","value":"Help guests."},` +
				`{"key":"targetAudience","label":"targetAudience","headerTemplate":"Who you talk with","type":"custom","value":"Guests"},` +
				`{"key":"restrictedTopics","label":"restrictedTopics","headerTemplate":"What you don't talk about","type":"custom","value":""},` +
				`{"key":"name","label":"name","headerTemplate":"Your name","type":"custom","value":"Mira"}],"opening_phrase":"Hi, I am Myra."}`,
			"/agent/create": `{"displayName":"Mira","intellect":{"intellectType":"genie","id":7},"avatarIds":["` + avatarID + `"],"adminTags":["provisioned"],"maxConversationLength":600}`,
		}[a.path]
		if want != "" && a.body != want {
			t.Errorf("%s\nsent %s\nwant %s", a.path, a.body, want)
		}
	}
	answers := provisionable()
	answers["/application/generateAgentProfile"] = []answer{{0, `{"goal":"x"}`}}
	made, err := newFake(t, answers).Provision(t.Context(), management.Brief{Description: "A guide."})
	if err != nil || made.Name != "Demo agent" {
		t.Errorf("made %+v, %v", made, err)
	}
}

// TestProvisionThatFails has one step after the other fail.
func TestProvisionThatFails(t *testing.T) {
	for path, want := range map[string]string{
		"/application/generateAgentProfile": `{"createdSoFar":{},"failedStep":"generateProfile"}`,
		"/v1/intellect/add":                 `{"createdSoFar":{},"failedStep":"intellect.add"}`,
		"/catalog-item/list":                `{"createdSoFar":{"configId":7},"failedStep":"pick catalog"}`,
		"/avatar/create":                    `{"createdSoFar":{"configId":7},"failedStep":"avatar.create"}`,
		"/agent/create":                     `{"createdSoFar":{"avatarId":"` + avatarID + `","configId":7},"failedStep":"agent.create"}`,
		"/application/resolveWidgetId":      `{"createdSoFar":{"agentId":"a-1","avatarId":"` + avatarID + `","configId":7},"failedStep":"resolveWidgetId"}`,
	} {
		answers := provisionable()
		answers[path] = []answer{{403, `{"message":"not yours"}`}}
		f := newFake(t, answers)
		made, err := f.Provision(t.Context(), management.Brief{Description: "A guide for guests."})
		wantCode(t, path, err, fault.ProvisionFailed)
		wantCode(t, path, err, fault.Forbidden) // the cause
		body, jsonErr := json.Marshal(fault.From(err).Body)
		if jsonErr != nil || string(body) != want {
			t.Errorf("%s: body %s, want %s", path, body, want)
		}
		if made == nil || (made.IntellectID != 0) != strings.Contains(want, "configId") || (made.AgentID != "") != strings.Contains(want, "agentId") {
			t.Errorf("%s: made %+v", path, made)
		}
	}
}

func TestProvisionWithoutItsExtras(t *testing.T) {
	answers := provisionable()
	answers["/v1/tool/add"] = []answer{{409, `{"message":"the name is in use"}`}}
	f := newFake(t, answers)
	made, err := f.Provision(t.Context(), management.Brief{
		DisplayName: "Reception", Directive: "You help guests.", VoiceID: "v-2", VisualID: "i-2",
		Capabilities: map[string]string{"fly": "on"},
		Tools:        []management.NewTool{{Name: "save_note", Config: management.ClientTool("Saves a note.")}},
	})
	if err != nil || made.AgentID != "a-1" || len(made.ToolIDs) != 0 || len(made.Problems) != 2 {
		t.Fatalf("%+v, %v", made, err)
	}
	wantCode(t, "capability", made.Problems[0], fault.UnknownCapability)
	wantCode(t, "tool", made.Problems[1], fault.Conflict)
	wantRequests(t, f, "genie /v1/intellect/add", "genie /v1/tool/add", "agent /avatar/create", "agent /agent/create", "agent /application/resolveWidgetId")
}

func TestProvisionRefusesBadBriefsWithoutARequest(t *testing.T) {
	f := newFake(t, nil)
	for name, b := range map[string]management.Brief{
		"no name":      {Directive: "You help guests."},
		"no directive": {DisplayName: "Reception"},
		"nothing":      {Description: " "},
		"both":         {Description: "A guide.", DisplayName: "Reception", Directive: "You help guests."},
		"too long":     {Description: "A guide.", MaxConversationLength: 3601},
	} {
		_, err := f.Provision(t.Context(), b)
		wantCode(t, name, err, fault.BadRequest)
	}
	_, err := f.Provision(t.Context(), management.Brief{DisplayName: "Reception", Directive: "You help {{ guests"})
	wantCode(t, "template", err, fault.PromptLintFailed)
	wantRequests(t, f)
}
