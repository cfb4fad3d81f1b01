package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// TestExamplesCompileOutsideTheModule: what a reader of pkg.go.dev copies into a program of
// their own must compile there.
func TestExamplesCompileOutsideTheModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the examples of every package")
	}
	dir := t.TempDir()
	module := must.Get(filepath.Abs(root))(t)
	const path = "github.com/agentruntime/agentruntime"
	mod := must.Get(os.ReadFile(filepath.Join(root, "go.mod")))(t)
	// With the same versions, so that nothing is looked up.
	own := strings.Replace(string(mod), "module "+path, "module example.com/outside", 1) +
		"\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + module + "\n"
	sum := must.Get(os.ReadFile(filepath.Join(root, "go.sum")))(t)
	write(t, filepath.Join(dir, "go.mod"), []byte(own))
	write(t, filepath.Join(dir, "go.sum"), sum)
	found := 0
	for _, f := range goFiles(t) {
		if f.name != "example_native_test.go" {
			continue
		}
		found++
		source := must.Get(os.ReadFile(filepath.Join(root, f.path)))(t)
		write(t, filepath.Join(dir, strings.ReplaceAll(f.dir, "/", "_"), f.name), source)
	}
	if found < 5 {
		t.Fatalf("found %d examples", found)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"vet"}, sameFlags()...), "./...")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, data, 0o644))
}
