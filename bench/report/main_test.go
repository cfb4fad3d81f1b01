package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// Each goal that is missed in the committed tables has an explanation.
func TestMissedGoalsAreExplained(t *testing.T) {
	text := must.Get(os.ReadFile("../../" + doc))(t)
	for _, what := range unexplained(string(text)) {
		t.Errorf("%s says nothing under %q about: %s", doc, obstacles, what)
	}
}

func TestUnexplained(t *testing.T) {
	const text = "| fast | 1 ms | yes | 5 |\n| slow | 9 ms | **no** | 5 |\n| late | 9 ms | **no** | 5 |\n" + obstacles + "\n\n- **late**: the network.\n"
	if got := unexplained(text); !slices.Equal(got, []string{"slow"}) {
		t.Errorf("%q", got)
	}
}

func TestTableIsReplacedAlone(t *testing.T) {
	text := "# Title\n\n" + mark("bench") + "old\n" + end + "\nfirst\n\n" + mark("bench-steady") + "kept\n" + end + "\nlast\n"
	got := must.Get(replace(text, mark("bench"), "new\n"))(t)
	if want := strings.Replace(text, "old\n", "\nnew\n\n", 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := replace("no table", mark("bench"), "new"); err == nil {
		t.Error("a document without a place was accepted")
	}
}
