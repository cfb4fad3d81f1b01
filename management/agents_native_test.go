//go:build !js

package management_test

import (
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
