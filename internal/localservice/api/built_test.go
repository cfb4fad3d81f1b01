package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// TestABuiltAgentUsesItsParts: a tool, a skill and the variables of an agent that was
// made through the endpoints, in the demo brain.
func TestABuiltAgentUsesItsParts(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"price":"`+r.URL.Query().Get("item")+` costs 3"}`) //nolint:errcheck // a test's reply
	}))
	defer shop.Close()
	m := serve(t, nil, nil).manager()
	tool := m.call("/v1/tool/add", fmt.Sprintf(`{"name":"find_price","config":{"type":"api","request":{"url":"%s/?item={{ item }}"},
		"args":{"item":{"prompt":"The item.","type":"str","required":true}}}}`, shop.URL), 200)["id"]
	skill := m.call("/v1/skill/add", `{"name":"refunds","description":"d","instructions":"Refunds take {{ days | default('two') }} days."}`, 200)["id"]
	id := m.call("/v1/intellect/add", fmt.Sprintf(`{"name":"Eve","tool_ids":[%q],"skill_ids":[{"id":%q,"mode":"adhoc"}],
		"capabilities":{"use_knowledge_base":"off","generate_followup_questions":"off"}}`, tool, skill), 200)["id"].(float64)
	agent := m.call("/v1/agent/create", fmt.Sprintf(`{"displayName":"Eve","intellect":{"id":%d},"avatarIds":[]}`, int64(id)), 200)["agentId"]
	ks := m.mint(token.TypeUser, "ann", fmt.Sprintf("agentid:%s,geniegpcid:%d", agent, int64(id)))

	answer := m.ask(ks, "", "Please find the price of tea")
	if answer.text != "One moment. The service answered find_price: price tea costs 3." {
		t.Errorf("tool: %q", answer.text)
	}
	var kinds []string
	for _, seg := range answer.segments {
		if seg.Type == converse.Tool || seg.Type == converse.ToolResponse {
			kinds = append(kinds, string(seg.Type))
		}
	}
	if strings.Join(kinds, " ") != "tool tool_response" {
		t.Errorf("segments %q", kinds)
	}
	if got := m.ask(ks, "", "Tell me of refunds"); got.text != "My skill refunds says: Refunds take two days." {
		t.Errorf("skill: %q", got.text)
	}
	withVars := func() turn {
		return m.parse(m.post("/assistant/converse", ks, `{"userMessage":"refunds?","request_vars":{"days":"five"}}`))
	}
	if got := withVars(); got.text != "My skill refunds says: Refunds take five days." {
		t.Errorf("variables: %q", got.text)
	}
	update := func(fields string) {
		t.Helper()
		m.call("/v1/intellect/update", fmt.Sprintf(`{"id":%d,%s}`, int64(id), fields), 200)
	}
	update(`"allow_client_variables":false`)
	if got := withVars(); len(got.segments) != 0 {
		t.Errorf("variables that are not allowed make an empty turn: %+v", got.segments)
	}
	update(`"skill_ids":[],"tool_ids":[],"starter_questions":["What now?"]`)
	if got := m.ask(ks, "", "find price of tea"); !strings.HasPrefix(got.text, "I'm only a demo") {
		t.Errorf("without its tools: %q", got.text)
	}
	wantStatus(t, "starters", m.post("/followup/get-suggested-questions?new_response=true", ks, "{}"), 200, `["What now?"]`)
	m.call("/v1/intellect/delete", fmt.Sprintf(`{"id":%d}`, int64(id)), 200)
	wantStatus(t, "without its intellect", m.post("/assistant/converse", ks, `{"userMessage":"x"}`), 404, "")
}
