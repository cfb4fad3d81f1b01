package chat

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// completions returns the threads in the requests that reported an end.
func completions(h *pagetest.Server) (threads []string) {
	for _, v := range h.Requests() {
		if strings.HasSuffix(v.Path, "/thread/session_completed") {
			threads = append(threads, v.Body)
		}
	}
	return threads
}

// TestAClosedTabTellsOfItsEndWhileTheProgramWaits for its second part, which does not come any more.
func TestAClosedTabTellsOfItsEndWhileTheProgramWaits(t *testing.T) {
	t.Parallel()
	h := pagetest.CloseUntilReported(t, func() (*pagetest.Server, *pagetest.Page, []string) {
		h := pagetest.New(t, localservice.Options{})
		h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			held := strings.Contains(r.URL.Path, ".rest-")
			if held {
				<-r.Context().Done()
			}
			return held
		})
		p := openAt(h)
		var got struct{ Thread, Calls string }
		p.Do(&got, `
			const talk = globalThis.talk = await connect()
			await talk.session.sendText("What is a thread?")
			const {threads} = visitor({ks: "conversation", genieUrl: location.origin})
			const call = threads.setAnalysis("thread", {mood: "good"}) // of the second part
			call.catch(() => {})
			const timeout = new Promise((resolve) => setTimeout(resolve, 100, "it waits"))
			return {thread: talk.session.threadId, calls: await Promise.race([call, timeout])}`)
		if got.Calls != "it waits" || h.Count(http.MethodPost, "/v1/thread/update") != 0 {
			t.Errorf("the call has come to %q", got.Calls)
		}
		return h, p, []string{got.Thread}
	})
	expect.Len(t, completions(h), 1, "told of the ends")
}
