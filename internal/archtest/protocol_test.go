package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	citation = regexp.MustCompile(`protocol §(\d+(?:\.\d+)*)`)
	section  = regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)*)\.? `)
)

// A comment that refers to the protocol names a section that docs/protocol.md has.
func TestCitedSectionsExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range section.FindAllStringSubmatch(string(page), -1) {
		sections[m[1]] = true
	}
	cited := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "build", "dist"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".ts", ".js", ".mjs", ".md"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "wire-"+"protocol") { // its former name
			t.Errorf("%s refers to a document outside the repository: write protocol §, as in docs/protocol.md", path)
		}
		for _, m := range citation.FindAllStringSubmatch(string(text), -1) {
			cited++
			if !sections[m[1]] {
				t.Errorf("%s refers to section %s, which docs/protocol.md does not have", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < 100 {
		t.Errorf("only %d references were found", cited)
	}
}
