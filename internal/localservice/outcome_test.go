package localservice_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestConversationIsSummedUp: when a client reports the end of a conversation, it is summed up
// with the configured model; what else happens then is tested with the engine.
func TestConversationIsSummedUp(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"summary\":\"Sam said hello.\"}"}}]}`)
	}))
	t.Cleanup(model.Close)
	info := servicetest.Start(t, localservice.Options{Chat: endpoint.Endpoint{BaseURL: model.URL, Model: "m"}, Script: script(fine)}).Info()
	ks := conversationToken(t, info, "silent", "sam")
	threadID, _, _ := begin(t, info, ks, `{"userMessage":"Hello"}`)
	postJSON(t, info.GenieURL+"/thread/session_completed", ks, `{"id":"`+threadID+`"}`)
	var thread struct {
		Metadata struct {
			Summary *struct{ Status, Content string }
		} `json:"thread_metadata"`
	}
	must.Wait(t, "the summary", func() bool {
		call(t, "KS "+ks, info.GenieURL+"/v1/thread/get", map[string]string{"id": threadID}, &thread)
		return thread.Metadata.Summary != nil
	})
	if got := thread.Metadata.Summary; got.Status != "available" || got.Content != "Sam said hello." {
		t.Errorf("summary %+v", got)
	}
}
