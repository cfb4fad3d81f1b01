package localservice_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
)

// TestConversationIsSummedUp: when a client reports the end of a conversation, the
// conversation is summarised and the rules for its end extract further values, with the
// configured model; without one, both are marked as not available (service.md, Threads and
// Events; choice E18).
func TestConversationIsSummedUp(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		reply := `{"summary":"Sam said hello."}`
		if strings.Contains(string(request), "How is the user?") {
			reply = `{"mood":"good"}`
		}
		content, _ := json.Marshal(reply)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, content)
	}))
	t.Cleanup(model.Close)
	for name, tt := range map[string]struct {
		options              localservice.Options
		summary, text, value string
	}{
		"a model":  {localservice.Options{Chat: endpoint.Endpoint{BaseURL: model.URL, Model: "m"}}, "available", "Sam said hello.", "good"},
		"no model": {localservice.Options{}, "not_available", "", "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.Script = script(fine)
			info := servicetest.Start(t, tt.options).Info()
			admin := "KS " + adminToken(t, info)
			var setting struct{ ID string }
			call(t, admin, info.AgenticURL+"/insight-settings/create", map[string]string{
				"key": "mood", "title": "Mood", "prompt": "How is the user?", "valueType": "string",
			}, &setting)
			call(t, admin, info.AgenticURL+"/lifecycle/create", map[string]any{
				"name": "end", "eventType": "session_ended",
				"actions": []any{map[string]any{"type": "triggerInsightSettingsKai", "insightSettingIds": []string{setting.ID}}},
			}, nil)
			ks := conversationToken(t, info, "silent", "sam")
			threadID, _, _ := begin(t, info, ks, `{"userMessage":"Hello"}`)
			postJSON(t, info.GenieURL+"/thread/session_completed", ks, `{"id":"`+threadID+`"}`)
			var thread struct {
				Metadata struct {
					Analysis map[string]any
					Summary  *struct{ Status, Content string }
					Insights map[string]struct {
						Status string
						Value  any
					}
				} `json:"thread_metadata"`
			}
			for deadline := time.Now().Add(patience); len(thread.Metadata.Insights) == 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("no outcome: %+v", thread)
				}
				call(t, "KS "+ks, info.GenieURL+"/v1/thread/get", map[string]string{"id": threadID}, &thread)
			}
			m := thread.Metadata
			if m.Summary == nil || m.Summary.Status != tt.summary || m.Summary.Content != tt.text {
				t.Errorf("summary %+v", m.Summary)
			}
			if mood := m.Insights["mood"]; mood.Status != tt.summary || fmt.Sprint(mood.Value) != tt.value {
				t.Errorf("insight %+v", mood)
			}
			if got := fmt.Sprint(m.Analysis["mood"]); got != tt.value {
				t.Errorf("analysis %v", m.Analysis)
			}
		})
	}
}
