package template

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestNames(t *testing.T) {
	expect.List(t, Names("Hi {{ name | default('you') }}, {{plan}} {{ secrets.KEY }}"), []string{"name", "plan", "secrets.KEY"}, "names")
}

func TestParseFindsOpenBraces(t *testing.T) {
	for text, want := range map[string]int{
		"": -1, "{{ a }}": -1, "a { b } c": -1, "{{ a": 0, "x {{ a }} {{ b": 10, "x }}": 2, "{{ a }} }} {{": 8, "{{ {{ a }} }}": 11,
	} {
		if _, open := Parse(text); open != want {
			t.Errorf("%q: open braces at %d, want %d", text, open, want)
		}
	}
}

func TestRenderGivesPositions(t *testing.T) {
	var at []int
	got := Render("{{ a }}-{{ b | default('c') }}", func(p Piece, n int) string {
		at = append(at, n)
		return p.Ref.Name + p.Ref.Default
	})
	if got != "a-bc" || !slices.Equal(at, []int{0, 8}) {
		t.Errorf("%q at %v", got, at)
	}
}
