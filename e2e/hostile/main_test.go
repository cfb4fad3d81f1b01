package hostile

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.Talking) }

// turns are those that the tests cut short.
const turns = `
rules:
  - when: {exact: "Think about it"}
    steps:
      - say: "I think about it. "
      - pause: 100000
      - say: "Never said."
  - when: {exact: "Count slowly"}
    steps: [{repeat: {steps: [{say: "and one "}, {pause: 50}]}}]
`

// inn is a local service that can be asked whether everybody has left.
type inn struct {
	*pagetest.House
	t *testing.T
}

// stage opens an empty page at the local service, whose scripts find what
// testdata/hostile.js has.
func stage(t *testing.T) (inn, *pagetest.Page) {
	t.Helper()
	// Without recovery, a session ends with its socket.
	h := inn{pagetest.New(t, localservice.Options{Script: []byte(turns), Recovery: -1}), t}
	const folder = "/e2e/hostile/testdata/"
	p := h.Open(folder)
	p.Prelude = `const {
		aftermath, agentOf, AgentError, anotherTab, AgentSession, arrive, ChatSession, chatOf, converse, diagnostics, dispose, held, holdings, left, load, outcome, phases, scarce, settled, tally, told, within,
	} = await import("` + folder + `hostile.js")`
	return h, p
}

// awaitEmpty waits until the service has no session any more.
func (h inn) awaitEmpty() {
	h.t.Helper()
	for sessions := h.Sessions(h.Context()); len(sessions) > 0; sessions = h.Sessions(h.Context()) {
		select {
		case <-time.After(glance):
		case <-h.Context().Done():
			h.t.Fatalf("the service still has the sessions %+v", sessions)
		}
	}
}

// glance is how often the service is looked at where it tells nobody of a change.
const glance = 20 * time.Millisecond

// completions are the bodies of the requests that told of an end.
func (h inn) completions() (bodies []string) {
	for _, v := range h.Visits() {
		if v.Method == http.MethodPost && strings.HasSuffix(v.Path, "/thread/session_completed") {
			bodies = append(bodies, v.Body)
		}
	}
	return bodies
}
