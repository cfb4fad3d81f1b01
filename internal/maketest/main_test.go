package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCountEventsCountsTestsAndShowsFailures(t *testing.T) {
	events := `{"Action":"start","Package":"p"}
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
	var out strings.Builder
	got, err := countEvents(strings.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	// The failed package is not one more failure, the broken build is.
	if want := (totals{passed: 1, failed: 2, skipped: 1}); got != want {
		t.Errorf("totals = %+v, want %+v", got, want)
	}
	want := "measured: 12 ms\nloud\nskip p TestLater\nfail p 0.3s\nnot an event\nfail unbuilt 0.0s\n"
	if out.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestFuzzFindsEveryTargetAndKeepsWhatFails(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, source := range map[string]string{
		"go.mod":        "module example.test/fuzz\n",
		"plain_test.go": "package fuzz\n",
		"fuzz_test.go": `package fuzz

import "testing"

func FuzzGood(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }

func FuzzBad(f *testing.F) {
	f.Add("seed")
	f.Fuzz(func(t *testing.T, s string) {
		if s != "seed" {
			t.Fatal("not the seed")
		}
	})
}
`,
	} {
		if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := fuzzTargets(t.Context())
	if want := (totals{passed: 1, failed: 1}); got != want || err != nil {
		t.Errorf("totals = %+v, %v; want %+v", got, err, want)
	}
	if kept, err := filepath.Glob("testdata/fuzz/FuzzBad/*"); err != nil || len(kept) != 1 {
		t.Errorf("kept %q, %v; want one input", kept, err)
	}
}

func TestTheEndOfItsTimeIsNoFailure(t *testing.T) {
	const end = "fuzz: elapsed: 2s, execs: 899 (444/sec)\n--- FAIL: FuzzA (2.03s)\n    context deadline exceeded\nFAIL\n"
	for out, want := range map[string]bool{
		end: true,
		end + "Failing input written to testdata/fuzz/FuzzA/1\n":                      false,
		"failure while testing seed corpus entry: FuzzA/1\n" + end:                    false,
		"--- FAIL: FuzzA (2.03s)\n    a_test.go:7: context deadline exceeded\nFAIL\n": false,
	} {
		if got := timeUp(out); got != want {
			t.Errorf("%v for %q", got, out)
		}
	}
}

func TestCountTAPReadsTheClosingLines(t *testing.T) {
	got := countTAP("ok 1 - a\n# tests 4\n# pass 2\n# fail 1\n# skipped 1\n")
	if want := (totals{passed: 2, failed: 1, skipped: 1}); got != want {
		t.Errorf("totals = %+v, want %+v", got, want)
	}
}
