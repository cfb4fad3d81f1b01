// Package nodetest runs scripts in Node.js for tests against the official Socket.IO
// client and server. The expected results belong in the tests, not in this package.
package nodetest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	// patience bounds the wait for a script to exit after its input was closed.
	patience = 30 * time.Second
	// maxLine bounds one line of a script's output.
	maxLine = 4 << 20
)

// Modules returns the folder of the npm packages, for the tests of a package two
// folders below the module's root. Without them, or without Node.js, the test is skipped,
// or fails where AGENTRUNTIME_REQUIRE_NODE is set.
func Modules(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../js/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := exec.LookPath("node")
	if missing == nil { // npm writes this file when everything is installed
		_, missing = os.Stat(filepath.Join(dir, ".package-lock.json"))
	}
	if missing != nil {
		say := t.Skipf
		if os.Getenv("AGENTRUNTIME_REQUIRE_NODE") != "" {
			say = t.Fatalf
		}
		say("needs Node.js and the npm packages (npm --prefix js ci): %v", missing)
	}
	return dir
}

// Script is a running script. Writing to it writes to the script's standard input.
type Script struct {
	io.Writer
	ended chan struct{}
}

// Start runs a script whose arguments are the folder of the npm packages and args.
// It calls onLine with each line of the script's output, on a goroutine. At the end of the
// test the script's input is closed, and the script must then exit without an error.
func Start(t testing.TB, script string, onLine func(line string), args ...string) *Script {
	t.Helper()
	cmd := exec.Command("node", append([]string{script, Modules(t)}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &Script{Writer: in, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			onLine(lines.Text())
		}
		if err := lines.Err(); err != nil {
			t.Errorf("read the output of %s: %v", script, err)
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // fails when the script has exited already
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		s.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	})
	return s
}

// Wait waits until the script's output has ended and every line was passed on.
func (s *Script) Wait() { <-s.ended }
