package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

const root = "../.."

// pageRooms are the packages that may import syscall/js; true means that only their _js.go
// files may (rule 1).
var pageRooms = map[string]bool{
	"cmd/wasm":                  false,
	"internal/jsbridge":         false,
	"internal/page":             false,
	"internal/page/programtest": false,
	"internal/fetch":            true,
	"internal/socketio":         true,
	"runtime/media":             true,
	"runtime/completion":        true,
}

type file struct {
	path    string // from the root of the module, with slashes
	dir     string
	name    string
	imports []string
	doc     string // the package comment
	tag     string // the build constraint
}

// files are those of goFiles, read once.
var files []file

func goFiles(t *testing.T) []file {
	t.Helper()
	if files != nil {
		return files
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "build", "dist", "testdata"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f := file{path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), name: d.Name(), doc: parsed.Doc.Text()}
		for _, spec := range parsed.Imports {
			f.imports = append(f.imports, strings.Trim(spec.Path.Value, `"`))
		}
		for line := range strings.Lines(string(source)) {
			if tag, ok := strings.CutPrefix(line, "//go:build "); ok {
				f.tag = strings.TrimSpace(tag)
				break
			}
			if strings.HasPrefix(line, "package ") {
				break
			}
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("found no Go files")
	}
	return files
}

func TestOnlyPageRoomsImportSyscallJS(t *testing.T) {
	for _, f := range goFiles(t) {
		if !slices.Contains(f.imports, "syscall/js") || strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		halves, ok := pageRooms[f.dir]
		switch {
		case !ok:
			t.Errorf("%s imports syscall/js: session logic is plain Go (rule 1)", f.path)
		case halves && !strings.HasSuffix(f.name, "_js.go"):
			t.Errorf("%s imports syscall/js: in this package only _js.go files may", f.path)
		}
	}
}

func TestPlatformFilesCarryTheirTag(t *testing.T) {
	for _, f := range goFiles(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(f.name, ".go"), "_test")
		switch {
		case strings.HasSuffix(base, "_js") && f.tag != "js && wasm":
			t.Errorf("%s has the build constraint %q, want %q", f.path, f.tag, "js && wasm")
		case strings.HasSuffix(base, "_native") && f.tag != "!js":
			t.Errorf("%s has the build constraint %q, want %q", f.path, f.tag, "!js")
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	const least = 60 // characters; a shorter comment only repeats the name
	docs := map[string]string{}
	for _, f := range goFiles(t) {
		if _, ok := docs[f.dir]; !ok {
			docs[f.dir] = ""
		}
		docs[f.dir] += f.doc
	}
	for dir, doc := range docs {
		if len(doc) < least {
			t.Errorf("package %s has no comment that says what it is for and what it must not know", dir)
		}
	}
}

// TestArchitectureNamesEveryRoom checks that every package (room) is in one of the lists
// of docs/architecture.md.
func TestArchitectureNamesEveryRoom(t *testing.T) {
	source := must.Get(os.ReadFile(filepath.Join(root, "docs", "architecture.md")))(t)
	named := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		if first, _, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": "); ok && strings.HasPrefix(line, "- ") {
			for name := range strings.SplitSeq(first, ", ") {
				named[strings.Trim(name, "`")] = true
			}
		}
	}
	for _, f := range goFiles(t) {
		parts := strings.Split(f.dir, "/")
		room := strings.Join(parts[:min(2, len(parts))], "/")
		switch {
		case !named[room] && !named[parts[0]]:
			t.Errorf("docs/architecture.md has no row for %s", room)
		case room == "internal/localservice" && len(parts) > 2 && !named[parts[2]]:
			t.Errorf("docs/architecture.md has no row for %s in the list of the local service", parts[2])
		}
	}
}

// TestSessionCodeStandsApart checks the directions of imports: the runtime never imports
// the local service, and the service shares declarations with the runtime but no session
// logic (rule 10).
func TestSessionCodeStandsApart(t *testing.T) {
	const module = "github.com/agentruntime/agentruntime/"
	shared := []string{"runtime/signaling", "runtime/converse"}
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		for _, path := range f.imports {
			path, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			switch {
			case strings.HasPrefix(f.dir, "runtime/") && strings.HasPrefix(path, "internal/localservice"):
				t.Errorf("%s imports %s: a session knows nothing of the local service", f.path, path)
			case strings.HasPrefix(f.dir, "internal/localservice") && strings.HasPrefix(path, "runtime/") && !slices.Contains(shared, path):
				t.Errorf("%s imports %s: the service shares only %v with the runtime", f.path, path, shared)
			case strings.HasPrefix(f.dir, "internal/localservice") && within(path, "management"):
				t.Errorf("%s imports %s: the service and its client are written from the same document, not from each other", f.path, path)
			case within(f.dir, "management") && (strings.HasPrefix(path, "internal/localservice") || strings.HasPrefix(path, "cmd/")):
				t.Errorf("%s imports %s: the client knows the service by its document only", f.path, path)
			case strings.HasPrefix(f.dir, "runtime/") && within(path, "management"):
				t.Errorf("%s imports %s: a session must not hold an admin secret", f.path, path)
			case strings.HasPrefix(f.dir, "internal/socketio") && (strings.HasPrefix(path, "runtime/") && path != "runtime/httpclient" || strings.HasPrefix(path, "internal/localservice")):
				t.Errorf("%s imports %s: a transport knows nobody above it", f.path, path)
			}
		}
	}
}

// within reports whether dir is room or a directory below it.
func within(dir, room string) bool { return dir == room || strings.HasPrefix(dir, room+"/") }

// TestServersHaveTimeLimits: only package pageserver makes HTTP servers, because those of
// net/http have no time limits of their own.
func TestServersHaveTimeLimits(t *testing.T) {
	unlimited := []string{"http.Server{", "http.ListenAndServe", "http.Serve("}
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.name, "_test.go") || f.dir == "pageserver" {
			continue
		}
		source := must.Get(os.ReadFile(filepath.Join(root, f.path)))(t)
		for _, text := range unlimited {
			if strings.Contains(string(source), text) {
				t.Errorf("%s has %s: use pageserver.Limits", f.path, text)
			}
		}
	}
}

// TestNoRandomNumberIsOfTheBuild: a program for the page is started when it is built
// (tools/wasm/link), so that what the initialisation of a package draws is the same in every page.
func TestNoRandomNumberIsOfTheBuild(t *testing.T) {
	for _, f := range goFiles(t) {
		if !strings.HasPrefix(f.dir, "runtime") && !strings.HasPrefix(f.dir, "internal") || strings.HasSuffix(f.name, "_test.go") || f.tag == "!js" || !slices.Contains(f.imports, "math/rand/v2") {
			continue
		}
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join(root, f.path), nil, 0))(t)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if what, ok := call.Fun.(*ast.SelectorExpr); ok {
					if pkg, ok := what.X.(*ast.Ident); ok && pkg.Name == "rand" {
						t.Errorf("%s draws a random number when the package is initialised; use sync.OnceValue", f.path)
					}
				}
			}
			switch n.(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				return false
			}
			return true
		})
	}
}
