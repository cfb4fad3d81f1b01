//go:build !js

package management_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TestConversationsOnTheService: turns in text with the token of a user, and in one call.
func TestConversationsOnTheService(t *testing.T) {
	c, info := newClient(t)
	agent, _ := info.Agent("receptionist")
	ctx := t.Context()
	token := must.Get(c.Tokens.Agent(ctx, management.TokenInput{AgentID: agent.AgentID, UserID: "ann"}))(t)
	ann := management.WithToken(ctx, token)
	first, err := c.Conversations.Send(ann, management.ConverseRequest{UserMessage: "What is a thread?"}, management.SendOptions{})
	if err != nil || first.Text == "" || first.ThreadID == "" || first.MessageID == "" {
		t.Fatalf("reply %+v, %v", first, err)
	}
	var text strings.Builder
	threads := map[string]bool{}
	for segment, err := range c.Conversations.Stream(ann, management.ConverseRequest{UserMessage: "And a session?", ThreadID: first.ThreadID}) {
		must.Do(t, err)
		if segment.Type.Spoken() {
			text.WriteString(segment.ContentString())
		}
		if segment.ThreadID != "" {
			threads[segment.ThreadID] = true
		}
	}
	if text.Len() == 0 || len(threads) != 1 || !threads[first.ThreadID] {
		t.Errorf("streamed %q in %v", text.String(), threads)
	}
	if status, err := c.Conversations.Status(ann); err != nil || !status.HasAvatar() || !status.IdentifiedUser {
		t.Errorf("status %+v, %v", status, err)
	}

	// Another user's thread: the error segment fails the turn, or is returned.
	bob := management.TokenInput{AgentID: agent.AgentID, UserID: "bob"}
	stolen := management.ConverseRequest{UserMessage: "And now?", ThreadID: first.ThreadID}
	_, err = c.ConverseOnce(ctx, bob, stolen, management.SendOptions{})
	wantCode(t, "another user's thread", err, fault.ThreadAccessDenied)
	if reply, err := c.ConverseOnce(ctx, bob, stolen, management.SendOptions{ReturnErrors: true}); err != nil || len(reply.Errors) != 1 || reply.Text != "" {
		t.Errorf("returned %+v, %v", reply, err)
	}
	reply, err := c.ConverseOnce(ctx, management.TokenInput{ConfigID: agent.ConfigID, UserID: "bob"}, management.ConverseRequest{UserMessage: "What is a thread?"}, management.SendOptions{})
	if err != nil || reply.Text != first.Text {
		t.Errorf("in one call %q, %v; want %q", reply.Text, err, first.Text)
	}
	spoken := 0
	for segment, err := range c.Converse(ctx, bob, management.ConverseRequest{UserMessage: "What is a thread?"}) {
		must.Do(t, err)
		if segment.Type.Spoken() {
			spoken++
		}
	}
	if spoken == 0 {
		t.Error("nothing was streamed")
	}
	// What was said is in the account.
	transcript, err := c.Threads.Transcript(ctx, reply.ThreadID)
	said := fmt.Sprint(transcript)
	if err != nil || !strings.Contains(said, "What is a thread?") {
		t.Errorf("transcript %q, %v", transcript, err)
	}
}

// TestASpiralOfToolsIsAnsweredInWords: an agent that only calls tools is asked once more.
func TestASpiralOfToolsIsAnsweredInWords(t *testing.T) {
	var tools strings.Builder
	for n := range 10 {
		tools.WriteString(`{"type":"tool","content":"x","threadId":"th-1","messageId":"m-1","segmentNumber":` + string(rune('0'+n)) + `}` + "\n")
	}
	words := `{"type":"text","content":"It is noon.","threadId":"th-1","messageId":"m-2","isFinal":true}` + "\n"
	f := newFake(t, map[string][]answer{"/assistant/converse": {{0, tools.String()}, {0, words}}})
	ctx := management.WithToken(t.Context(), management.RawToken(userKS))
	reply, err := f.Conversations.Send(ctx, management.ConverseRequest{UserMessage: "What time is it?"}, management.SendOptions{RecoverFromSpiral: true})
	if err != nil || !reply.SpiralRecovered || reply.Text != "It is noon." || !reply.FirstAttempt.SpiralStopped {
		t.Errorf("reply %+v, %v", reply, err)
	}
	a, body := f.last()
	if body["threadId"] != "th-1" || body["userMessage"] != management.SpiralRecoveryPrefix+"What time is it?" || a.auth != "KS "+userKS {
		t.Errorf("asked %v", body)
	}
	// An answer in words is not asked for again.
	if reply, err := f.Conversations.Send(ctx, management.ConverseRequest{UserMessage: "x"}, management.SendOptions{RecoverFromSpiral: true}); err != nil || reply.SpiralRecovered || len(f.take()) != 1 {
		t.Errorf("reply %+v, %v", reply, err)
	}

	for name, call := range map[string]struct {
		ctx  context.Context
		r    management.ConverseRequest
		code fault.Code
	}{
		"no token":     {t.Context(), management.ConverseRequest{UserMessage: "x"}, fault.BadRequest},
		"admin token":  {management.WithToken(t.Context(), management.Token{Kind: management.AdminToken}), management.ConverseRequest{UserMessage: "x"}, fault.WrongTokenScope},
		"no message":   {ctx, management.ConverseRequest{UserMessage: " "}, fault.BadRequest},
		"experience":   {ctx, management.ConverseRequest{UserMessage: "x", ForceExperience: "dance"}, fault.ValidationError},
		"reserved var": {ctx, management.ConverseRequest{UserMessage: "x", RequestVars: map[string]any{"sys__user_id": "y"}}, fault.ValidationError},
	} {
		_, err := f.Conversations.Send(call.ctx, call.r, management.SendOptions{})
		wantCode(t, name, err, call.code)
		for _, err := range f.Conversations.Stream(call.ctx, call.r) {
			wantCode(t, name+", streamed", err, call.code)
		}
	}
	_, err = f.Conversations.Status(t.Context())
	wantCode(t, "status without a token", err, fault.BadRequest)
	_, err = f.ConverseOnce(t.Context(), management.TokenInput{ConfigID: 7}, management.ConverseRequest{}, management.SendOptions{})
	wantCode(t, "nothing is minted for a bad request", err, fault.BadRequest)
	expect.Len(t, f.take(), 0, "asked")
}
