//go:build !js

package avatar

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// phases lists those that have decisions, in the order of the docs.
var phases = []phase{starting, live, paused, offline, rebuilding, resuming}

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
	for _, from := range phases {
		var edges []string // in the order of the triggers, one for each action and target
		causes := map[string][]string{}
		for _, on := range triggers {
			step, decided := decide(from, on)
			if !decided {
				continue
			}
			for _, to := range step.to {
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
	page, err := os.ReadFile("../../docs/resilience.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```mermaid\n")
	shown, _, closed := strings.Cut(after, "```")
	if want := diagram(); !found || !closed || shown != want {
		t.Errorf("docs/resilience.md must contain:\n```mermaid\n%s```", want)
	}
}

// TestEveryDecisionIsDeclared: no phase, trigger or target is missing from the lists, and
// none has two decisions.
func TestEveryDecisionIsDeclared(t *testing.T) {
	decided := map[phase]map[trigger]bool{}
	for _, step := range decisions {
		if !slices.Contains(phases, step.from) {
			t.Errorf("the phase %q is not listed", step.from)
		}
		if !slices.Contains(triggers, step.on) {
			t.Errorf("the trigger %q is not listed", step.on)
		}
		for _, to := range step.to {
			if to != outside && !slices.Contains(phases, to) {
				t.Errorf("%s, %s: unknown target %q", step.from, step.on, to)
			}
		}
		if decided[step.from][step.on] {
			t.Errorf("%s, %s: two decisions", step.from, step.on)
		}
		if decided[step.from] == nil {
			decided[step.from] = map[trigger]bool{}
		}
		decided[step.from][step.on] = true
	}
	if len(decided) != len(phases) {
		t.Errorf("decisions for %d phases of %d", len(decided), len(phases))
	}
}
