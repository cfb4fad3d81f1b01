package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// fuzzTime is the short run of each fuzz target; long ones are for people.
const fuzzTime = "2s"

// fuzzTarget finds the fuzz targets of a file. Asking `go test -list` instead
// would build every test of the project once more, without the race detector.
var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// fuzzPackage is a package with fuzz targets.
type fuzzPackage struct {
	name, dir string
	targets   []string
}

// fuzzTargets runs each fuzz target for a moment, beyond its seed corpus: as
// many packages at once as there are processors, with one worker each.
func fuzzTargets(ctx context.Context) (totals, error) {
	packages, err := fuzzPackages(ctx)
	if err != nil {
		return totals{}, err
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	sums, errs := make([]totals, len(packages)), make([]error, len(packages))
	for i, p := range packages {
		slots <- struct{}{}
		running.Go(func() {
			sums[i], errs[i] = p.fuzz(ctx)
			<-slots
		})
	}
	running.Wait()
	var sum totals
	for _, s := range sums {
		sum.add(s)
	}
	return sum, errors.Join(errs...)
}

// fuzzPackages lists the packages that have fuzz targets.
func fuzzPackages(ctx context.Context) ([]fuzzPackage, error) {
	out, err := output(ctx, nil, "go", "list", "-f", `{{.ImportPath}} {{.Dir}}{{range .TestGoFiles}} {{.}}{{end}}`, "./...")
	if err != nil {
		return nil, err
	}
	var packages []fuzzPackage
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		p := fuzzPackage{name: words[0], dir: words[1]}
		for _, file := range words[2:] {
			source, err := os.ReadFile(filepath.Join(p.dir, file))
			if err != nil {
				return nil, err
			}
			for _, match := range fuzzTarget.FindAllSubmatch(source, -1) {
				p.targets = append(p.targets, string(match[1]))
			}
		}
		if len(p.targets) > 0 {
			packages = append(packages, p)
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("no package has a fuzz target")
	}
	return packages, nil
}

// fuzz builds the tests of the package once, for all its targets, which `go test
// -fuzz` would link again for each, and runs the targets.
func (p fuzzPackage) fuzz(ctx context.Context) (totals, error) {
	scratch, err := os.MkdirTemp("", "maketest-fuzz-")
	if err != nil {
		return totals{}, err
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "fuzz.test")
	if err := command(ctx, nil, "go", "test", "-c", "-fuzz", ".", "-ldflags", "-s -w", "-o", binary, p.name); err != nil {
		return totals{failed: len(p.targets)}, err
	}
	var sum totals
	for _, target := range p.targets {
		cmd := prepare(ctx, nil, []string{
			"go", "tool", "test2json", "-t", "-p", p.name,
			binary, "-test.v=test2json", "-test.run", "^$", "-test.fuzz", "^" + target + "$",
			"-test.fuzztime", fuzzTime, "-test.parallel", "1", "-test.timeout", testTimeout,
			// Go's own cache keeps what earlier runs found. It grows until trying all
			// that again takes longer than fuzzTime, and nothing new is tried.
			"-test.fuzzcachedir", filepath.Join(scratch, "corpus"),
			// Nor is the time spent on making the first input that reached new code
			// smaller, for which go test allows a minute.
			"-test.fuzzminimizetime", "0x",
		})
		cmd.Dir = p.dir // holds the seed corpus, and takes the inputs that fail
		var out bytes.Buffer
		got, err := countRun(cmd, &out)
		if err != nil && timeUp(out.String()) {
			got, err = totals{passed: 1}, nil
			out.Reset()
			fmt.Fprintf(&out, "pass %s %s\n", p.name, fuzzTime)
		}
		if _, err := out.WriteTo(os.Stdout); err != nil {
			return sum, err
		}
		if err != nil && got.failed == 0 {
			got.failed = 1
		}
		sum.add(got)
	}
	return sum, nil
}

// timeUp reports whether a target is said to have failed because its time was over,
// for which the testing package now and then takes it: no input failed then.
func timeUp(out string) bool {
	return strings.Contains(out, "\n    context deadline exceeded\n") &&
		!strings.Contains(out, "Failing input") && !strings.Contains(out, "failure while testing")
}
