package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// testTimeout ends a package that hangs, long before a build server would.
	testTimeout = "8m"
	// waitDelay bounds how long an interrupted program may hold its pipes.
	waitDelay = 5 * time.Second
	// toolDir is where the linters are built; they run for two targets, so
	// `go tool`, which would build them for the page, can't be used.
	toolDir = "build/tools"
)

// jsEnv is the target of the code that runs in a page.
var jsEnv = []string{"GOOS=js", "GOARCH=wasm"}

// pageCode is what is compiled for the page.
var pageCode = []string{
	"./cmd/chatwasm/...", "./cmd/wasm/...", "./runtime/...",
	"./internal/fetch/...", "./internal/jsbridge/...", "./internal/jsonbounds/...", "./internal/page/...",
	"./internal/socketio/...",
}

func lint(ctx context.Context) (totals, error) {
	for _, pkg := range []string{"honnef.co/go/tools/cmd/staticcheck", "mvdan.cc/gofumpt"} {
		if err := command(ctx, nil, "go", "build", "-modfile=tools/go.mod", "-o", toolDir+"/", pkg); err != nil {
			return totals{}, err
		}
	}
	var sum totals
	for _, c := range []struct {
		name string
		env  []string
		argv []string
	}{
		{"gofumpt", nil, []string{toolDir + "/gofumpt", "-l", "."}},
		{"go vet", nil, []string{"go", "vet", "./..."}},
		{"go vet for the page", jsEnv, append([]string{"go", "vet"}, pageCode...)},
		{"staticcheck", nil, []string{toolDir + "/staticcheck", "./..."}},
		{"staticcheck for the page", jsEnv, append([]string{toolDir + "/staticcheck"}, pageCode...)},
		{"tsc", nil, []string{"npm", "--prefix", "js", "run", "--silent", "check"}},
	} {
		if err := quiet(ctx, c.env, c.argv...); err != nil {
			fmt.Printf("fail %s: %v\n", c.name, err)
			sum.failed++
			continue
		}
		fmt.Printf("ok   %s\n", c.name)
		sum.passed++
	}
	return sum, nil
}

func nativeTests(ctx context.Context) (totals, error) {
	return goTest(ctx, nil, "-race", "-timeout", testTimeout, "./...")
}

// wasmTests runs the tests of every package that is compiled for the page in
// headless Chromium.
func wasmTests(ctx context.Context) (totals, error) {
	packages, err := pageTestPackages(ctx)
	if err != nil {
		return totals{}, err
	}
	runner, err := filepath.Abs("tools/wasm/exec")
	if err != nil {
		return totals{}, err
	}
	return goTest(ctx, jsEnv, append([]string{"-exec", runner, "-timeout", testTimeout}, packages...)...)
}

// pageTestPackages lists the packages with tests that compile for the page. Left
// out are those whose tests need a server beside the page: a native test of theirs
// starts both.
func pageTestPackages(ctx context.Context) ([]string, error) {
	out, err := output(ctx, jsEnv, append([]string{"go", "list", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}`}, pageCode...)...)
	if err != nil {
		return nil, err
	}
	var packages []string
	for line := range strings.Lines(out) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		own, err := runsItsOwnPageTests(dir)
		if err != nil {
			return nil, err
		}
		if !own {
			packages = append(packages, name)
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("no package has tests for the page")
	}
	return packages, nil
}

// selfRunning marks the native test that runs its package's tests in a page.
var selfRunning = regexp.MustCompile(`(?m)^func Test\w*InChromium\(`)

// runsItsOwnPageTests reports whether a native test in dir runs the package's
// tests in a page.
func runsItsOwnPageTests(dir string) (bool, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil || selfRunning.Match(source) {
			return err == nil, err
		}
	}
	return false, nil
}

func npmTests(ctx context.Context) (totals, error) {
	out, err := output(ctx, nil, "npm", "--prefix", "js", "run", "--silent", "test")
	sum := countTAP(out)
	if err == nil && sum.passed == 0 {
		err = errors.New("no test of the package has run")
	}
	if err != nil {
		fmt.Print(out)
	}
	return sum, err
}

// countTAP reads the closing lines of node's test runner, "# pass 12".
func countTAP(out string) totals {
	var sum totals
	for line := range strings.Lines(out) {
		for prefix, n := range map[string]*int{"# pass ": &sum.passed, "# fail ": &sum.failed, "# skipped ": &sum.skipped} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				fmt.Sscanf(rest, "%d", n)
			}
		}
	}
	return sum
}

// sizes prints what the WebAssembly files weigh and holds their budgets.
func sizes(ctx context.Context) (totals, error) {
	if err := command(ctx, nil, "npm", "--prefix", "js", "run", "--silent", "sizes"); err != nil {
		return totals{}, err
	}
	return totals{passed: 1}, nil
}

// command runs argv with its output shown.
func command(ctx context.Context, env []string, argv ...string) error {
	cmd := prepare(ctx, env, argv)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

// quiet runs argv, for which any output is a finding.
func quiet(ctx context.Context, env []string, argv ...string) error {
	var out bytes.Buffer
	cmd := prepare(ctx, env, argv)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if out.Len() > 0 {
		fmt.Print(out.String())
		err = errors.Join(err, errors.New("it found something"))
	}
	return err
}

// output returns what argv prints; its errors are shown.
func output(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := prepare(ctx, env, argv)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return string(out), err
}

func prepare(ctx context.Context, env, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it may have programs of its own to end
	cmd.WaitDelay = waitDelay
	return cmd
}
