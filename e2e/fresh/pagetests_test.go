package fresh

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/agentruntime/agentruntime/internal/browsertest"
)

// nodeArch are Node's names of processors where Go has others.
var nodeArch = map[string]string{"amd64": "x64"}

// TestPagesOwnTests runs the tests of example/testing, in Vitest and in Playwright, with the
// packages as they would be published: agentruntime, agentruntime-local and the
// program of this platform.
func TestPagesOwnTests(t *testing.T) {
	file, err := tarball()
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := browsertest.Find()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // the program is compiled without what earlier builds left
	t.Cleanup(cancel)
	arch := runtime.GOARCH
	if name, other := nodeArch[arch]; other {
		arch = name
	}
	p := &project{t, ctx, "../.."}
	p.run("node", "js/local/build.mjs", runtime.GOOS+"-"+arch)
	packages, err := filepath.Glob("../../build/packages/*.tgz")
	if err != nil || len(packages) != 2 {
		t.Fatalf("packages %q, %v", packages, err)
	}
	install := []string{"npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", file}
	for _, name := range packages {
		absolute, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		install = append(install, absolute)
	}
	p.dir = t.TempDir()
	if err := os.CopyFS(p.dir, os.DirFS("../../example/testing")); err != nil {
		t.Fatal(err)
	}
	p.run(install...)
	p.run("npm", "test")
	t.Setenv("CHROME", chrome)
	p.run("npm", "run", "e2e")
}
