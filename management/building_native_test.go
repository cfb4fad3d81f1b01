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

// say has one turn of a visitor, and returns the thread and the answer's id.
func say(ctx context.Context, t *testing.T, c *management.Client, info localservice.Info, user, text string) (thread, message string) {
	t.Helper()
	agent, _ := info.Agent("receptionist")
	token, err := c.Tokens.Agent(ctx, management.TokenInput{AgentID: agent.AgentID, ConfigID: agent.ConfigID, UserID: user})
	must(t, "token", err)
	web := fetch.New()
	defer web.Close()
	turn, err := converse.Client{HTTPClient: fetch.As(web), URL: info.GenieURL, Token: token.KS()}.Turn(ctx, converse.Request{UserMessage: text}, "")
	must(t, "turn", err)
	return turn.ThreadID, turn.MessageID
}

// TestReadingWhatWasSaid is the conversation's other side on the local service: threads,
// messages, feedback, report.
func TestReadingWhatWasSaid(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	agent, _ := info.Agent("receptionist")
	first, answer := say(ctx, t, c, info, "ann", "What is agentruntime?")
	second, _ := say(ctx, t, c, info, "bob", "what is agentruntime")

	threads, err := management.Collect(c.Threads.List(ctx, management.ThreadFilter{AgentID: agent.AgentID, UserID: new("ann")}))
	must(t, "list", err)
	if len(threads) != 1 || threads[0].ID != first {
		t.Errorf("threads of ann: %v", threads)
	}
	pushed, err := c.Threads.Push(ctx, first, management.PushInput{Content: "Your order is ready."})
	must(t, "push", err)
	if pushed.Delivered || pushed.MessageID == "" {
		t.Errorf("pushed %+v, and no client is connected", pushed)
	}
	message, err := c.Messages.Get(ctx, pushed.MessageID)
	must(t, "message", err)
	if message.Text() != "Your order is ready." {
		t.Errorf("message %q", message.Text())
	}
	must(t, "feedback", c.Feedback.Add(ctx, management.FeedbackInput{MessageID: answer, IsPositive: true, Comment: "thanks"}))
	for name, f := range map[string]management.FeedbackFilter{
		"all": {}, "message": {MessageID: answer}, "thread": {ThreadID: first}, "agent": {AgentID: agent.AgentID}, "rating": {Positive: new(true)},
	} {
		rows, err := c.Feedback.List(ctx, f)
		must(t, name, err)
		if len(rows) != 1 || rows[0].MessageID != answer || !rows[0].IsPositive || rows[0].Comment != "thanks" || rows[0].ThreadID != first {
			t.Errorf("%s: %+v", name, rows)
		}
	}
	for name, f := range map[string]management.FeedbackFilter{"thread": {ThreadID: second}, "rating": {Positive: new(false)}} {
		if rows, err := c.Feedback.List(ctx, f); err != nil || len(rows) != 0 {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
	}
	summary, err := c.Messages.ReportSummary(ctx, management.MessageFilter{})
	must(t, "summary", err)
	if summary.Totals.Threads != 2 || summary.Feedback.Positive != 1 || *summary.Feedback.PositiveRatio != 1 ||
		summary.TopQuestions[0].Count != 2 || summary.Meta.PartnerID != info.PartnerID {
		t.Errorf("summary %+v", summary)
	}
	questions, err := c.Followups.Suggested(ctx)
	must(t, "suggested", err)
	if questions == nil {
		t.Error("no questions must be an empty list")
	}

	// Bob's token sees Bob's threads only.
	token, err := c.Tokens.Agent(ctx, management.TokenInput{AgentID: agent.AgentID, ConfigID: agent.ConfigID, UserID: "bob"})
	must(t, "token", err)
	bob := management.WithToken(ctx, token)
	threads, err = management.Collect(c.Threads.List(bob, management.ThreadFilter{}))
	must(t, "list", err)
	if len(threads) != 1 || threads[0].ID != second {
		t.Errorf("threads of bob: %v", threads)
	}
	_, err = c.Threads.Get(bob, first)
	wantCode(t, "another user's thread", err, fault.NotFound)
	deleted, err := c.Threads.Delete(bob, []string{first}, management.ConfirmPermanent)
	if err != nil || len(deleted) != 0 {
		t.Errorf("another user's thread: deleted %v, %v", deleted, err)
	}
	must(t, "complete", c.Threads.Complete(ctx, second))
	deleted, err = c.Threads.Delete(ctx, []string{first, second, "00000000-0000-4000-8000-000000000000"}, management.ConfirmPermanent)
	if err != nil || len(deleted) != 2 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
}

// TestKnowledgeIsFound keeps texts on the local service, and finds them again.
func TestKnowledgeIsFound(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	record, err := c.Knowledge.Add(ctx, "Zoo")
	must(t, "add", err)
	if record.Indexed() {
		t.Error("a record without sources is not indexed")
	}
	manual := management.Source{Name: "manual", Content: "# Prices\n\nThe zebra costs 42 crowns."}
	for _, want := range []bool{true, false} {
		applied, err := c.Knowledge.AddSource(ctx, record.ID, manual)
		if err != nil || applied != want {
			t.Errorf("added %v, %v; want %v", applied, err, want)
		}
	}
	notes := management.Source{Type: management.SourceText, Name: "notes", Content: "The giraffe is not for sale."}
	_, err = c.Knowledge.AddSource(ctx, record.ID, notes)
	must(t, "second source", err)
	record, err = c.Knowledge.Get(ctx, record.ID)
	must(t, "get", err)
	if !record.Indexed() || len(record.Config.Sources) != 2 {
		t.Errorf("record %+v", record)
	}
	entry := record.Config.Sources[0].EntryID
	status, err := c.Knowledge.EntryStatus(ctx, record.ID, entry, "unknown")
	must(t, "status", err)
	if len(status) != 2 || !status[0].Done() || status[1].Done() {
		t.Errorf("status %+v", status)
	}
	found, err := c.Knowledge.Search(ctx, management.SearchInput{Query: "zebra"})
	must(t, "search", err)
	if !strings.Contains(found.Text, "42 crowns") || found.Chapters != nil {
		t.Errorf("found %+v", found)
	}
	found, err = c.Knowledge.Search(ctx, management.SearchInput{Query: "giraffe", IncludeSources: new(true), TopN: 1})
	must(t, "search", err)
	if found.Text != "" || len(found.Chapters) != 1 || found.Chapters[0].Title == "" {
		t.Errorf("found %+v", found)
	}
	_, err = c.Knowledge.Search(ctx, management.SearchInput{Query: "submarine"})
	wantCode(t, "nothing fits", err, fault.NotFound)

	agent, _ := info.Agent("receptionist")
	must(t, "link", c.Knowledge.LinkRecords(ctx, agent.ConfigID, record.ID))
	wantCode(t, "in use", c.Knowledge.Delete(ctx, record.ID, management.ConfirmPermanent), fault.KnowledgeInUse)
	token, err := c.Tokens.Agent(ctx, management.TokenInput{AgentID: agent.AgentID, UserID: "ann"})
	must(t, "token", err)
	web := fetch.New()
	defer web.Close()
	turn, err := converse.Client{HTTPClient: fetch.As(web), URL: info.GenieURL, Token: token.KS()}.Turn(ctx, converse.Request{UserMessage: "What does the zebra cost?"}, "")
	must(t, "turn", err)
	if !strings.Contains(turn.Text, "42 crowns") {
		t.Errorf("the agent says %q", turn.Text)
	}

	must(t, "unlink", c.Knowledge.LinkRecords(ctx, agent.ConfigID))
	applied, err := c.Knowledge.RemoveSource(ctx, record.ID, management.Source{EntryID: entry})
	if err != nil || !applied {
		t.Errorf("removed %v, %v", applied, err)
	}
	must(t, "delete", c.Knowledge.Delete(ctx, record.ID, management.ConfirmPermanent))
	_, err = c.Knowledge.Get(ctx, record.ID)
	wantCode(t, "deleted", err, fault.NotFound)
}

// TestWhatHappensAfterAConversation keeps insight settings, rules and e-mail templates on
// the local service, and lists the questions that answers have offered.
func TestWhatHappensAfterAConversation(t *testing.T) {
	c, info := newClient(t, func(o *management.Options) { o.MessagingURL = o.AgenticURL })
	ctx := t.Context()
	agent, _ := info.Agent("receptionist")
	mood, err := c.Insights.Create(ctx, management.InsightInput{Key: "mood", Title: "Mood", Prompt: "How does the user feel?", ValueType: "string"})
	must(t, "insight", err)
	mail, err := c.EmailTemplates.Create(ctx, management.EmailTemplateInput{
		AppGUID: "app", Name: "Thanks", Subject: "Thank you", Body: "It was a pleasure.", From: "zoo@x.example", Language: "en",
	})
	must(t, "e-mail", err)
	rule, err := c.Lifecycle.Create(ctx, management.RuleInput{
		Name: "Moods", EventType: management.EventSessionEnded,
		Conditions: []management.RuleTerm{{Field: "object.agent_id", Operator: "in", Value: []string{agent.AgentID}}},
		Actions:    []management.RuleAction{{Type: management.ActionInsights, InsightSettingIDs: []string{mood.ID}}},
	})
	must(t, "rule", err)

	thread, _ := say(ctx, t, c, info, "ann", "What is agentruntime?")
	matching, err := c.Lifecycle.Match(ctx, thread, management.EventSessionEnded)
	must(t, "match", err)
	if len(matching) != 1 || matching[0].ID != rule.ID {
		t.Errorf("matching %+v", matching)
	}
	matching, err = c.Lifecycle.Match(ctx, thread, management.EventAnalysisUpdated, "mood")
	if err != nil || len(matching) != 0 {
		t.Errorf("matching %+v, %v", matching, err)
	}
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
	questions, err := management.Collect(c.Followups.List(ctx))
	must(t, "questions", err)
	if len(questions) == 0 || questions[0].Question == "" || questions[0].ThreadID != thread {
		t.Errorf("questions %+v", questions)
	}

	wantCode(t, "insight in use", c.Insights.Delete(ctx, mood.ID, management.ConfirmPermanent), fault.Conflict)
	changed, err := c.Lifecycle.Update(ctx, rule.ID, management.RulePatch{Status: new(management.StatusDisabled)})
	must(t, "update", err)
	insight, err := c.Insights.Update(ctx, mood.ID, management.InsightPatch{Status: new(management.StatusDisabled)})
	must(t, "update", err)
	template, err := c.EmailTemplates.Update(ctx, mail.ID, management.EmailTemplatePatch{Subject: new("Thanks!")})
	must(t, "update", err)
	if changed.Status != management.StatusDisabled || len(changed.Conditions) != 1 || insight.Status != management.StatusDisabled || template.Subject != "Thanks!" {
		t.Errorf("%+v, %+v, %+v", changed, insight, template)
	}
	active, err := management.Collect(c.Insights.List(ctx, management.InsightFilter{Status: management.StatusActive}))
	if err != nil || len(active) != 0 {
		t.Errorf("active %v, %v", active, err)
	}

	d, err := c.Doctor(ctx, management.DoctorInput{})
	must(t, "doctor", err)
	var found []string
	for _, f := range d.Findings {
		found = append(found, f.Code)
	}
	if want := []string{"rule_disabled", "insight_setting_disabled", "orphan_email_template"}; !slices.Equal(found, want) || len(d.Skipped) > 0 {
		t.Errorf("found %v, skipped %v; want %v", found, d.Skipped, want)
	}

	must(t, "delete", c.Lifecycle.Delete(ctx, rule.ID, management.ConfirmPermanent))
	must(t, "delete", c.Insights.Delete(ctx, mood.ID, management.ConfirmPermanent))
	must(t, "delete", c.EmailTemplates.Delete(ctx, mail.ID, management.ConfirmPermanent))
	_, err = c.EmailTemplates.Get(ctx, mail.ID)
	wantCode(t, "deleted", err, fault.NotFound)
	_, err = c.Lifecycle.Get(ctx, rule.ID)
	wantCode(t, "deleted", err, fault.NotFound)
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
