package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestCountsTestsAndShowsFailures(t *testing.T) {
	out := `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"quiet\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    a_test.go:7: measured: 12 ms\n"}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestBad","Output":"loud\n"}
{"Action":"fail","Package":"p","Test":"TestBad","Elapsed":0.1}
{"Action":"skip","Package":"p","Test":"TestLater","Elapsed":0}
{"Action":"fail","Package":"p","Elapsed":0.3}
not an event
{"Action":"fail","Package":"unbuilt","Elapsed":0}
{"Action":"skip","Package":"empty","Elapsed":0}
`
	var shown strings.Builder
	c := newCounter(func(line string) { shown.WriteString(line) })
	must.Do(t, c.read(strings.NewReader(out)))
	// The failed package doesn't count as another failure, the broken build does.
	expect.Equal(t, c.totals, (totals{passed: 1, failed: 2, skipped: 1}), "counted")
	want := "measured: 12 ms\nloud\nskip p TestLater\nfail p 0.3s\nnot an event\nfail unbuilt 0.0s\n"
	if shown.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", shown.String(), want)
	}
}

// What may run again is decided by the module and by the reason.
func TestWhatMayRunAgain(t *testing.T) {
	out := `{"Action":"output","Package":"m/e2e/p","Test":"TestSlow/once","Output":"too late\n"}
{"Action":"fail","Package":"m/e2e/p","Test":"TestSlow/once"}
{"Action":"fail","Package":"m/e2e/p","Test":"TestSlow"}
{"Action":"output","Package":"m/e2e/p","Test":"TestRace","Output":"    testing.go:1712: race detected during execution of test\n"}
{"Action":"fail","Package":"m/e2e/p","Test":"TestRace"}
{"Action":"output","Package":"m/e2e/p","Test":"TestPanic","Output":"panic: no\n"}
{"Action":"fail","Package":"m/e2e/p","Test":"TestPanic"}
{"Action":"fail","Package":"m/runtime/p","Test":"TestOfVirtualTime"}
`
	c := newCounter(func(string) {})
	must.Do(t, c.read(strings.NewReader(out)))
	expect.List(t, c.again, []string{"TestSlow/once", "TestSlow"}, "may run again")
	expect.List(t, topLevel(c.again), []string{"TestSlow"}, "run again")
}

// The tests of unsteady fail once, those of broken always; what runs again has no other tests.
func TestFailedTestsRunOnceMore(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MAKEFLAGS", "")
	event := func(action, test string) string {
		return `echo '{"Action":"` + action + `","Package":"m/e2e/p","Test":"` + test + `"}'`
	}
	makefile := "unsteady:\n\t@echo \"$(ONLY)\" >>ran\n\t@if test -e once; then " + event("pass", "TestA") + "; else touch once; " + event("pass", "TestB") + "; " + event("fail", "TestA") + "; exit 1; fi\n" +
		"broken:\n\t@echo broken >>ran\n\t@" + event("fail", "TestC") + "; exit 1\n"
	must.Do(t, os.WriteFile("Makefile", []byte(makefile), 0o600))
	var out strings.Builder
	got := runAll(t.Context(), []string{"unsteady", "broken"}, 1, &out)
	if want := (totals{passed: 1, failed: 1, unsteady: 1}); got != want {
		t.Errorf("counted %v, want %v:\n%s", got, want, out.String())
	}
	if want := "unsteady: TestA failed beside other tests, and passed when they ran again\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("the end of this is not %q:\n%s", want, out.String())
	}
	ran := must.Get(os.ReadFile("ran"))(t)
	expect.Equal(t, string(ran), "\nbroken\nbroken\n-count 1 -run '^(TestA)$'\n", "make ran %q", ran)
}

func TestTargetsAddUp(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MAKEFLAGS", "")
	makefile := "good:\n\t@true\nbad:\n\t@false\nnode:\n\t@printf 'ok 1 - a\\n# tests 4\\n# pass 2\\n# fail 1\\n# skipped 1\\n'; exit 1\n"
	must.Do(t, os.WriteFile("Makefile", []byte(makefile), 0o600))
	var out strings.Builder
	if got, want := runAll(t.Context(), []string{"good", "bad", "node"}, 2, &out), (totals{passed: 3, failed: 2, skipped: 1}); got != want {
		t.Errorf("counted %v, want %v:\n%s", got, want, out.String())
	}
}

// Targets that run beside whole pages must not write the files that these pages load, and those with
// tests that may run again must take ONLY.
func TestPartsOfTheMakefile(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("MAKEFLAGS", "")
	makefile := must.Get(os.ReadFile("Makefile"))(t)
	parts := 0
	for _, command := range regexp.MustCompile(`go run \./internal/maketest (.*)`).FindAllSubmatch(makefile, -1) {
		for _, target := range strings.Fields(string(command[1])) {
			if target == "then" || target == "build" {
				continue
			}
			parts++
			out, err := exec.CommandContext(t.Context(), "make", "--dry-run", target, "ONLY=-run TestOne").CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", target, err, out)
			}
			if bytes.Contains(out, []byte("npm --prefix js run --silent build")) {
				t.Errorf("make %s builds js/dist/, which the targets beside it read", target)
			}
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "cd e2e && ") && strings.Contains(line, " go test ") && !strings.HasSuffix(line, " -run TestOne\n") {
					t.Errorf("make %s does not take ONLY: %s", target, line)
				}
			}
		}
	}
	if parts == 0 {
		t.Error("no target found in the Makefile")
	}
}
