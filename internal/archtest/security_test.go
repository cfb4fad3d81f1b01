package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestSecurityNamesTests keeps docs/security.md true: every test and file that it names
// exists, and no promise is without a test.
func TestSecurityNamesTests(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, f := range goFiles(t) {
		text, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllSubmatch(text, -1) {
			tests[string(match[1])] = true
		}
	}
	names := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(source, -1)
	if len(names) == 0 {
		t.Fatal("docs/security.md names no test")
	}
	for _, name := range names {
		if !tests[string(name[1])] {
			t.Errorf("docs/security.md names %s, which does not exist", name[1])
		}
	}
	for _, name := range regexp.MustCompile("`([a-z]+/[\\w./]+\\.(?:go|ts|js))`").FindAllSubmatch(source, -1) {
		if _, err := os.Stat(filepath.Join(root, string(name[1]))); err != nil {
			t.Errorf("docs/security.md: %v", err)
		}
	}
	rows := regexp.MustCompile(`(?m)^\| [^-].*\|$`).FindAll(source, -1)
	for _, row := range rows {
		if string(row) != "| Promise | Tests |" && !regexp.MustCompile("`(Test\\w+)`").Match(row) {
			t.Errorf("docs/security.md promises without a test: %s", row)
		}
	}
	if len(rows) == 0 {
		t.Error("docs/security.md promises nothing")
	}
}
