package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWritesHaveReceipts: a write says when, where and for whom it was done; a read and a
// delete do not, and a receipt that is sent back changes nothing.
func TestWritesHaveReceipts(t *testing.T) {
	m := serve(t, nil, nil).manager()
	made := m.call("/v1/knowledge/add", `{"name":"Menu"}`, 200)
	meta, _ := made["_meta"].(map[string]any)
	at, err := time.Parse("2006-01-02T15:04:05Z", fmt.Sprint(meta["generatedAt"]))
	if err != nil || time.Since(at) > time.Minute || time.Since(at) < -time.Second {
		t.Errorf("time %v, %v", meta["generatedAt"], err)
	}
	if meta["partnerId"] != float64(m.partner.ID) || meta["source"] != "/v1/knowledge/add" || meta["scope"] != "admin" || meta["noEffect"] != nil {
		t.Errorf("receipt %v", meta)
	}
	back, _ := json.Marshal(made)
	again := m.call("/v1/knowledge/update", string(back), 200)
	if source := again["_meta"].(map[string]any)["source"]; source != "/v1/knowledge/update" || again["name"] != "Menu" {
		t.Errorf("sent back: %v", again)
	}
	about := fmt.Sprintf(`{"id":%v}`, made["id"])
	if got := m.call("/v1/knowledge/get", about, 200); got["_meta"] != nil {
		t.Errorf("a read has a receipt: %v", got)
	}
	for path, body := range map[string]string{
		"/v1/email-template/add": `{"appGuid":"g","name":"Bye","subject":"s","body":"b","from":"f","language":"en"}`,
		"/v1/lifecycle/create":   fmt.Sprintf(`{"name":"r","eventType":"session_ended","actions":[{"type":"sendEmail","emailTemplateId":%q,"to":"a@example.com"}]}`, m.emailTemplate()),
	} {
		if got := fmt.Sprint(m.call(path, body, 200)["_meta"]); !strings.Contains(got, "noEffect") || !strings.Contains(got, noEmail) {
			t.Errorf("%s does not say that no e-mail is sent: %v", path, got)
		}
	}
	const setting = `{"key":"mood","title":"Mood","prompt":"How?","valueType":"string"}`
	update := fmt.Sprintf(`{"id":%q,"title":"x"}`, m.call("/v1/insight-settings/create", setting, 200)["id"])
	if got := fmt.Sprint(m.call("/v1/insight-settings/update", update, 200)["_meta"]); !strings.Contains(got, "noEffect") || !strings.Contains(got, noInsights) {
		t.Errorf("an insight setting does not say that there is no model: %v", got)
	}
	withModel := serve(t, nil, func(c *Config) {
		c.Model = modelFunc(func(_, _ string) (string, error) { return "", nil })
	})
	if got := fmt.Sprint(withModel.manager().call("/v1/insight-settings/create", setting, 200)["_meta"]); strings.Contains(got, "noEffect") {
		t.Errorf("an insight setting has no effect with a model: %v", got)
	}
	wantStatus(t, "delete", m.post("/v1/knowledge/delete", m.ks, about), 200, "null")
}
