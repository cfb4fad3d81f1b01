package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// TestScriptsOfPagesAreFiles: a longer script of a page is in a file of testdata, where it is checked by TypeScript, and
// not in a string of a Go test.
func TestScriptsOfPagesAreFiles(t *testing.T) {
	const most = 14 // lines
	// The strings that are longer, by file. A number here may only go down.
	known := map[string]int{
		"e2e/site/playground_test.go": 1, // the site that it tests serves no testdata
	}
	script := regexp.MustCompile(`(?m)^\s*(const|let|await|return|import|export|function|<script) ?.*[({=]|=> [{(]`)
	for _, f := range goFiles(t) {
		if !strings.HasSuffix(f.name, "_test.go") || within(f.dir, "internal/archtest") {
			continue
		}
		positions := token.NewFileSet()
		parsed := must.Get(parser.ParseFile(positions, filepath.Join(root, f.path), nil, 0))(t)
		var lines []int
		ast.Inspect(parsed, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if ok && strings.HasPrefix(text.Value, "`") && strings.Count(text.Value, "\n") > most && script.MatchString(text.Value) {
				lines = append(lines, positions.Position(text.Pos()).Line)
			}
			return true
		})
		if len(lines) != known[f.path] {
			t.Errorf("%s has %d scripts with more than %d lines, at lines %v, want %d: they belong in files of testdata (docs/testing.md)",
				f.path, len(lines), most, lines, known[f.path])
		}
	}
}
