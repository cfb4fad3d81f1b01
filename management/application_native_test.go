//go:build !js

package management_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// newClient starts a local service, and returns a client of it.
func newClient(t *testing.T, change ...func(*management.Options)) (*management.Client, localservice.Info) {
	t.Helper()
	info := servicetest.Start(t, localservice.Options{}).Info()
	o := management.Options{PartnerID: info.PartnerID, Secret: info.AdminSecret}
	o.AgenticURL, o.GenieURL, o.OVPURL = &info.AgenticURL, &info.GenieURL, &info.OVPURL
	for _, c := range change {
		c(&o)
	}
	client, err := management.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, info
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
	visitor, err := c.Tokens.Agent(ctx, management.TokenInput{AgentID: agent.AgentID, ConfigID: agent.ConfigID, UserID: "sam"})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := c.Tokens.Widget(ctx, widget)
	if err != nil {
		t.Fatal(err)
	}
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

	admin, err := c.Tokens.Admin(ctx, management.AdminTokenInput{UserID: "boss"})
	if err != nil {
		t.Fatal(err)
	}
	unnamed, err := c.Tokens.Conversation(ctx, management.TokenInput{ConfigID: agent.ConfigID})
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]management.Token{"admin": admin, "conversation": unnamed} {
		_, err = c.Application.AppInit(ctx, token)
		wantCode(t, name, err, fault.WrongTokenScope)
		_, err = c.Application.AppInit(ctx, management.RawToken(token.KS()))
		wantCode(t, "raw "+name, err, fault.APIException)
	}
	_, err = c.Application.AppInit(ctx, management.Token{})
	wantCode(t, "no token", err, fault.BadRequest)
}

// TestEndedTokens ends one of two tokens of a group, on the local service.
func TestEndedTokens(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	agent, _ := info.Agent("receptionist")
	mint := func(group string) management.Token {
		t.Helper()
		token, err := c.Tokens.Agent(ctx, management.TokenInput{
			AgentID: agent.AgentID, ConfigID: agent.ConfigID, UserID: "sam", Restrictions: management.Restrictions{SessionGroupID: group},
		})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	first, second, other := mint("visit:1"), mint("visit:1"), mint("visit:2")
	if err := c.Tokens.End(ctx, first); err != nil {
		t.Fatal(err)
	}
	if err := c.Tokens.End(ctx, first); err != nil {
		t.Errorf("ended twice: %v", err)
	}
	_, err := c.Application.AppInit(ctx, first)
	wantCode(t, "ended", err, fault.Unauthorized)
	_, err = c.Application.AppInit(ctx, second)
	wantCode(t, "of the same group", err, fault.Unauthorized)
	if _, err := c.Application.AppInit(ctx, other); err != nil {
		t.Errorf("of another group: %v", err)
	}
}

// TestRestrictionsHold asks the local service with tokens that it must not accept.
func TestRestrictionsHold(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	agent, _ := info.Agent("receptionist")
	in := management.TokenInput{AgentID: agent.AgentID, ConfigID: agent.ConfigID, UserID: "sam"}
	try := func(r management.Restrictions) error {
		t.Helper()
		in.Restrictions = r
		token, err := c.Tokens.Agent(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Application.AppInit(ctx, token)
		if err == nil && r.ActionsLimit > 0 {
			_, err = c.Application.AppInit(ctx, token)
		}
		return err
	}
	for name, r := range map[string]management.Restrictions{
		"address": {IP: "192.0.2.1"}, "path": {URI: "/assistant/*"}, "actions": {ActionsLimit: 1},
	} {
		wantCode(t, name, try(r), fault.Forbidden)
	}
	for name, r := range map[string]management.Restrictions{
		"address": {IP: "127.0.0.0/8"}, "path": {URI: "/v1/application/*"}, "actions": {ActionsLimit: 2},
	} {
		if err := try(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
