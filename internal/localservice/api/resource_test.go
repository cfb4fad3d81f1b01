package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
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
	m.decode(reply2xx(got), &reply)
	return reply
}

// reply2xx makes a refusal readable as a body.
func reply2xx(got reply) reply { got.status = http.StatusOK; return got }

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
	if err := v.store.AddPartner(v.t.Context(), other); err != nil {
		v.t.Fatal(err)
	}
	mine := v.partner
	v.partner = other
	ks := v.mint(token.TypeAdmin, "root", "disableentitlement")
	v.partner = mine
	return &manager{v, ks}
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
	conversation, widget := v.conversation(store.Receptionist, "ann"), v.widget(store.Receptionist)
	agent := v.mint(token.TypeUser, "ann", "agentid:"+v.agents[store.Receptionist].ID)
	for _, resource := range []string{"agent/create", "avatar/create", "catalog-item/create", "intellect/add", "tool/add", "skill/add"} {
		kind, create, _ := strings.Cut(resource, "/")
		for _, action := range []string{create, "get", "list", "update", "delete"} {
			path := "/v1/" + kind + "/" + action
			for who, ks := range map[string]string{"conversation": conversation, "widget": widget, "agent": agent} {
				wantStatus(t, who+" "+path, v.post(path, ks, "{}"), 403, "")
			}
			wantStatus(t, path, v.post(path, "", "{}"), 401, "")
		}
	}
}
