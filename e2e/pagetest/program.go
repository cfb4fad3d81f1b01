package pagetest

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// StartProgram builds a program of the module above and runs it until the test ends, with stdin
// as its standard input. It returns the address that the program prints after mark.
func StartProgram(t *testing.T, dir, mark, stdin string, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := Build(t.Context(), dir, program); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // the error is that of the context
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, address, found := strings.Cut(lines.Text(), mark); found {
			return strings.Fields(address)[0]
		}
	}
	t.Fatalf("%s did not say what to open: %s", dir, &log)
	return ""
}
