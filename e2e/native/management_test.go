package native

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/agent"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestAnAgentFromFirstToLast: a server builds an agent with a document and a tool of the
// page, a visitor talks to it in text and face to face, the server reads what was said,
// and removes all of it. In between, guards keep what is in use.
func TestAnAgentFromFirstToLast(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := start(t, localservice.Options{})
	info := service.Info()
	c, err := management.New(management.Options{
		PartnerID: info.PartnerID, Secret: info.AdminSecret,
		Config: management.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	})
	must.Do(t, err)
	defer c.Close()
	refused := func(step string, err error, code fault.Code) {
		t.Helper()
		if !errors.Is(err, code) {
			t.Errorf("%s: %v, want %s", step, err, code)
		}
	}

	record := must.Get(c.Knowledge.Add(ctx, "Harbour"))(t)
	must.Get(c.Knowledge.AddSource(ctx, record.ID, management.Source{
		Name: "lighthouse.md", Content: "# The lighthouse\n\nThe lighthouse opens at nine in the morning.\n",
	}))(t)
	tool := must.Get(c.Tools.Add(ctx, "book_table", management.ClientTool("Books a table.", management.Param{Name: "guest", Required: true, Description: "who it is for"})))(t)
	intellect := must.Get(c.Intellects.Add(ctx, management.IntellectFields{
		Name: new("Harbour guide"), BaseDirective: new("You answer questions about the harbour."),
		OpeningPhrase: new(management.SilentOpening), KnowledgeIDs: []int64{record.ID}, ToolIDs: []string{tool.ID},
	}))(t)
	voice := must.Get(management.First(c.Catalog.List(ctx, management.CatalogFilter{Type: management.CatalogVoice})))(t)
	visual := must.Get(management.First(c.Catalog.List(ctx, management.CatalogFilter{Type: management.CatalogVisual})))(t)
	face := must.Get(c.Avatars.Create(ctx, management.AvatarInput{
		Voice: management.AvatarVoice{ID: voice.ID}, Visual: &management.AvatarVisual{ID: visual.ID}, Name: "Harbour guide",
	}))(t)
	made := must.Get(c.Agents.Create(ctx, management.AgentInput{
		DisplayName: "Harbour guide", Intellect: management.IntellectRef{ID: intellect.ID},
		AvatarIDs: []string{face.ID}, AdminTags: []string{"live"},
	}))(t)

	refused("a tool in use", c.Tools.Delete(ctx, tool.ID, management.ConfirmPermanent), fault.ToolInUse)
	refused("knowledge in use", c.Knowledge.Delete(ctx, record.ID, management.ConfirmPermanent), fault.KnowledgeInUse)
	refused("without a confirmation", c.Agents.Delete(ctx, made.ID), fault.ConfirmationRequired)
	refused("an agent that is live", c.Agents.Delete(ctx, made.ID, management.ConfirmPermanent), fault.ProtectedResource)

	token := must.Get(c.Tokens.Agent(ctx, management.TokenInput{AgentID: made.ID, UserID: "sam@example.com"}))(t)
	_, err = management.Collect(c.Agents.List(management.WithToken(ctx, token), management.AgentFilter{}))
	refused("the visitor lists agents", err, fault.WrongTokenScope)
	access := must.Get(c.Application.AppInit(ctx, token))(t)

	thread, booked := visit(t, access)
	if want := []string{"Ann", "Sam"}; !slices.Equal(booked, want) {
		t.Errorf("the page booked for %q, want %q", booked, want)
	}

	transcript := must.Get(c.Threads.Transcript(ctx, thread))(t)
	for _, want := range []string{"human: When does the lighthouse open?", "nine in the morning", "human: And please book a table for Ann"} {
		if !strings.Contains(transcript.Text, want) {
			t.Errorf("the transcript has no %q:\n%s", want, transcript.Text)
		}
	}
	answer := ""
	for m, err := range c.Messages.List(ctx, management.MessageFilter{ThreadID: thread}) {
		must.Do(t, err)
		if m.Type == "ai" {
			answer = m.ID
			break
		}
	}
	must.Do(t, c.Feedback.Add(management.WithToken(ctx, token), management.FeedbackInput{MessageID: answer, IsPositive: true, Comment: "Very helpful."}))
	ratings := must.Get(c.Feedback.List(ctx, management.FeedbackFilter{AgentID: made.ID}))(t)
	if len(ratings) != 1 || ratings[0].MessageID != answer || ratings[0].Comment != "Very helpful." {
		t.Errorf("ratings %+v", ratings)
	}
	// Without a language model there is no summary, and the service says so.
	if got := summaryOf(t, c, thread); got != "not_available" {
		t.Errorf("the summary is %q", got)
	}

	must.Do(t, c.Agents.Delete(ctx, made.ID, management.ConfirmPermanent, management.AllowProtected))
	must.Do(t, c.Avatars.Delete(ctx, face.ID, management.ConfirmPermanent))
	must.Do(t, c.Intellects.Delete(ctx, intellect.ID, management.ConfirmPermanent))
	must.Do(t, c.Tools.Delete(ctx, tool.ID, management.ConfirmPermanent))
	must.Do(t, c.Knowledge.Delete(ctx, record.ID, management.ConfirmPermanent))
	deleted := must.Get(c.Threads.Delete(ctx, []string{thread}, management.ConfirmPermanent))(t)
	if len(deleted) != 1 {
		t.Errorf("deleted %+v", deleted)
	}
	if _, err := c.Agents.Get(ctx, made.ID); !management.IsNotFound(err) {
		t.Errorf("the agent is still there: %v", err)
	}
}

// visit is a visitor's conversation: a turn about the document and one with the tool, first
// in text and then with the avatar. It returns the thread and the names that the tool booked.
func visit(t *testing.T, access *management.AppInit) (thread string, booked []string) {
	t.Helper()
	heard := newRecorder(t)
	face := avatar.OptionsFor(access)
	face.AllowPrivateHosts = true
	face.MicStart = avatar.MicDeferred
	s := must.Get(agent.New(agent.Options{
		Options: session.Options{Token: access.KS, GenieURL: &access.GenieURL, OnEvent: heard.record},
		Mode:    agent.Chat, Avatar: face,
	}))(t)
	guests := make(chan string, 2)
	must.Get(s.OnToolCall("book_table", func(ctx context.Context, call event.ToolCall) (any, error) {
		var args struct{ Guest string }
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return nil, err
		}
		guests <- args.Guest
		return s.RespondToTool(ctx, call.ToolMetadata.ID, map[string]any{"status": "booked"})
	}, nil))(t)
	must.Do(t, s.Connect(t.Context()))
	for question, answer := range map[string]string{
		"When does the lighthouse open?": "nine in the morning", "Please book a table for Sam": "status booked",
	} {
		sent := must.Get(s.SendText(t.Context(), question))(t)
		if !strings.Contains(sent.Turn.Text, answer) {
			t.Errorf("%q in text: %q", question, sent.Turn.Text)
		}
	}
	must.Do(t, s.SwitchMode(t.Context(), agent.Avatar))
	next := 0
	for question, answer := range map[string]string{
		"When does the lighthouse open again?": "nine in the morning", "And please book a table for Ann": "status booked",
	} {
		must.Get(s.SendText(t.Context(), question))(t)
		_, next = await(heard, next, func(e event.AvatarStopTalking) bool { return strings.Contains(e.Text, answer) })
	}
	thread = s.Snapshot().ThreadID
	s.Close() // completes the conversation
	for range 2 {
		booked = append(booked, <-guests)
	}
	slices.Sort(booked)
	return thread, booked
}

// summaryOf waits for the summary that the end of a conversation brings, and returns its
// status.
func summaryOf(t *testing.T, c *management.Client, thread string) string {
	t.Helper()
	for {
		got := must.Get(c.Threads.Get(t.Context(), thread))(t)
		var record struct {
			Metadata struct{ Summary struct{ Status string } } `json:"thread_metadata"`
		}
		must.Do(t, json.Unmarshal(got.Raw, &record))
		if status := record.Metadata.Summary.Status; status != "" {
			return status
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no summary")
		case <-time.After(20 * time.Millisecond): // nothing announces it
		}
	}
}
