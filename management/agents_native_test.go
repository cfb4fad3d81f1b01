//go:build !js

package management_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const avatarID = "0123456789abcdef01234567"

func TestAgents(t *testing.T) {
	const fields = `"avatarIds":["` + avatarID + `"],"adminTags":["custom"],"screenShare":{"enabled":true}`
	testCalls(t, []call{
		{
			"Agents.Create", `[{"displayName":"Reception","intellect":{"id":7},` + fields + `}]`, "agent /agent/create",
			`{"displayName":"Reception","intellect":{"intellectType":"genie","id":7},` + fields + `}`, agentJSON,
			`{"agentId":"a-1","intellect":{"id":7},"avatarIds":["` + avatarID + `"],"createdAt":"2026-01-02T03:04:05Z"}`,
		},
		{"Agents.Update", `["a-1",{"displayName":"y","adminTags":[]}]`, "agent /agent/update", `{"adminTags":[],"agentId":"a-1","displayName":"y"}`, agentJSON, ""},
		{"Agents.Get", `["a-1"]`, "agent /agent/get", `{"agentId":"a-1"}`, agentJSON, `{"displayName":"Reception"}`},
	})
}

func TestAgentsThatAreRefusedWithoutARequest(t *testing.T) {
	refusals := []refusal{
		{"Agents.Update", `["",{"displayName":"x"}]`, fault.BadRequest},
		{"Agents.Get", `[""]`, fault.BadRequest},
		{"Agents.Delete", `["","confirm"]`, fault.BadRequest},
		{"Agents.Delete", `["a-1"]`, fault.ConfirmationRequired},
	}
	for _, in := range []string{
		`"displayName":"","intellect":{"id":7}`,
		`"displayName":"x"`,
		`"displayName":"x","intellect":{"intellectType":"other","id":7}`,
		`"displayName":"x","intellect":{"id":7},"maxConversationLength":3601`,
		`"displayName":"x","intellect":{"id":7},"widgetConfig":{"initialPage":{"title":"` + strings.Repeat("x", 31) + `"}}`,
		`"displayName":"x","intellect":{"id":7},"avatarIds":["0123"]`,
		`"displayName":"x","intellect":{"id":7},"avatarIds":["0123456789abcdef0123456x"]`,
	} {
		refusals = append(refusals, refusal{"Agents.Create", `[{` + in + `}]`, fault.BadRequest})
	}
	for _, patch := range []string{``, `"displayName":""`, `"maxConversationLength":0`, `"avatarIds":["x"]`, `"intellect":{}`} {
		refusals = append(refusals, refusal{"Agents.Update", `["a-1",{` + patch + `}]`, fault.BadRequest})
	}
	testRefusals(t, refusals)
	f := newFake(t, nil)
	for name, intellect := range map[string]management.IntellectRef{
		"an id and fields": {ID: 7, Fields: &management.IntellectFields{}}, "bad fields": {Fields: &management.IntellectFields{Status: new(9)}},
	} {
		_, err := f.Agents.Create(t.Context(), management.AgentInput{DisplayName: "x", Intellect: intellect})
		wantCode(t, name, err, fault.BadRequest)
	}
	err := f.Agents.Delete(t.Context(), "a-1", management.AllowProtected, management.SkipProtectedCheck)
	wantCode(t, "not confirmed", err, fault.ConfirmationRequired)
	wantRequests(t, f)
}

// TestAgentDeleteGuard is service.md "Agents": client delete guard.
func TestAgentDeleteGuard(t *testing.T) {
	const sure, allow, skip = management.ConfirmPermanent, management.AllowProtected, management.SkipProtectedCheck
	get, remove := "agent /agent/get", "agent /agent/delete"
	tagged := func(tag string) answer { return answer{0, `{"agentId":"a-1","adminTags":["x","` + tag + `"]}`} }
	for _, test := range []struct {
		name  string
		reply answer
		opts  []management.Option
		code  fault.Code
		asked []string
	}{
		{"prod", tagged("prod"), []management.Option{sure}, fault.ProtectedResource, []string{get}},
		{"production", tagged("production"), []management.Option{sure}, fault.ProtectedResource, []string{get}},
		{"keep", tagged("keep"), []management.Option{sure}, fault.ProtectedResource, []string{get}},
		{"do-not-delete", tagged("do-not-delete"), []management.Option{sure}, fault.ProtectedResource, []string{get}},
		{"live", tagged("live"), []management.Option{sure}, fault.ProtectedResource, []string{get}},
		{"in capitals", tagged("LIVE"), []management.Option{sure}, fault.ProtectedResource, []string{get}},
		{"another tag", tagged("lively"), []management.Option{sure}, "", []string{get, remove}},
		{"allowed", tagged("prod"), []management.Option{sure | allow}, "", []string{get, remove}},
		{"allowed, in two options", tagged("prod"), []management.Option{sure, allow}, "", []string{get, remove}},
		{"skipped", tagged("prod"), []management.Option{sure, skip}, "", []string{remove}},
		{"can't be read", answer{403, ``}, []management.Option{sure}, fault.Forbidden, []string{get}},
		{"can't be read, allowed", answer{403, ``}, []management.Option{sure, allow}, fault.Forbidden, []string{get}},
		{"gone", answer{404, ``}, []management.Option{sure}, "", []string{get, remove}},
	} {
		f := newFake(t, map[string][]answer{"/agent/get": {test.reply}, "/agent/delete": {{0, `{}`}}})
		err := f.Agents.Delete(t.Context(), "a-1", test.opts...)
		if test.code != "" {
			wantCode(t, test.name, err, test.code)
		} else if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		wantRequests(t, f, test.asked...)
	}
}

// TestAgentsOnTheService makes, lists, changes and deletes agents of the local service.
func TestAgentsOnTheService(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	seeded, _ := info.Agent("receptionist")
	model, err := c.Agents.Get(ctx, seeded.AgentID)
	if err != nil {
		t.Fatal(err)
	}
	if int64(model.Intellect.ID) != seeded.ConfigID || len(model.AvatarIDs) == 0 || model.DisplayName == "" || model.UpdatedAt.Time().IsZero() {
		t.Errorf("got %+v", model)
	}
	var made []*management.Agent
	for _, name := range []string{"Desk ÄÖ", "Desk two", "Shop"} {
		agent, err := c.Agents.Create(ctx, management.AgentInput{
			DisplayName: name, Intellect: model.Intellect, AvatarIDs: model.AvatarIDs, AdminTags: []string{"test", name},
			WidgetConfig: json.RawMessage(`{"color":"red"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, agent)
	}
	names := func(f management.AgentFilter, opts ...management.Option) (names []string) {
		t.Helper()
		for agent, err := range c.Agents.List(ctx, f, opts...) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, agent.DisplayName)
		}
		return names
	}
	desks := []string{"Desk ÄÖ", "Desk two"}
	for _, test := range []struct {
		name string
		f    management.AgentFilter
		want []string
	}{
		{"part of the name", management.AgentFilter{SearchValue: "dESK", OrderBy: "+createdAt"}, desks},
		{"letters beyond ASCII", management.AgentFilter{SearchValue: "äö"}, desks[:1]},
		{"part of the id", management.AgentFilter{SearchValue: made[2].ID[3:20]}, []string{"Shop"}},
		{"id", management.AgentFilter{AgentID: made[1].ID}, desks[1:]},
		{"tags", management.AgentFilter{AdminTagsIn: []string{"test"}, AdminTagsNotIn: []string{"Shop", "x"}, OrderBy: "+createdAt"}, desks},
		{"nothing", management.AgentFilter{AdminTagsIn: []string{"x"}}, nil},
	} {
		if got := names(test.f, management.PageSize(1)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	if all := names(management.AgentFilter{}); len(all) != len(info.Agents)+3 {
		t.Errorf("agents %q", all)
	}
	changed, err := c.Agents.Update(ctx, made[0].ID, management.AgentPatch{AdminTags: []string{"live"}, ScreenShare: &management.ScreenShare{Enabled: true}})
	if err != nil || changed.DisplayName != "Desk ÄÖ" || !changed.ScreenShare.Enabled || string(changed.WidgetConfig) != `{"color":"red"}` {
		t.Errorf("%+v, %v", changed, err)
	}
	_, err = c.Agents.Update(ctx, made[0].ID, management.AgentPatch{Intellect: &management.IntellectRef{ID: 1 << 40}})
	wantCode(t, "unknown intellect", err, fault.IntellectNotFound)
	_, err = c.Agents.Create(ctx, management.AgentInput{DisplayName: "x", Intellect: model.Intellect, AvatarIDs: []string{avatarID}})
	wantCode(t, "unknown avatar", err, fault.APIException)
	if !management.IsNotFound(err) {
		t.Errorf("unknown avatar: %v", err)
	}
	wantCode(t, "protected", c.Agents.Delete(ctx, made[0].ID, management.ConfirmPermanent), fault.ProtectedResource)
	for i, agent := range made {
		opts := []management.Option{management.ConfirmPermanent}
		if i == 0 {
			opts = append(opts, management.AllowProtected)
		}
		if err := c.Agents.Delete(ctx, agent.ID, opts...); err != nil {
			t.Error(err)
		}
		_, err := c.Agents.Get(ctx, agent.ID)
		wantCode(t, "deleted", err, fault.AgentNotFound)
		wantCode(t, "deleted twice", c.Agents.Delete(ctx, agent.ID, opts...), fault.AgentNotFound)
	}
	// The look-up of the intellect (rule 4).
	token, err := c.Tokens.Agent(ctx, management.TokenInput{AgentID: seeded.AgentID, UserID: "sam"})
	if err != nil || token.ConfigID != seeded.ConfigID {
		t.Errorf("%v %d, %v", token, token.ConfigID, err)
	}
}
