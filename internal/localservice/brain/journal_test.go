package brain

import (
	"context"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// noAnswer is a brain that says nothing.
type noAnswer struct{}

func (noAnswer) Answer(context.Context, *Question, Sink) error { return nil }

// TestAJournalIsBounded, in questions and in bytes.
func TestAJournalIsBounded(t *testing.T) {
	j := &Journal{Brain: noAnswer{}}
	ask := func(n int, vars map[string]any) {
		for range n {
			must.Do(t, j.Answer(t.Context(), &Question{Text: "Hello", Vars: vars}, nil))
		}
	}
	large := map[string]any{"a": strings.Repeat("x", 200_000), pageContext: strings.Repeat("y", 50_000)}
	ask(200, large)
	bytes := 0
	for _, turn := range j.Turns() {
		bytes += turn.size()
	}
	if bytes > maxTurnBytes || bytes < maxTurnBytes/2 || bytes != j.bytes {
		t.Errorf("%d bytes, counted as %d", bytes, j.bytes)
	}
	ask(2*maxTurns, nil)
	if n := len(j.Turns()); n != maxTurns || j.bytes != maxTurns*len("Hello") {
		t.Errorf("%d questions of %d bytes", n, j.bytes)
	}
}
