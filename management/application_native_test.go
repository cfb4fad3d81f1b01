//go:build !js

package management_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// newClient starts a local service, and returns a client of it.
func newClient(t *testing.T, change ...func(*management.Options)) (*management.Client, localservice.Info) {
	t.Helper()
	info := servicetest.Start(t, localservice.Options{}).Info()
	o := management.Options{PartnerID: info.PartnerID, Secret: info.AdminSecret}
	o.AgenticURL, o.GenieURL, o.OVPURL = &info.AgenticURL, &info.GenieURL, &info.OVPURL
	return clientOf(t, o, change), info
}

// clientOf returns a client that is closed when the test has ended.
func clientOf(t *testing.T, o management.Options, change []func(*management.Options)) *management.Client {
	t.Helper()
	for _, c := range change {
		c(&o)
	}
	client := must.Get(management.New(o))(t)
	t.Cleanup(client.Close)
	return client
}

// TestVisitorsWayToAConversation is service.md "Authentication" rule 10, and the widget's
// way beside it, on the local service.
func TestVisitorsWayToAConversation(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	agent, _ := info.Agent("receptionist")
	widget, err := c.Application.ResolveWidgetID(ctx, agent.AgentID)
	if err != nil || widget != agent.WidgetID {
		t.Fatalf("widget %q, %v", widget, err)
	}
	if again, err := c.Application.ResolveWidgetID(ctx, agent.AgentID); err != nil || again != widget {
		t.Errorf("the second time %q, %v", again, err)
	}
	visitor := must.Get(c.Tokens.Agent(ctx, management.TokenInput{AgentID: agent.AgentID, ConfigID: agent.ConfigID, UserID: "sam"}))(t)
	shared := must.Get(c.Tokens.Widget(ctx, widget))(t)
	for name, token := range map[string]management.Token{"visitor": visitor, "widget": shared, "raw": management.RawToken(visitor.KS())} {
		init, err := c.Application.AppInit(ctx, token)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if init.KS == "" || init.ConversationURL == "" || init.SRSBaseURL == "" || init.TURNServerURL == "" || init.GenieURL != info.GenieURL {
			t.Errorf("%s: %+v", name, init)
		}
		noSecrets(t, init)
	}

	_, err = c.Application.ResolveWidgetID(ctx, "00000000-0000-4000-8000-000000000000")
	wantCode(t, "unknown agent", err, fault.AgentNotFound)
	_, err = c.Application.ResolveWidgetID(ctx, "")
	wantCode(t, "no agent", err, fault.BadRequest)
	_, err = c.Application.ResolveWidgetID(management.WithToken(ctx, visitor), agent.AgentID)
	wantCode(t, "visitor's token", err, fault.WrongTokenScope)
	_, err = c.Application.ResolveWidgetID(management.WithToken(ctx, management.RawToken(visitor.KS())), agent.AgentID)
	wantCode(t, "visitor's raw token", err, fault.Forbidden)

	admin := must.Get(c.Tokens.Admin(ctx, management.AdminTokenInput{UserID: "boss"}))(t)
	unnamed := must.Get(c.Tokens.Conversation(ctx, management.TokenInput{ConfigID: agent.ConfigID}))(t)
	for name, token := range map[string]management.Token{"admin": admin, "conversation": unnamed} {
		_, err = c.Application.AppInit(ctx, token)
		wantCode(t, name, err, fault.WrongTokenScope)
		_, err = c.Application.AppInit(ctx, management.RawToken(token.KS()))
		wantCode(t, "raw "+name, err, fault.APIException)
	}
	_, err = c.Application.AppInit(ctx, management.Token{})
	wantCode(t, "no token", err, fault.BadRequest)
}
