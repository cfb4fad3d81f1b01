package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// pion is the module of which the programs for the page have a copy without two files.
const pion = "github.com/pion/webrtc/v4"

// stubModule is a module of tools/wasm/stubs.
type stubModule struct {
	path      string // of the module that it replaces
	functions bool   // whether it declares functions or methods
}

// stubModules returns those that tools/wasm/page.work names.
func stubModules() []stubModule {
	lines, err := os.ReadFile(root + "/tools/wasm/page.work")
	if err != nil {
		panic(err)
	}
	var modules []stubModule
	for _, found := range regexp.MustCompile(`(?m)^\t(\S+) => \.\./\.\./(tools/\S+)$`).FindAllStringSubmatch(string(lines), -1) {
		files, err := filepath.Glob(filepath.Join(root, found[2], "*.go"))
		if err != nil {
			panic(err)
		}
		module := stubModule{path: found[1]}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				panic(err)
			}
			module.functions = module.functions || slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
				_, ok := d.(*ast.FuncDecl)
				return ok
			})
		}
		modules = append(modules, module)
	}
	return modules
}

// The page has the versions of go.mod: what tools/wasm/page.work replaces differs in content only.
func TestThePageHasTheModulesOfGoMod(t *testing.T) {
	const format = "{{if not .Main}}{{.Path}} {{.Version}}"
	native := must.Get(exec.Command("go", "list", "-m", "-f", format+"{{end}}", "all").Output())(t)
	versions := strings.Split(string(native), "\n")
	linked := goTool(t, "list", "-deps", "-f", "{{with .Module}}"+format+"{{if .Replace}} replaced{{end}}{{end}}{{end}}", "../../cmd/wasm", "../../cmd/chatwasm")
	replaced := map[string]bool{}
	for line := range strings.Lines(linked) {
		module, isReplaced := strings.CutSuffix(strings.TrimSpace(line), " replaced")
		if module != "" && !slices.Contains(versions, module) {
			t.Errorf("the page links %s, which is not the version of go.mod", module)
		}
		if isReplaced {
			path, _, _ := strings.Cut(module, " ")
			replaced[path] = true
		}
	}
	want := map[string]bool{pion: true}
	for _, module := range stubModules() {
		want[module.path] = true
	}
	if !maps.Equal(replaced, want) {
		t.Errorf("replaced are %v, want %v", slices.Sorted(maps.Keys(replaced)), slices.Sorted(maps.Keys(want)))
	}
}

// The copy of pion that tools/wasm/env makes is the module, but for the files that are named here.
func TestThePagesPionIsTheModuleButForNamedFiles(t *testing.T) {
	native := must.Get(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", pion).Output())(t)
	module, page := contents(t, strings.TrimSpace(string(native))), contents(t, strings.TrimSpace(goTool(t, "list", "-m", "-f", "{{.Dir}}", pion)))
	differences := map[string]string{}
	for name, content := range module {
		switch got, ok := page[name]; {
		case !ok:
			differences[name] = "left out"
		case !bytes.Equal(got, content):
			differences[name] = "changed"
		}
	}
	for name := range page {
		if _, ok := module[name]; !ok {
			differences[name] = "added"
		}
	}
	want := map[string]string{"certificate.go": "left out", "icemux.go": "left out", "certificate_js.go": "added"}
	if !maps.Equal(differences, want) {
		t.Errorf("differences %v, want %v", differences, want)
	}
}

// The change that is proposed to pion fits the version in go.mod.
func TestTheProposedChangeFitsPion(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	patch := must.Get(filepath.Abs(root + "/docs/upstream/pion-webrtc-nocertificate.patch"))(t)
	native := must.Get(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", pion).Output())(t)
	dir := t.TempDir()
	for name, content := range contents(t, strings.TrimSpace(string(native))) {
		if filepath.Dir(name) != "." {
			continue
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	cmd := exec.Command("git", "apply", "--check", patch)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// contents returns the files below dir by their names from there.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
