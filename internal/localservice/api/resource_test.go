package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/must"
)

// manager calls management endpoints with an admin token.
type manager struct {
	*service
	ks string
}

func (v *service) manager() *manager { return &manager{v, v.admin()} }

// call posts a body and reads the reply, which has to have the status.
func (m *manager) call(path, body string, status int) map[string]any {
	m.t.Helper()
	got := m.post(path, m.ks, body)
	if got.status != status {
		m.t.Fatalf("%s %s: %d %s, want %d", path, body, got.status, got.body, status)
	}
	if got.body == "null" {
		return nil
	}
	reply := map[string]any{}
	got.status = http.StatusOK // a refusal is read as well
	m.decode(got, &reply)
	return reply
}

// refuses posts a body and requires the status, and a text in the reply.
func (m *manager) refuses(path, body string, status int, text string) {
	m.t.Helper()
	got := m.post(path, m.ks, body)
	if got.status != status || !strings.Contains(got.body, text) {
		m.t.Errorf("%s %s: %d %s, want %d and %q", path, body, got.status, got.body, status, text)
	}
}

// stranger is the manager of another partner.
func (v *service) stranger() *manager {
	v.t.Helper()
	other := store.Partner{ID: 77, Secret: "another secret"}
	must.Do(v.t, v.store.AddPartner(v.t.Context(), other))
	return &manager{v, v.mintFor(other, token.TypeAdmin, "root", "disableentitlement")}
}

// names are the values of a field in the objects of a list.
func names(list map[string]any, field string) []string {
	var all []string
	for _, object := range list["objects"].([]any) {
		all = append(all, fmt.Sprint(object.(map[string]any)[field]))
	}
	return all
}

// TestManagementNeedsAnAdminToken: every management route refuses the other kinds.
func TestManagementNeedsAnAdminToken(t *testing.T) {
	v := serve(t, nil, nil)
	tokens := map[string]string{
		"conversation": v.conversation(store.Receptionist, "ann"), "widget": v.widget(store.Receptionist),
		"agent": v.mint(token.TypeUser, "ann", "agentid:"+v.agents[store.Receptionist].ID),
	}
	paths := managementPaths()
	if len(paths) < 60 {
		t.Errorf("only %d routes", len(paths))
	}
	for _, path := range paths {
		for who, ks := range tokens {
			wantStatus(t, who+" "+path, v.post(path, ks, "{}"), 403, "")
		}
		wantStatus(t, path, v.post(path, "", "{}"), 401, "")
	}
}

// TestDeletedIDsAreForgotten: what is deleted is taken out of the lists of ids that have it, so
// that a record can be written again as it is read.
func TestDeletedIDsAreForgotten(t *testing.T) {
	m := serve(t, nil, nil).manager()
	add := func(kind, body string) [2]any {
		t.Helper()
		var ids [2]any
		for n := range ids {
			ids[n] = m.call("/v1/"+kind, strings.ReplaceAll(body, "#", fmt.Sprint(n)), 200)["id"]
		}
		return ids
	}
	skills := add("skill/add", `{"name":"s#","description":"d"}`)
	tools := add("tool/add", `{"name":"t#","config":{"type":"client","description":"d"}}`)
	avatars := add("avatar/create", `{"name":"a#","voice":{"id":"`+presetVoice+`"},"visual":{"id":"`+presetVisual+`"}}`)
	record := m.call("/v1/knowledge/add", `{"name":"k"}`, 200)["id"]
	intellect := m.call("/v1/intellect/add", fmt.Sprintf(
		`{"base_directive":"Be brief.","skill_ids":[{"id":%q,"mode":"adhoc"},{"id":%q,"mode":"preloaded","condition":"a == 'b'"}],"tool_ids":[%q,%q],"thread_start_tools":[%q],"knowledge_ids":[%v]}`,
		skills[0], skills[1], tools[0], tools[1], tools[0], record,
	), 200)["id"]
	other := m.call("/v1/intellect/add", fmt.Sprintf(`{"tool_ids":[%q]}`, tools[1]), 200)
	agent := m.call("/v1/agent/create", fmt.Sprintf(`{"displayName":"A","intellect":{"id":%v},"avatarIds":[%q,%q]}`, intellect, avatars[0], avatars[1]), 200)["agentId"]

	for path, id := range map[string]any{"skill/delete": skills[0], "tool/delete": tools[0], "avatar/delete": avatars[0], "knowledge/delete": record} {
		text, _ := json.Marshal(map[string]any{"id": id})
		wantStatus(t, path, m.post("/v1/"+path, m.ks, string(text)), 200, "")
	}
	got := m.call("/v1/intellect/get", fmt.Sprintf(`{"id":%v}`, intellect), 200)
	want := map[string]any{
		"skill_ids": []any{map[string]any{"id": skills[1], "mode": "preloaded", "condition": "a == 'b'"}},
		"tool_ids":  []any{tools[1]}, "thread_start_tools": []any{}, "knowledge_ids": []any{}, "base_directive": "Be brief.",
	}
	for field, value := range want {
		if !reflect.DeepEqual(got[field], value) {
			t.Errorf("%s: %v, want %v", field, got[field], value)
		}
	}
	for _, field := range []string{"partner_id", "created_at", "updated_at"} {
		delete(got, field)
	}
	text, _ := json.Marshal(got)
	m.call("/v1/intellect/update", string(text), 200)
	if list := m.call("/v1/agent/get", fmt.Sprintf(`{"agentId":%q}`, agent), 200)["avatarIds"]; !reflect.DeepEqual(list, []any{avatars[1]}) {
		t.Errorf("avatarIds: %v", list)
	}
	if again := m.call("/v1/intellect/get", fmt.Sprintf(`{"id":%v}`, other["id"]), 200); again["updated_at"] != other["updated_at"] {
		t.Errorf("another intellect was written: %v", again)
	}
}
