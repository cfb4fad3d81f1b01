package localservice_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
)

// TestATestChangesTheScriptAndReadsWhatAPageSent over the control address.
func TestATestChangesTheScriptAndReadsWhatAPageSent(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{}).Info()
	for _, a := range info.Agents {
		if a.WidgetID != a.Name {
			t.Errorf("the widget of %s is %s", a.Name, a.WidgetID)
		}
	}
	ks := initialise(t, info, "receptionist").KS
	read := func(path string, out any) {
		t.Helper()
		_, text := fetch(t, http.MethodGet, info.ControlURL+path, http.Header{"Authorization": {"Bearer " + info.ControlToken}})
		if err := json.Unmarshal([]byte(text), out); err != nil {
			t.Fatal(err, text)
		}
	}
	control(t, info, "/script", json.RawMessage(`{"rules": [{"when": {"contains": "menu"}, "steps": [{"say": "Soup for {{ plan }}."}]}]}`))
	_, said := postJSON(t, info.GenieURL+"/assistant/converse", ks,
		`{"userMessage":"The menu","request_vars":{"plan":"free","page_context":"{\"page\":\"prices\"}"}}`)
	if !strings.Contains(said, "free.") {
		t.Errorf("the script was not played: %s", said)
	}
	var received struct {
		Turns []struct {
			Text, ThreadID string
			Variables      map[string]any
			PageContext    any
		}
	}
	read("/turns", &received)
	if len(received.Turns) != 1 {
		t.Fatalf("got %+v", received)
	}
	turn := received.Turns[0]
	if turn.Text != "The menu" || turn.ThreadID == "" || turn.Variables["plan"] != "free" || turn.Variables["sys__thread_id"] != nil || turn.PageContext != `{"page":"prices"}` {
		t.Errorf("got %+v", turn)
	}
	var ended struct {
		Completions []struct{ ThreadID string }
	}
	read("/completions", &ended)
	expect.Equal(t, len(ended.Completions), 0, "ended before the end: %+v", ended)
	postJSON(t, info.GenieURL+"/thread/session_completed", ks, `{"id":"`+turn.ThreadID+`"}`)
	read("/completions", &ended)
	if len(ended.Completions) != 1 || ended.Completions[0].ThreadID != turn.ThreadID {
		t.Errorf("got %+v", ended)
	}
	control(t, info, "/script", nil) // no script
	if _, said = postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"The menu"}`); strings.Contains(said, "Soup") {
		t.Errorf("the script is still played: %s", said)
	}
}
