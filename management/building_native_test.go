//go:build !js

package management_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// must fails the test with the error of a step.
func must(t *testing.T, step string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
}

// TestBuildingAnIntellect sets every field of an intellect on the local service, and reads
// it back.
func TestBuildingAnIntellect(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	note, err := c.Tools.Add(ctx, "keep_note", management.ClientTool("Keeps a note.", management.Param{Name: "note", Required: true, Description: "the note"}))
	must(t, "tool", err)
	hello, err := c.Tools.Add(ctx, "hello", mapped(management.APITool("Greets.", "", "http://127.0.0.1:9/{{ sys__user_id }}")))
	must(t, "api tool", err)
	polite, err := c.Skills.Add(ctx, management.SkillInput{Name: "polite", Description: "Politeness.", Instructions: "Say please, {{ sys__user_id }}."})
	must(t, "skill", err)
	i, err := c.Intellects.Add(ctx, management.IntellectFields{
		Name: new("Rita"), BaseDirective: new("You are {{ agent_name }}."), Secrets: map[string]string{"CRM": "a secret value"},
	})
	must(t, "intellect", err)
	if i.Name != "Rita" || !i.ClientVariables() || !slices.Equal(i.Secrets, []string{"CRM"}) {
		t.Errorf("made %+v", i)
	}
	skill := management.SkillRef{ID: polite.ID, Mode: management.SkillPreloaded, Condition: "sys__avatar_enabled"}
	model := management.ModelConfiguration{ModelID: "small", MaxOutputTokens: 100, ThinkingLevel: "low", Temperature: new(0.5)}
	summary := management.AvatarSummaryConfig{Analysis: map[string]string{"mood": "How the user feels."}, Template: "{{ mood }}"}
	set := func(f management.IntellectFields) error { return drop(c.Intellects.Update(ctx, i.ID, f)) }
	must(t, "update", set(management.IntellectFields{
		ModelConfiguration: &model, OpeningPhrase: new("Hello {{ name | default('you') }}!"), ThreadStartTools: []string{hello.ID}, AvatarSummaryConfig: &summary,
		SkillIDs: []management.SkillRef{skill}, ToolIDs: []string{note.ID, hello.ID}, AllowClientVariables: new(false),
		Prompts: []management.Prompt{{Key: "tone", Value: "Be brief."}}, MCPServers: management.MCPServers{{Name: "crm", URL: "https://crm.example/mcp"}},
		UserPropertiesForms: []management.UserPropertiesForm{{CallStage: "start", Properties: []management.FormProperty{{Key: "email"}}}},
		Metadata:            map[string]string{"team": "x"},
	}))
	must(t, "capability", c.Intellects.SetCapability(ctx, i.ID, "use_web_search", "disabled"))
	must(t, "secrets", c.Intellects.SetSecrets(ctx, i.ID, map[string]string{"MAIL": "another secret value"}))
	must(t, "language", c.Intellects.SetForcedLanguage(ctx, management.ForcedLanguage{ConfigID: i.ID, Language: "de"}))
	got, err := c.Intellects.Get(ctx, i.ID)
	must(t, "get", err)
	switch {
	case *got.ModelConfiguration.Temperature != 0.5 || got.ModelConfiguration.ModelID != "small",
		got.OpeningPhrase != "Hello {{ name | default('you') }}!",
		!slices.Equal(got.ThreadStartTools, []string{hello.ID}),
		got.AvatarSummaryConfig.Template != "{{ mood }}",
		!slices.Equal(got.SkillIDs, []management.SkillRef{skill}),
		!slices.Equal(got.ToolIDs, []string{note.ID, hello.ID}),
		got.ClientVariables(),
		len(got.Prompts) != 2 || !strings.Contains(got.Prompts[1].Value, "German") || got.Language != "de",
		len(got.MCPServers) != 1,
		len(got.UserPropertiesForms) != 1 || got.UserPropertiesForms[0].Properties[0] != management.FormProperty{Key: "email", Type: "str"},
		got.Metadata["team"] != "x",
		got.Capabilities["use_web_search"] != "disabled",
		!slices.Equal(got.Secrets, []string{"CRM", "MAIL"}):
		t.Errorf("read %+v", got)
	}

	wantCode(t, "veto", c.Intellects.SetCapability(ctx, i.ID, "use_web_search", "on"), fault.CapabilityVetoed)
	wantCode(t, "foreign skill", set(management.IntellectFields{SkillIDs: []management.SkillRef{{ID: "00000000-0000-4000-8000-000000000000", Mode: management.SkillAdhoc}}}), fault.Forbidden)
	wantCode(t, "tool in use", c.Tools.Delete(ctx, note.ID, management.ConfirmPermanent), fault.ToolInUse)
	wantCode(t, "skill in use", c.Skills.Delete(ctx, polite.ID, management.ConfirmPermanent), fault.SkillInUse)
	_, err = c.Tools.Add(ctx, "keep_note", note.Config)
	wantCode(t, "tool twice", err, fault.Conflict)
	_, err = c.Skills.Update(ctx, polite.ID, management.SkillPatch{Description: new("Politeness."), Name: new("polite")})
	must(t, "the same update", err)

	// An agent of it speaks with this opening, and does not take variables.
	agent, _ := info.Agent("receptionist")
	before, err := c.Agents.Get(ctx, agent.AgentID)
	must(t, "agent", err)
	mine, err := c.Agents.Create(ctx, management.AgentInput{
		DisplayName: "Rita", Intellect: management.IntellectRef{ID: i.ID}, AvatarIDs: before.AvatarIDs,
	})
	must(t, "own agent", err)
	must(t, "silence", c.Intellects.SetOpeningPhrase(ctx, i.ID, management.SilentOpening))
	token, err := c.Tokens.Agent(ctx, management.TokenInput{AgentID: mine.ID, UserID: "sam"})
	must(t, "token", err)
	web := fetch.New()
	defer web.Close()
	client := converse.Client{HTTPClient: fetch.As(web), URL: info.GenieURL, Token: token.KS()}
	turn, err := client.Turn(ctx, converse.Request{UserMessage: "Hi", RequestVars: map[string]any{"name": "Sam"}}, converse.Throw)
	if err != nil || turn.Text != "" || len(turn.Warnings) != 1 || turn.Warnings[0].Code != fault.EmptyTurnWithRequestVars {
		t.Errorf("variables that are off: %+v, %v", turn, err)
	}

	must(t, "delete the agent", c.Agents.Delete(ctx, mine.ID, management.ConfirmPermanent))
	must(t, "clear", c.Intellects.SetModelConfiguration(ctx, i.ID, nil))
	must(t, "clear", c.Intellects.SetAvatarSummaryConfig(ctx, i.ID, nil))
	must(t, "clear", c.Intellects.SetOpeningPhrase(ctx, i.ID, ""))
	must(t, "clear", set(management.IntellectFields{ToolIDs: []string{}, ThreadStartTools: []string{}, SkillIDs: []management.SkillRef{}}))
	must(t, "clear", c.Intellects.SetForcedLanguage(ctx, management.ForcedLanguage{ConfigID: i.ID}))
	must(t, "delete a secret", c.Intellects.DeleteSecrets(ctx, i.ID, []string{"CRM"}, management.ConfirmPermanent))
	got, err = c.Intellects.Get(ctx, i.ID)
	must(t, "get", err)
	if len(got.ToolIDs)+len(got.SkillIDs)+len(got.ThreadStartTools) > 0 || got.ModelConfiguration != nil || len(got.Prompts) != 1 ||
		!slices.Equal(got.Secrets, []string{"MAIL"}) {
		t.Errorf("cleared %+v", got)
	}
	must(t, "delete the tool", c.Tools.Delete(ctx, note.ID, management.ConfirmPermanent))
	must(t, "delete the skill", c.Skills.Delete(ctx, polite.ID, management.ConfirmPermanent))
	_, err = c.Skills.Get(ctx, polite.ID)
	wantCode(t, "deleted skill", err, fault.NotFound)
	must(t, "delete the intellect", c.Intellects.Delete(ctx, i.ID, management.ConfirmPermanent))
	_, err = c.Intellects.Get(ctx, i.ID)
	if !management.IsNotFound(err) {
		t.Errorf("deleted intellect: %v", err)
	}
}

// say has one turn of a visitor, and returns its thread.
func say(ctx context.Context, t *testing.T, c *management.Client, info localservice.Info, user, text string) (thread string) {
	t.Helper()
	agent, _ := info.Agent("receptionist")
	turn, err := c.ConverseOnce(ctx, management.TokenInput{AgentID: agent.AgentID, ConfigID: agent.ConfigID, UserID: user}, management.ConverseRequest{UserMessage: text}, management.SendOptions{})
	must(t, "turn", err)
	return turn.ThreadID
}

// TestRulesOnTheService: the client knows every event and operator of the local service, reads
// the questions that answers have offered, and Doctor finds what nothing uses.
func TestRulesOnTheService(t *testing.T) {
	c, info := newClient(t, func(o *management.Options) { o.MessagingURL = o.AgenticURL })
	ctx := t.Context()
	mood, err := c.Insights.Create(ctx, management.InsightInput{Key: "mood", Title: "Mood", Prompt: "How does the user feel?", ValueType: "string"})
	must(t, "insight", err)
	must(t, "e-mail", drop(c.EmailTemplates.Create(ctx, management.EmailTemplateInput{
		AppGUID: "app", Name: "Thanks", Subject: "Thank you", Body: "It was a pleasure.", From: "zoo@x.example", Language: "en",
	})))
	agent, _ := info.Agent("receptionist")
	must(t, "rule", drop(c.Lifecycle.Create(ctx, management.RuleInput{
		Name: "Moods", EventType: management.EventSessionEnded, Status: management.StatusDisabled,
		Conditions: []management.RuleTerm{{Field: "object.agent_id", Operator: "in", Value: []string{agent.AgentID}}},
		Actions:    []management.RuleAction{{Type: management.ActionInsights, InsightSettingIDs: []string{mood.ID}}},
	})))
	events, err := c.Lifecycle.Events(ctx)
	must(t, "events", err)
	for _, e := range events {
		if !slices.Contains(management.EventTypes, e.EventType) {
			t.Errorf("the client does not know the event %s", e.EventType)
		}
	}
	fields, err := c.Lifecycle.DescribeFields(ctx)
	must(t, "fields", err)
	for _, f := range fields {
		for _, operator := range f.Operators {
			if !slices.Contains(management.Operators, operator) {
				t.Errorf("the client does not know the operator %s", operator)
			}
		}
	}
	if len(events) == 0 || len(fields) == 0 {
		t.Errorf("events %v, fields %v", events, fields)
	}
	thread := say(ctx, t, c, info, "ann", "What is agentruntime?")
	questions, err := management.Collect(c.Followups.List(ctx))
	must(t, "questions", err)
	if len(questions) == 0 || questions[0].Question == "" || questions[0].ThreadID != thread {
		t.Errorf("questions %+v", questions)
	}
	d, err := c.Doctor(ctx, management.DoctorInput{})
	must(t, "doctor", err)
	var found []string
	for _, f := range d.Findings {
		found = append(found, f.Code)
	}
	if want := []string{"rule_disabled", "orphan_email_template"}; !slices.Equal(found, want) || len(d.Skipped) > 0 {
		t.Errorf("found %v, skipped %v; want %v", found, d.Skipped, want)
	}
}

// TestForcedLanguageOnTheService sets the language of an intellect and of its agent's
// speech recognition.
func TestForcedLanguageOnTheService(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	agent, _ := info.Agent("receptionist")
	in := management.ForcedLanguage{ConfigID: agent.ConfigID, AgentID: agent.AgentID, Language: "fr-CA"}
	for range 2 { // it may be repeated
		must(t, "set", c.Intellects.SetForcedLanguage(ctx, in))
	}
	i, err := c.Intellects.Get(ctx, agent.ConfigID)
	must(t, "get", err)
	if i.Language != "fr-CA" || len(i.Prompts) != 1 || !strings.Contains(i.Prompts[0].Value, "French") {
		t.Errorf("intellect %+v", i)
	}
	in.Language = ""
	must(t, "clear", c.Intellects.SetForcedLanguage(ctx, in))
	if i, err = c.Intellects.Get(ctx, agent.ConfigID); err != nil || len(i.Prompts) != 0 || i.Language == "fr-CA" {
		t.Errorf("intellect %+v, %v", i, err)
	}
}

// mapped is an api tool with the mapping that it needs.
func mapped(c management.ToolConfig) management.ToolConfig {
	c.ResponseMapping = map[string]string{"greeting": "text"}
	return c
}
