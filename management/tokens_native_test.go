//go:build !js

package management_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TestTokensAsTheyAreRequested has the table of privileges of service.md
// "Authentication".
func TestTokensAsTheyAreRequested(t *testing.T) {
	type in = management.TokenInput
	for _, test := range []struct {
		name                    string
		mint                    func(*management.Client, context.Context) (management.Token, error)
		kind                    management.TokenKind
		typ, expiry, privileges string
		user                    string
	}{
		{
			"admin",
			func(c *management.Client, ctx context.Context) (management.Token, error) {
				return c.Tokens.Admin(ctx, management.AdminTokenInput{UserID: "boss"})
			},
			management.AdminToken, "2", "3600", "disableentitlement", "boss",
		},
		{
			"admin for a day",
			func(c *management.Client, ctx context.Context) (management.Token, error) {
				return c.Tokens.Admin(ctx, management.AdminTokenInput{UserID: "boss", TTL: 24 * time.Hour})
			},
			management.AdminToken, "2", "86400", "disableentitlement", "boss",
		},
		{"conversation", conversation(in{ConfigID: 7}), management.ConversationToken, "0", "1800", "geniegpcid:7,setrole:PLAYBACK_BASE_ROLE", ""},
		{
			"conversation with an agent", conversation(in{ConfigID: 7, AgentID: "a-1", UserID: "sam, the user"}),
			management.ConversationToken, "0", "1800", "agentid:a-1,geniegpcid:7,setrole:PLAYBACK_BASE_ROLE", "sam, the user",
		},
		{
			"agent", agent(in{ConfigID: 7, AgentID: "a-1", UserID: "sam", TTL: 24 * time.Hour}),
			management.AgentToken, "0", "86400", "agentid:a-1,geniegpcid:7,setrole:PLAYBACK_BASE_ROLE", "sam",
		},
		{"admin's session", conversation(in{ConfigID: 7, UserID: "boss", AdminSession: true}), management.ConversationToken, "2", "1800", "geniegpcid:7", "boss"},
		{
			"admin's session with a role", agent(in{ConfigID: 7, AgentID: "a-1", UserID: "boss", AdminSession: true, Restrictions: management.Restrictions{Role: "EDITOR"}}),
			management.AgentToken, "2", "1800", "agentid:a-1,geniegpcid:7,setrole:EDITOR", "boss",
		},
		{
			"restrictions", conversation(in{ConfigID: 7, Restrictions: management.Restrictions{
				IP: "10.0.0.0/8", URI: "/assistant/*", SessionGroupID: "visit:9", ActionsLimit: 3,
			}, ExtraPrivileges: []string{"sview:*", "disableentitlementforentry:x"}}),
			management.ConversationToken, "0", "1800",
			"geniegpcid:7,setrole:PLAYBACK_BASE_ROLE,actionslimit:3,iprestrict:10.0.0.0/8,urirestrict:/assistant/*,sessionid:visit:9,sview:*,disableentitlementforentry:x", "",
		},
	} {
		f := newFake(t, map[string][]answer{startPath: {{0, `"` + userKS + `"`}}})
		before := time.Now()
		token, err := test.mint(f.Client, t.Context())
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		asked := f.take()
		if len(asked) != 1 || asked[0].service != "session" || asked[0].path != startPath || asked[0].auth != "" {
			t.Fatalf("%s: asked %v", test.name, asked)
		}
		fields := form(t, asked[0])
		for name, want := range map[string]string{
			"format": "1", "secret": secret, "partnerId": "5501", "userId": test.user, "type": test.typ, "expiry": test.expiry, "privileges": test.privileges,
		} {
			expect.Equal(t, fields.Get(name), want, "%s: %s is", test.name, name)
		}
		left := token.ExpiresAt.Sub(before)
		life, _ := time.ParseDuration(test.expiry + "s")
		if token.KS() != userKS || token.Kind != test.kind || token.UserID != test.user || token.Privileges != test.privileges || left > life+time.Minute || left < life {
			t.Errorf("%s: %v %+v, left %v", test.name, token.Kind, token.UserID, left)
		}
	}
}

func conversation(in management.TokenInput) func(*management.Client, context.Context) (management.Token, error) {
	return func(c *management.Client, ctx context.Context) (management.Token, error) {
		return c.Tokens.Conversation(ctx, in)
	}
}

func agent(in management.TokenInput) func(*management.Client, context.Context) (management.Token, error) {
	return func(c *management.Client, ctx context.Context) (management.Token, error) {
		return c.Tokens.Agent(ctx, in)
	}
}

func TestTokensThatAreRefusedWithoutARequest(t *testing.T) {
	type in = management.TokenInput
	type limits = management.Restrictions
	f := newFake(t, nil)
	refuse := func(name string, code fault.Code, err error) {
		t.Helper()
		wantCode(t, name, err, code)
	}
	admin := func(in management.AdminTokenInput) error { _, err := f.Tokens.Admin(t.Context(), in); return err }
	refuse("admin without a user", fault.BadRequest, admin(management.AdminTokenInput{}))
	refuse("admin that is not text", fault.BadRequest, admin(management.AdminTokenInput{UserID: "u\xff"}))
	refuse("admin for too long", fault.TTLTooLong, admin(management.AdminTokenInput{UserID: "u", TTL: management.MaxAdminTTL + time.Second}))
	refuse("negative life", fault.BadRequest, admin(management.AdminTokenInput{UserID: "u", TTL: -time.Second}))
	refuse("half a second", fault.BadRequest, admin(management.AdminTokenInput{UserID: "u", TTL: time.Second / 2}))
	refuse("a second and a half", fault.BadRequest, admin(management.AdminTokenInput{UserID: "u", TTL: 3 * time.Second / 2}))
	for name, test := range map[string]struct {
		in   management.TokenInput
		code fault.Code
	}{
		"no ids":                         {in{}, fault.BadRequest},
		"negative config":                {in{ConfigID: -1, AgentID: "a"}, fault.BadRequest},
		"user that is not text":          {in{ConfigID: 7, AgentID: "a", UserID: "ann\xff"}, fault.BadRequest},
		"agent that is not text":         {in{ConfigID: 7, AgentID: "a\xff"}, fault.BadRequest},
		"agent with a comma":             {in{ConfigID: 7, AgentID: "a,geniegpcid:8"}, fault.BadRequest},
		"agent with white space":         {in{ConfigID: 7, AgentID: "a b"}, fault.BadRequest},
		"admin's session without a user": {in{ConfigID: 7, AgentID: "a", AdminSession: true}, fault.BadRequest},
		"role for a user":                {in{ConfigID: 7, AgentID: "a", Restrictions: limits{Role: "x"}}, fault.BadRequest},
		"comma in ip":                    {in{ConfigID: 7, AgentID: "a", Restrictions: limits{IP: "10.0.0.1,10.0.0.2"}}, fault.BadRequest},
		"space in uri":                   {in{ConfigID: 7, AgentID: "a", Restrictions: limits{URI: "/a /b"}}, fault.BadRequest},
		"line break in group":            {in{ConfigID: 7, AgentID: "a", Restrictions: limits{SessionGroupID: "a\nb"}}, fault.BadRequest},
		"comma in role":                  {in{ConfigID: 7, AgentID: "a", UserID: "u", AdminSession: true, Restrictions: limits{Role: "a,b"}}, fault.BadRequest},
		"negative limit":                 {in{ConfigID: 7, AgentID: "a", Restrictions: limits{ActionsLimit: -1}}, fault.BadRequest},
		"life":                           {in{ConfigID: 7, AgentID: "a", TTL: 25 * time.Hour}, fault.TTLTooLong},
		"second role":                    {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{"setrole:X"}}, fault.BadRequest},
		"second agent":                   {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{"agentid:b"}}, fault.BadRequest},
		"second config":                  {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{"GenieGPCID:8"}}, fault.BadRequest},
		"two roles for an admin":         {in{ConfigID: 7, AgentID: "a", UserID: "u", AdminSession: true, ExtraPrivileges: []string{"setrole:X", "setrole:Y"}}, fault.BadRequest},
		"second group":                   {in{ConfigID: 7, AgentID: "a", Restrictions: limits{SessionGroupID: "g"}, ExtraPrivileges: []string{"sessionid:h"}}, fault.BadRequest},
		"no entitlement":                 {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{"disableentitlement"}}, fault.EntitlementViolation},
		"no entitlement, for an admin":   {in{ConfigID: 7, AgentID: "a", UserID: "u", AdminSession: true, ExtraPrivileges: []string{"DisableEntitlement:x"}}, fault.EntitlementViolation},
		"no entitlement, in a value":     {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{"sview:disableentitlement"}}, fault.EntitlementViolation},
		"no entitlement, in a limit":     {in{ConfigID: 7, AgentID: "a", Restrictions: limits{URI: "/x,disableentitlement"}}, fault.EntitlementViolation},
		"two in one":                     {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{"x,disableentitlement"}}, fault.BadRequest},
		"white space before":             {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{" disableentitlement"}}, fault.BadRequest},
		"nothing":                        {in{ConfigID: 7, AgentID: "a", ExtraPrivileges: []string{""}}, fault.BadRequest},
	} {
		_, err := f.Tokens.Conversation(t.Context(), test.in)
		refuse("conversation: "+name, test.code, err)
		_, err = f.Tokens.Agent(t.Context(), test.in)
		refuse("agent: "+name, test.code, err)
		test.in.ConfigID = min(test.in.ConfigID, 0) // also before the look-up
		if test.in.AgentID != "" && name != "second config" {
			_, err = f.Tokens.Agent(t.Context(), test.in)
			refuse("agent without a config: "+name, test.code, err)
		}
	}
	_, err := f.Tokens.Conversation(t.Context(), in{AgentID: "a"})
	refuse("conversation without a config", fault.BadRequest, err)
	_, err = f.Tokens.Widget(t.Context(), "")
	refuse("no widget", fault.BadRequest, err)
	refuse("nothing to end", fault.BadRequest, f.Tokens.End(t.Context(), management.Token{}))
	expect.Len(t, f.take(), 0, "asked")
}

// TestAgentTokenLooksUpItsConfig mints twice: the result of a look-up is not cached.
func TestAgentTokenLooksUpItsConfig(t *testing.T) {
	f := newFake(t, map[string][]answer{
		startPath:    {{0, `"` + adminKS + `"`}, {0, `"` + userKS + `"`}, {0, `"` + adminKS + `"`}, {0, `"` + userKS + `"`}},
		"/agent/get": {{0, agentJSON}, {0, `{"agentId":"a-1","intellect":{"id":8}}`}},
	})
	for _, config := range []int64{7, 8} {
		token, err := f.Tokens.Agent(t.Context(), management.TokenInput{AgentID: "a-1", UserID: "sam"})
		if err != nil || token.ConfigID != config || token.KS() != userKS {
			t.Fatalf("%v %v %v", token, token.ConfigID, err)
		}
	}
	asked := f.take()
	if len(asked) != 6 {
		t.Fatalf("asked %v", asked)
	}
	lookup := form(t, asked[0])
	if lookup.Get("type") != "2" || lookup.Get("expiry") != "60" || lookup.Get("userId") == "" || asked[1].auth != "KS "+adminKS || asked[1].body != `{"agentId":"a-1"}` {
		t.Errorf("looked up with %v, %v", lookup, asked[1])
	}
	for _, reply := range []string{
		`{"agentId":"a-1"}`, `{"agentId":"a-1","intellect":null}`, `{"agentId":"a-1","intellect":{"id":"seven"}}`, `{"agentId":"a-1","intellect":{"id":1.5}}`,
	} {
		f.answers["/agent/get"] = []answer{{0, reply}}
		_, err := f.Tokens.Agent(t.Context(), management.TokenInput{AgentID: "a-1"})
		wantCode(t, reply, err, fault.IntellectNotFound)
	}
	f.answers["/agent/get"] = []answer{{404, `{"message":"AGENT_NOT_FOUND"}`}}
	_, err := f.Tokens.Agent(t.Context(), management.TokenInput{AgentID: "a-1"})
	wantCode(t, "unknown agent", err, fault.AgentNotFound)
}

func TestWidgetTokenAndEnd(t *testing.T) {
	const path = "/service/session/action/startWidgetSession"
	f := newFake(t, map[string][]answer{path: {{0, `{"ks":"` + userKS + `","partnerId":5501}`}, {0, `{"partnerId":5501}`}, {0, `{"code":"INVALID_WIDGET_ID","message":"unknown","args":[]}`}}},
		func(o *management.Options) { o.Secret = "" })
	token, err := f.Tokens.Widget(t.Context(), "w-1")
	if err != nil || token.Kind != management.WidgetToken || token.KS() != userKS || !token.ExpiresAt.IsZero() {
		t.Fatalf("%v, %v", token, err)
	}
	if fields := form(t, f.take()[0]); fields.Get("widgetId") != "w-1" || fields.Get("format") != "1" || fields.Has("secret") {
		t.Errorf("asked %v", fields)
	}
	_, err = f.Tokens.Widget(t.Context(), "w-1")
	wantCode(t, "no token", err, fault.SessionFailed)
	_, err = f.Tokens.Widget(t.Context(), "w-1")
	wantCode(t, "unknown widget", err, fault.AgentNotFound)
	f.take()
	if err := f.Tokens.End(t.Context(), token); err != nil {
		t.Error(err)
	}
	asked := f.take()
	if fields := form(t, asked[0]); asked[0].path != endPath || fields.Get("ks") != userKS {
		t.Errorf("asked %v", asked)
	}
}

// TestRepliesWithAToken are the token, or an object with it; every token begins with djJ8
// (management-api.md, F.2).
func TestRepliesWithAToken(t *testing.T) {
	const widgetPath = "/service/session/action/startWidgetSession"
	for reply, code := range map[string]fault.Code{
		`"` + userKS + `"`: "", `{"ks":"` + userKS + `"}`: "",
		`"welcome"`: fault.SessionFailed, `{"ks":"welcome"}`: fault.SessionFailed, `""`: fault.SessionFailed, `[]`: fault.SessionFailed, `null`: fault.SessionFailed,
	} {
		f := newFake(t, map[string][]answer{startPath: {{0, reply}}, widgetPath: {{0, reply}}})
		admin, err := f.Tokens.Admin(t.Context(), management.AdminTokenInput{UserID: "boss"})
		widget, widgetErr := f.Tokens.Widget(t.Context(), "w-1")
		if code != "" {
			wantCode(t, reply, err, code)
			wantCode(t, reply, widgetErr, code)
		} else if err != nil || widgetErr != nil || admin.KS() != userKS || widget.KS() != userKS {
			t.Errorf("%s: %v, %v", reply, err, widgetErr)
		}
	}
}

// TestWrongKindsAreRefusedWithoutARequest: Agents need an admin's session.
func TestWrongKindsAreRefusedWithoutARequest(t *testing.T) {
	f := newFake(t, map[string][]answer{startPath: {{0, `"` + userKS + `"`}}, "/agent/get": {{0, agentJSON}}, "/service/session/action/startWidgetSession": {{0, `{"ks":"` + userKS + `"}`}}})
	ctx := t.Context()
	tokens := map[string]management.Token{
		"conversation": must.Get(f.Tokens.Conversation(ctx, management.TokenInput{ConfigID: 7}))(t),
		"agent":        must.Get(f.Tokens.Agent(ctx, management.TokenInput{ConfigID: 7, AgentID: "a-1"}))(t),
		"widget":       must.Get(f.Tokens.Widget(ctx, "w-1"))(t),
		"":             must.Get(f.Tokens.Admin(ctx, management.AdminTokenInput{UserID: "u"}))(t),
		"session":      must.Get(f.Tokens.Conversation(ctx, management.TokenInput{ConfigID: 7, UserID: "u", AdminSession: true}))(t),
		"raw":          management.RawToken(userKS),
	}
	f.take()
	for kind, token := range tokens {
		_, err := f.Agents.Get(management.WithToken(ctx, token), "a-1")
		switch kind {
		case "conversation", "agent", "widget":
			wantCode(t, kind, err, fault.WrongTokenScope)
			expect.Equal(t, len(f.take()), 0, "%s: something was asked", kind)
		default:
			if err != nil || len(f.take()) != 1 {
				t.Errorf("%q: %v", kind, err)
			}
		}
		if !errors.Is(err, fault.WrongTokenScope) {
			continue
		}
		expect.Equal(t, fault.From(err).Detail, "this call needs an admin token; it has a "+kind+" token", "%s", kind)
	}
}
