//go:build !js

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unreachable lists what must never be linked into the wasm, and why: the cost is
// that of a program with pion, the socket and JSON. The names are functions as the
// linker writes them, and the mark that it gives to a function which looks up
// methods by a computed name.
var unreachable = map[string]string{
	"net/http.(*Transport).RoundTrip":           "the client of net/http is +875 kB brotli; the page has fetch (internal/fetch)",
	"text/template.(*Template).execute":         "+377 kB brotli; put strings together",
	"html/template.(*Template).Execute":         "+377 kB brotli and more; the page renders",
	"<ReflectMethod>":                           "a computed MethodByName keeps every exported method alive, +265 kB brotli",
	"regexp.(*Regexp).doExecute":                "+86 kB brotli; parse by hand",
	"github.com/pion/ice/v4.UnmarshalCandidate": "pion's OnICECandidate is +83 kB brotli; read candidates from the event through JSValue",
	"log/slog.(*Logger).log":                    "+35 kB brotli; the page's logger gets events",
}

func TestForbiddenCodeIsUnreachable(t *testing.T) {
	for _, f := range forbidden(t, link(t, ".")) {
		t.Errorf("%s is linked into the wasm: %s\n\treached by %s", f.symbol, unreachable[f.symbol], strings.Join(f.chain, "\n\t<- "))
	}
}

// The table is only worth something if each of its names is what the linker says.
func TestEveryRowOfTheTableCanFail(t *testing.T) {
	var found []string
	for _, f := range forbidden(t, link(t, "./testdata/probe")) {
		found = append(found, f.symbol)
		if last := f.chain[len(f.chain)-1]; last != "_" {
			t.Errorf("the chain of %s ends at %s, not at the root", f.symbol, last)
		}
	}
	for symbol := range unreachable {
		if !slices.Contains(found, symbol) {
			t.Errorf("the probe uses it, but %s was not found", symbol)
		}
	}
}

// link builds the command in dir for the page and returns the linker's account of
// what it kept: lines of the form "symbol <mark> -> symbol <mark>", one for each
// kept symbol, from the one through which it was first reached; "_" is the root.
func link(t *testing.T, dir string) string {
	t.Helper()
	watch(t, dir)
	return goTool(t, "build", "-trimpath", "-ldflags", "-s -w -dumpdep", "-o", filepath.Join(t.TempDir(), "out.wasm"), dir)
}

// watch opens the directories of the packages that dir is built of, so that go
// test doesn't take its result from the cache when one of their files, which for
// this platform are none of its own, has changed.
func watch(t *testing.T, dir string) {
	t.Helper()
	dirs := goTool(t, "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}", dir)
	for _, dir := range strings.Split(strings.TrimSpace(dirs), "\n") {
		if _, err := os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// goTool runs a go command for the page.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// finding is a forbidden symbol and how it is reached, itself first.
type finding struct {
	symbol string
	chain  []string
}

func forbidden(t *testing.T, dump string) []finding {
	t.Helper()
	reachedBy := map[string]string{}
	marked := map[string]string{} // mark → the first symbol that has it
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
		for _, mark := range marks {
			if _, ok := marked[mark]; !ok {
				marked[mark] = to
			}
		}
	}
	if _, ok := reachedBy["main.main"]; !ok {
		t.Fatal("the linker's output has another form than expected: no main.main")
	}
	var findings []finding
	for symbol := range unreachable {
		start := symbol
		if by, ok := marked[symbol]; ok {
			start = by
		} else if _, ok := reachedBy[symbol]; !ok {
			continue
		}
		f := finding{symbol: symbol}
		for at := start; at != ""; at = reachedBy[at] {
			f.chain = append(f.chain, at)
			if len(f.chain) > len(reachedBy) {
				t.Fatalf("%s reaches itself", symbol)
			}
		}
		findings = append(findings, f)
	}
	return findings
}

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
