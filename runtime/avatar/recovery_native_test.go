//go:build !js

package avatar

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// allPhases lists those that have decisions, in the order of the docs.
var allPhases = phases{starting, live, paused, offline, rebuilding, resuming}

// triggers lists them in the order of the docs.
var triggers = []trigger{
	socketDropped, socketClosed, socketKept, socketNew, socketSpent, tokenRefused, socketRefused, windowCloses, windowOver, networkBack,
	peerLost, repairFailed, repairVain, mediaGone, toolSpiral, serviceFatal, pauseOver, attemptFailed, attemptFatal, attemptsSpent, attemptDone,
}

// diagram is the state machine as docs/resilience.md shows it.
func diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> starting : connect\n")
	state := func(s phase) string {
		if s == outside {
			return "[*]"
		}
		return string(s)
	}
	for _, from := range allPhases {
		var edges []string // in the order of the triggers, one for each action and target
		causes := map[string][]string{}
		for _, on := range triggers {
			step, decided := decide(from, on)
			if !decided {
				continue
			}
			for _, to := range step.targets(from) {
				edge := fmt.Sprintf("    %s --> %s : %s", from, state(to), step.do)
				if causes[edge] == nil {
					edges = append(edges, edge)
				}
				causes[edge] = append(causes[edge], string(on))
			}
		}
		for _, edge := range edges {
			fmt.Fprintf(&b, "%s (%s)\n", edge, strings.Join(causes[edge], ", "))
		}
	}
	return b.String()
}

// TestTheDiagramInTheDocsIsTheStateMachine: the docs show the decisions, all of them, as they are.
func TestTheDiagramInTheDocsIsTheStateMachine(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/resilience.md"))(t)
	_, after, found := strings.Cut(string(page), "```mermaid\n")
	shown, _, closed := strings.Cut(after, "```")
	if want := diagram(); !found || !closed || shown != want {
		t.Errorf("docs/resilience.md must contain:\n```mermaid\n%s```", want)
	}
}

// TestEveryDecisionIsDeclared: no phase, trigger or target is missing from the lists, and
// none has two decisions.
func TestEveryDecisionIsDeclared(t *testing.T) {
	type place struct {
		from phase
		on   trigger
	}
	decided := map[place]bool{}
	for _, step := range decisions {
		for _, from := range step.from {
			if at := (place{from, step.on}); decided[at] || !slices.Contains(allPhases, from) || !slices.Contains(triggers, step.on) {
				t.Errorf("%s, %s: it has two decisions, or is not listed", from, step.on)
			} else {
				decided[at] = true
			}
			for _, to := range step.targets(from) {
				if to != outside && !slices.Contains(allPhases, to) {
					t.Errorf("%s, %s: unknown target %q", from, step.on, to)
				}
			}
		}
	}
}
