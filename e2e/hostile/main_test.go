package hostile

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.WithVoice) }

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

// server is a local service whose requests and sessions are counted.
type server struct {
	*pagetest.Server
	t *testing.T
}

// folder is where the pages of this package are.
const folder = "/e2e/hostile/testdata/"

// openPage opens an empty page at the local service, whose scripts can use the exports of
// testdata/hostile.js.
func openPage(t *testing.T) (server, *pagetest.Page) {
	t.Helper()
	return openPageAt(t, localservice.Options{})
}

// openPageAt is openPage with options of the local service.
func openPageAt(t *testing.T, o localservice.Options) (server, *pagetest.Page) {
	t.Helper()
	o.Script = []byte(turns)
	o.Recovery = -1 // a session ends with its socket
	h := server{pagetest.New(t, o), t}
	p := h.Open(folder)
	p.Prelude = `const {
		aftermath, agentOf, AgentError, anotherTab, AgentSession, arrive, ChatSession, chatOf, converse, diagnostics, dispose, errorCode, held, holdings, left, load, outcome, phases, scarce, settled, tally, within,
	} = await import("` + folder + `hostile.js")`
	return h, p
}

// completions are the bodies of the requests that reported an end.
func (h server) completions() (bodies []string) {
	for _, v := range h.Requests() {
		if v.Method == http.MethodPost && strings.HasSuffix(v.Path, "/thread/session_completed") {
			bodies = append(bodies, v.Body)
		}
	}
	return bodies
}

// number returns an environment variable as a number, or the default without it.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
