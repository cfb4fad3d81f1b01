package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImportersGetOnlyWhatTheyNeed: programs that import the main module get its requirements, so
// what only tests or measurements need is required by the module of e2e.
func TestImportersGetOnlyWhatTheyNeed(t *testing.T) {
	var imported []string
	for _, f := range goFiles(t) {
		top, _, _ := strings.Cut(f.dir, "/")
		if _, err := os.Stat(filepath.Join(root, top, "go.mod")); err == nil || strings.HasSuffix(f.name, "_test.go") {
			continue // a module of its own
		}
		imported = append(imported, f.imports...)
	}
	source := readFile(t, "go.mod")
	required := regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+) v\S+( // indirect)?$`).FindAllStringSubmatch(source, -1)
	if len(required) < 10 {
		t.Fatalf("found %d requirements in go.mod", len(required))
	}
	for _, r := range required {
		module, indirect := r[1], r[2] != ""
		switch {
		case strings.HasPrefix(module, "github.com/chromedp/") || module == "go.uber.org/goleak":
			t.Errorf("go.mod requires %s, which is for tests: e2e has the driver of the browser, internal/leaktest what is left", module)
		case !indirect && !slices.ContainsFunc(imported, func(path string) bool { return within(path, module) }):
			t.Errorf("go.mod requires %s, which only tests import", module)
		}
	}
}
