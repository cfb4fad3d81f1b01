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

	"github.com/agentruntime/agentruntime/internal/must"
)

// StartProgram builds a program of the module above and runs it until the test ends, with stdin
// as its standard input. It returns the address that the program prints after mark.
func StartProgram(t *testing.T, dir, mark, stdin string, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(dir))
	must.Do(t, Build(t.Context(), dir, program))
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &log
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
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
