// Command maketest runs everything that `make test` promises: linters, native
// tests under the race detector, the tests that need a page in headless
// Chromium, a short run of every fuzz target, the tests of the npm package, and
// the checks of what the WebAssembly files hold. It ends with one plain line of
// totals.
//
// A stage that fails does not stop the others: one run shows all that is wrong.
// It knows how to start programs and how to count, and nothing of what they
// test.
//
// Usage:
//
//	go run ./internal/maketest            # every stage
//	go run ./internal/maketest lint fuzz  # some of them
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// stage is one part of the run. It reports what it counted; an error fails the
// stage even when every test in it passed.
type stage struct {
	name string
	run  func(context.Context) (totals, error)
}

// totals counts tests, and checks that are not tests (a linter, a build) as
// one each.
type totals struct{ passed, failed, skipped int }

func (t *totals) add(u totals) {
	t.passed += u.passed
	t.failed += u.failed
	t.skipped += u.skipped
}

func stages() []stage {
	return []stage{
		{"lint", lint},
		{"sizes", sizes},
		{"native", nativeTests},
		{"wasm", wasmTests},
		{"npm", npmTests},
		{"fuzz", fuzzTargets},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, only []string) int {
	all := stages()
	for _, name := range only {
		if !slices.ContainsFunc(all, func(s stage) bool { return s.name == name }) {
			fmt.Fprintf(os.Stderr, "maketest: there is no stage %q\n", name)
			return 2
		}
	}
	var sum totals
	for _, s := range all {
		if len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
		if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, "maketest: interrupted")
			return 130
		}
		fmt.Printf("\n== %s\n", s.name)
		start := time.Now()
		got, err := s.run(ctx)
		if err != nil {
			fmt.Printf("%s: %v\n", s.name, err)
			if got.failed == 0 {
				got.failed = 1
			}
		}
		sum.add(got)
		fmt.Printf("-- %s: %d passed, %d failed, %d skipped in %s\n",
			s.name, got.passed, got.failed, got.skipped, time.Since(start).Round(100*time.Millisecond))
	}
	// The one line that people and build servers read.
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	if sum.failed > 0 || sum.passed == 0 {
		return 1
	}
	return 0
}
