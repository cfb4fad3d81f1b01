package fresh

import (
	"context"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/chromium"
	"github.com/agentruntime/agentruntime/internal/must"
)

// nodeArch are Node's names of processors where Go has others.
var nodeArch = map[string]string{"amd64": "x64"}

// TestPagesOwnTests runs the tests of example/testing, in Vitest and in Playwright, with the
// packages as they would be published: agentruntime, agentruntime-local and the
// program of this platform.
func TestPagesOwnTests(t *testing.T) {
	file := must.Get(tarball())(t)
	chrome := must.Get(chromium.Find())(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // the program is compiled without what earlier builds left
	t.Cleanup(cancel)
	arch := runtime.GOARCH
	if name, other := nodeArch[arch]; other {
		arch = name
	}
	p := &project{t: t, ctx: ctx, dir: "../.."}
	p.run("node", "js/local/build.mjs", runtime.GOOS+"-"+arch)
	wantNotices(t, "../../build/packages/agentruntime-local-"+runtime.GOOS+"-"+arch)
	packages, err := filepath.Glob("../../build/packages/*.tgz")
	if err != nil || len(packages) != 2 {
		t.Fatalf("packages %q, %v", packages, err)
	}
	install := []string{"npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", file}
	for _, name := range packages {
		absolute := must.Get(filepath.Abs(name))(t)
		install = append(install, absolute)
	}
	p.dir = t.TempDir()
	must.Do(t, os.CopyFS(p.dir, os.DirFS("../../example/testing")))
	p.run(install...)
	p.run("npm", "test")
	t.Setenv("CHROME", chrome)
	p.run("npm", "run", "e2e")
}

// wantNotices checks that the package of the local service's program, in dir, has the
// licence of every module that is linked into the program.
func wantNotices(t *testing.T, dir string) {
	t.Helper()
	notices := must.Get(os.ReadFile(filepath.Join(dir, "THIRD-PARTY-NOTICES.txt")))(t)
	file := "localservice"
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	info := must.Get(buildinfo.ReadFile(filepath.Join(dir, file)))(t)
	if len(info.Deps) < 10 {
		t.Errorf("the program has %d modules of others", len(info.Deps))
	}
	parts := []string{"Go " + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		parts = append(parts, m.Path+" "+m.Version)
	}
	for _, part := range parts {
		_, text, found := strings.Cut(string(notices), "\n"+part+"\n")
		text, _, _ = strings.Cut(text, "\n"+strings.Repeat("-", 80)+"\n")
		if !found || !strings.Contains(text, "Copyright") && !strings.Contains(text, "Permission") {
			t.Errorf("there is no notice of %s", part)
		}
	}
}
