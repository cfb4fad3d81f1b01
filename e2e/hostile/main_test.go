package hostile

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	o.Recovery = cmp.Or(o.Recovery, -1) // a session ends with its socket
	h := server{pagetest.New(t, o), t}
	p := h.Open(folder)
	p.Prelude = `const {aftermath, arrive, holdings, left, load, outcome, phases, tally, within} = await import("` + folder + `hostile.js")`
	return h, p
}

// faults are what goes wrong with the service while a page uses it; some end a session.
var faults = slices.Concat(pagetest.Survivable, []pagetest.Fault{
	pagetest.Link("cut", "sockets", "relay", "http"),
	pagetest.OfSession("stop-video", map[string]any{"stopped": true}),
	pagetest.OfSession("fail-video", nil),
	pagetest.OfSession("end", nil),
	pagetest.OfSession("expire-pause", nil),
	pagetest.OfSession("fatal", map[string]any{"event": "removePeer"}),
	pagetest.OfSession("fatal", map[string]any{"event": "unsupportedClient", "code": "INTERNAL_ERROR"}),
	setting("capacity", "exhausted", true, false),
	setting("capacity", "tierExceeded", true, false),
	setting("recovery", "windowMs", 0, 8000),
	setting("turns", "acknowledged", false, true),
})

// setting is a fault of the whole service.
func setting(command, name string, bad, good any) pagetest.Fault {
	path := "/" + command
	return pagetest.Fault{
		Name:   fmt.Sprint(name, ": ", bad),
		Begin:  []pagetest.Command{{Path: path, Body: map[string]any{name: bad}}},
		Repair: []pagetest.Command{{Path: path, Body: map[string]any{name: good}}},
	}
}

// disturb applies faults for 20 s, which are drawn from a seed.
func (h server) disturb(seed int) {
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	names := pagetest.Disturb(ctx, h.t, h.Info(), rand.New(rand.NewPCG(uint64(seed), 0)), faults, 1500*time.Millisecond)
	h.t.Logf("%d faults: %s", len(names), strings.Join(names, "; "))
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
