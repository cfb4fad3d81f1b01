//go:build !js

package chromium

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Lines of go test -v.
var (
	passed = regexp.MustCompile(`(?m)^ *(=== \w+|--- PASS:) .*\n`)
	failed = regexp.MustCompile(`(?m)^ *--- FAIL: .*\n`)
)

// GoTest runs the tests of the package under test that are compiled for GOOS=js, in
// Chromium. It is called by a native test that starts a server for them and passes its
// address in env ("NAME=value"). It returns their output, and fails t unless all of them
// ran and passed, with the output of those that did not.
func GoTest(t *testing.T, env ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	module, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	wasm := filepath.Join(filepath.Dir(string(module)), "tools", "wasm")
	cmd := exec.CommandContext(t.Context(), filepath.Join(wasm, "env"), "go", "test", "-count=1", "-v", "-timeout=10m", "-exec", filepath.Join(wasm, "exec"), ".")
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the interrupted program ends the browser
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		// The names come last, where an excerpt of a long output still has them.
		t.Fatalf("%v\n%s%s", err, passed.ReplaceAll(out, nil), bytes.Join(failed.FindAll(out, -1), nil))
	}
	for _, complaint := range []string{"--- SKIP", "released function"} {
		if strings.Contains(string(out), complaint) {
			t.Errorf("the page says %q:\n%s", complaint, out)
		}
	}
	return string(out)
}
