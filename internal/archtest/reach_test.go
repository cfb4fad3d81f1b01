package archtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// unreachable lists what must never be linked into any program, with the reason; sizes
// are relative to a program with pion, the socket and JSON. The keys are functions as
// the linker prints them, packages including those below them ("path/..."), what packages
// have besides types ("functions of path/..."), and the linker's mark for a function that
// looks up methods by a computed name. The modules in tools/wasm/stubs are added to it.
var unreachable = map[string]string{
	"net/http.(*Transport).RoundTrip":           "the client of net/http is +875 kB brotli; the page has fetch (internal/fetch)",
	"text/template.(*Template).execute":         "+377 kB brotli; put strings together",
	"html/template.(*Template).Execute":         "+377 kB brotli and more; the page renders",
	"<ReflectMethod>":                           "a computed MethodByName keeps every exported method alive, +265 kB brotli",
	"regexp.(*Regexp).doExecute":                "+86 kB brotli; parse by hand",
	"github.com/pion/ice/v4.UnmarshalCandidate": "pion's OnICECandidate is +83 kB brotli; read candidates from the event through JSValue",
	"crypto/x509/...":                           "certificates and the arithmetic for them are +230 kB brotli; the browser has them",
	"log/slog.(*Logger).log":                    "+35 kB brotli; the page's logger gets events",
	ours + "management/...":                     "it holds the admin secret, which must not reach a page",
}

func init() {
	for _, module := range stubModules() {
		if module.functions {
			unreachable[functionsOf+module.path+"/..."] = "the module in tools/wasm/stubs is for types only; its functions do nothing"
		}
	}
}

// unreachableInChat lists what chat.wasm must not contain in addition.
var unreachableInChat = map[string]string{
	"github.com/pion/...":            "peers are for media; a chat-only page must not load them",
	"github.com/coder/websocket/...": "the text of a conversation needs no socket",
	ours + "internal/socketio/...":   "the control socket is the avatar session's",
	ours + "runtime/avatar/...":      "the avatar session is what chat.wasm leaves out",
	ours + "runtime/media/...":       "pictures, voices and microphones are the avatar session's",
	ours + "runtime/signaling/...":   "the wire of the control socket is of no use without it",
	"os.(*File).Write":               "files, which no page has",
}

// The avatar's program uses pion also in a page; a page without an avatar must not load it.
func TestOnlyTheAvatarsProgramHasPion(t *testing.T) {
	for dir, want := range map[string]bool{"../../cmd/wasm": true, "../../cmd/chatwasm": false} {
		watch(t, dir)
		deps := strings.Fields(goTool(t, "list", "-deps", dir))
		expect.Equal(t, slices.Contains(deps, pion), want, "%s depends on %s", dir, pion)
	}
}

const functionsOf = "functions of "

const ours = "github.com/agentruntime/agentruntime/"

// programs are the commands that a page loads, and what each must not reach.
var programs = map[string]map[string]string{
	"../../cmd/wasm":     unreachable,
	"../../cmd/chatwasm": both(unreachable, unreachableInChat),
}

func both(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func TestForbiddenCodeIsUnreachable(t *testing.T) {
	for dir, table := range programs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for _, f := range forbidden(t, table, link(t, dir)) {
				t.Errorf("%s is linked into the program: %s\n\treached by %s", f.row, table[f.row], strings.Join(f.chain, "\n\t<- "))
			}
		})
	}
}

// The tables are useful only if their names are those that the linker prints: the probe uses
// everything in them. It is linked natively, where the names are the same and other tests need its
// packages too: nothing else needs net/http or a template for the page, and to compile them took 30 s of a core.
func TestEveryRowOfTheTableCanFail(t *testing.T) {
	table := both(unreachable, unreachableInChat)
	var found []string
	const probe = "./testdata/probe"
	watch(t, probe)
	dump := output(t, exec.Command("go", slices.Concat([]string{"build"}, sameFlags(), dumping(t, probe))...))
	for _, f := range forbidden(t, table, dump) {
		found = append(found, f.row)
		expect.Equal(t, f.chain[len(f.chain)-1], "_", "the chain of %s ends at", f.row)
	}
	for row := range table {
		if !slices.Contains(found, row) {
			t.Errorf("the probe uses it, but %s was not found", row)
		}
	}
}

// link builds the command in dir for the page and returns the linker's dependency dump:
// lines of the form "symbol <mark> -> symbol <mark>", one for each linked symbol, on the
// right, with the symbol through which it was first reached; "_" is the root.
func link(t *testing.T, dir string) string {
	t.Helper()
	watch(t, dir)
	return goTool(t, append([]string{"build"}, dumping(t, dir)...)...)
}

// dumping are the arguments of go build with which the linker prints its dump.
func dumping(t *testing.T, dir string) []string {
	t.Helper()
	return []string{"-ldflags", "-s -w -dumpdep", "-o", filepath.Join(t.TempDir(), "program"), dir}
}

// watch opens the directories of the packages that dir is built of, so that go test
// doesn't use a cached result when one of their files has changed: files for another
// platform are not inputs of this test otherwise.
func watch(t *testing.T, dir string) {
	t.Helper()
	dirs := goTool(t, "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}", dir)
	for _, dir := range strings.Split(strings.TrimSpace(dirs), "\n") {
		must.Get(os.ReadDir(dir))(t)
	}
}

// goTool runs a go command for the page.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	// What the script reads, so that go test doesn't use a cached result when it has changed.
	for _, name := range []string{"go.mod", "tools/wasm/env", "tools/wasm/goflags", "tools/wasm/page.work"} {
		must.Get(os.ReadFile(filepath.Join(root, name)))(t)
	}
	return output(t, exec.Command(root+"/tools/wasm/env", append([]string{"go"}, args...)...)) // as the released programs are built
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// finding is a row of the table that is linked nevertheless, and the chain from its symbol to
// the root.
type finding struct {
	row   string
	chain []string
}

func forbidden(t *testing.T, table map[string]string, dump string) []finding {
	t.Helper()
	reachedBy := map[string]string{}
	first := map[string]string{} // the first symbol that matches each row
	for line := range strings.Lines(dump) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok {
			continue // the line that names the package
		}
		from, _ = unmark(from)
		to, marks := unmark(to)
		if _, ok := reachedBy[to]; !ok {
			reachedBy[to] = from
		}
		for row := range table {
			if _, ok := first[row]; !ok && (matches(row, to) || slices.Contains(marks, row)) {
				first[row] = to
			}
		}
	}
	if _, ok := reachedBy["main.main"]; !ok {
		t.Fatal("the linker's output has another form than expected: no main.main")
	}
	var findings []finding
	for row, symbol := range first {
		f := finding{row: row}
		for at := symbol; at != ""; at = reachedBy[at] {
			f.chain = append(f.chain, at)
			if len(f.chain) > len(reachedBy) {
				t.Fatalf("%s reaches itself", symbol)
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// matches reports whether a symbol is that of a row, or belongs to the row's packages: code,
// data or a type. The symbols of string constants are excluded, because they contain the text.
func matches(row, symbol string) bool {
	path, all := strings.CutSuffix(row, "/...")
	if !all {
		return symbol == row
	}
	if path, ok := strings.CutPrefix(path, functionsOf); ok {
		rest, begins := strings.CutPrefix(symbol, path)
		return begins && goesOn(rest)
	}
	if strings.HasPrefix(symbol, "go:string.") {
		return false
	}
	for _, rest, found := strings.Cut(symbol, path); found; _, rest, found = strings.Cut(rest, path) {
		if goesOn(rest) {
			return true
		}
	}
	return false
}

// goesOn reports whether rest, behind the path of a package, names something in it or a package
// below it.
func goesOn(rest string) bool { return rest != "" && (rest[0] == '.' || rest[0] == '/') }

// unmark splits the marks off a symbol, which may have blanks in its name.
func unmark(symbol string) (name string, marks []string) {
	for strings.HasSuffix(symbol, ">") {
		i := strings.LastIndex(symbol, " <")
		if i < 0 {
			break
		}
		marks = append(marks, symbol[i+1:])
		symbol = symbol[:i]
	}
	return symbol, marks
}
