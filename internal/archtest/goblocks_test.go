package archtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// goDocs are the documents with Go code blocks, with the imports and declarations that the
// blocks assume.
var goDocs = map[string]struct {
	imports []string
	names   string
}{
	"docs/management.md": {
		[]string{"context", "errors", "fmt", "net/http", "MODULE/management", "MODULE/management/tokenserver", "MODULE/runtime/fault"},
		`var (
			ctx       context.Context
			err       error
			agentID   string
			client    *management.Client
			fromVault func(context.Context) (string, error)
			sessions  interface{ UserID(*http.Request) (string, error) }
		)`,
	},
	"docs/chat.md": {
		[]string{"context", "log/slog", "net/http", "github.com/pion/webrtc/v4", "MODULE/runtime/appinit", "MODULE/runtime/av", "MODULE/runtime/avatar", "MODULE/runtime/chat", "MODULE/runtime/event", "MODULE/runtime/session"},
		`var (
			ctx    context.Context
			traced *http.Client
			listen func(event.Event)
			access *appinit.Result
			watch  func(*webrtc.TrackRemote)
		)`,
	},
	"docs/recording.md": {
		[]string{"context", "os", "testing", "MODULE/runtime/avatar", "MODULE/runtime/record", "MODULE/runtime/replay"},
		`var (
			ctx context.Context
			o   avatar.Options
			t   *testing.T
		)`,
	},
	"README.md": {
		[]string{"testing", "github.com/pion/webrtc/v4", "MODULE/agenttest", "MODULE/runtime/av", "MODULE/runtime/avatar"},
		`var t *testing.T`,
	},
	"docs/local-service.md": {
		[]string{"testing", "MODULE/agenttest"},
		`var t *testing.T`,
	},
}

// A block of Go in a document compiles. js/test/docs.test.ts checks those of other
// languages.
func TestGoInTheDocsCompiles(t *testing.T) {
	root := must.Get(filepath.Abs("../.."))(t)
	documents := must.Get(filepath.Glob(filepath.Join(root, "docs/*.md")))(t)
	// The package exists in the compiler's overlay only.
	dir := filepath.Join(root, "internal/archtest/blocks")
	overlay := map[string]map[string]string{"Replace": {}}
	tmp := t.TempDir()
	var packages []string
	block := regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	for _, document := range append(documents, filepath.Join(root, "README.md")) {
		text := must.Get(os.ReadFile(document))(t)
		name, _ := filepath.Rel(root, document)
		given, known := goDocs[filepath.ToSlash(name)]
		found := block.FindAllSubmatchIndex(text, -1)
		if known != (len(found) > 0) {
			t.Errorf("%s has %d blocks of Go, and goDocs has it: %v", name, len(found), known)
		}
		if len(found) == 0 {
			continue
		}
		var code strings.Builder
		fmt.Fprintf(&code, "package blocks\n")
		for _, path := range given.imports {
			fmt.Fprintf(&code, "import %q\n", strings.Replace(path, "MODULE", "github.com/agentruntime/agentruntime", 1))
		}
		fmt.Fprintln(&code, given.names)
		for i, at := range found {
			body := strings.ReplaceAll(string(text[at[2]:at[3]]), "{ … }", "{ }")
			line := 1 + strings.Count(string(text[:at[2]]), "\n")
			fmt.Fprintf(&code, "func block%d() error {\n//line %s:%d\n%s\nreturn nil\n}\n", i, name, line, body)
		}
		file := filepath.Join(tmp, fmt.Sprintf("%d.go", len(packages)))
		must.Do(t, os.WriteFile(file, []byte(code.String()), 0o600))
		pkg := filepath.Join(dir, fmt.Sprint(len(packages)))
		packages = append(packages, pkg)
		overlay["Replace"][filepath.Join(pkg, "blocks.go")] = file
	}
	list := must.Get(json.Marshal(overlay))(t)
	file := filepath.Join(tmp, "overlay.json")
	must.Do(t, os.WriteFile(file, list, 0o600))
	args := []string{"build", "-overlay", file}
	args = append(args, sameFlags()...)
	cmd := exec.Command("go", append(append(args, "-gcflags=-e"), packages...)...)
	cmd.Dir = root
	out, _ := cmd.CombinedOutput()
	// Blocks may declare variables without using them.
	unused := regexp.MustCompile(`declared and not used|imported and not used|^# |^$`)
	for _, line := range strings.Split(string(out), "\n") {
		if !unused.MatchString(line) {
			t.Error(line)
		}
	}
}

// sameFlags are the flags that this test was compiled with, for other calls of the go command:
// what they compile is then in the build cache.
func sameFlags() (flags []string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "-race" || setting.Key == "-gcflags" {
				flags = append(flags, setting.Key+"="+setting.Value)
			}
		}
	}
	return flags
}
