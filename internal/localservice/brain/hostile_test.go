package brain

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var allPairs = flag.Bool("all-pairs", false, "TestHostileScriptsCostLittle tries every piece behind every beginning, in scripts of the largest size")

// TestHostileScriptsCostLittle: a script is parsed or refused in little time, whatever is in
// it; the parser of YAML needs minutes for some of them.
func TestHostileScriptsCostLittle(t *testing.T) {
	parse := func(text string) time.Duration {
		began := time.Now()
		ParseScript([]byte(text)) //nolint:errcheck // accepted or refused
		return time.Since(began)
	}
	fill := func(size int, head, piece string) string {
		return head + strings.Repeat(piece, (size-len(head))/len(piece))
	}
	size := maxScript / 4 // what takes minutes for the largest script takes seconds for this one
	if *allPairs {
		size = maxScript
	}
	honest := 50 * time.Millisecond
	for range 3 {
		honest = max(honest, parse(fill(size, "rules:\n", "  - when: {exact: a}\n    steps:\n      - say: Hello\n")))
	}
	cheap := func(size int, head, piece string) {
		text := fill(size, head, piece)
		took := parse(text)
		if took > 20*honest { // once more: what else runs on the machine may have taken the time
			took = min(took, parse(text))
		}
		if took > 20*honest {
			t.Errorf("%q and %d bytes of %q take %v, an honest script %v", head, size, piece, took, honest)
		}
	}
	heads := []string{"rules: ", "hear: [", "hear: {", "rules:\n  - "}
	for i, piece := range []string{
		"a,", "[", "[]", "[],", "{", "a: ", "- ", "? ", "&a ", "!!a ", "*a ", "\n- ", "\n", "\n-\n ", `"`, "'", "|\n", ": ", "{}", "a: b, ", "# ", "---\n",
		"%YAML 1.1\n", "<<: *a\n", "\n? a\n: b", "{a: b},", "&a [*a],", "- a\n", "\t", "-\t", "[-\n",
	} {
		for n, head := range heads {
			if *allPairs || n == i%len(heads) {
				cheap(size, head, piece)
			}
		}
		cheap(1<<20, heads[0], piece)
	}
}

// TestAliasesDoNotMultiply what is in a script: nine lists of ten aliases each are a billion values.
func TestAliasesDoNotMultiply(t *testing.T) {
	text := "rules:\n- when: {any: true}\n  steps:\n  - segment:\n      type: text\n      content:\n        a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 5 {
		text += fmt.Sprintf("        a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	if _, err := ParseScript([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 8") {
		t.Errorf("accepted: %v", err)
	}
	if _, err := ParseScript([]byte("rules: [{when: {exact: \"*a\"}, steps: [{say: \"*a* & b\"}]}]")); err != nil {
		t.Error(err)
	}
}

// TestTemplatesDoNotMultiply what a visitor sends.
func TestTemplatesDoNotMultiply(t *testing.T) {
	vars := map[string]any{"a": strings.Repeat("x", 100_000)}
	if got := len(Render(strings.Repeat("{{a}}", 10_000)+".", vars)); got > maxRendered+1 || got < maxRendered/2 {
		t.Errorf("%d bytes", got)
	}
	if got := Render("{{a}}{{b}}", map[string]any{"a": "x", "b": "y"}); got != "xy" {
		t.Errorf("got %q", got)
	}
}
