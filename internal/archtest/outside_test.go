package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamplesCompileOutsideTheModule: what a reader of pkg.go.dev copies into a program of
// their own must compile there.
func TestExamplesCompileOutsideTheModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the examples of every package")
	}
	dir := t.TempDir()
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/agentruntime/agentruntime"
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// With the same versions, so that nothing is looked up.
	own := strings.Replace(string(mod), "module "+path, "module example.com/outside", 1) +
		"\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + module + "\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), []byte(own))
	write(t, filepath.Join(dir, "go.sum"), sum)
	found := 0
	for _, f := range goFiles(t) {
		if f.name != "example_native_test.go" {
			continue
		}
		found++
		source, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
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
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
