package shared

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// look matches what belongs into tokens.css: colours, fonts and radii. A radius of 50% makes
// a circle, whatever the look.
var look = regexp.MustCompile(`(?m)[:\s,(]#[0-9a-fA-F]{3,8}\b[^{};\n]*[;}]|\b(?:rgb|hsl|oklch)a?\(|\b(?:system-ui|sans-serif|serif|monospace)\b|border(?:-[a-z]+)*-radius:[^;]*\b\d+(?:\.\d+)?(?:px|r?em)`)

// TestOneFileHasTheLook: one change in tokens.css changes all example pages.
func TestOneFileHasTheLook(t *testing.T) {
	t.Parallel()
	if literals := look.FindAllString("a { color: #fff; font: 1em serif; border-top-left-radius: 4px; background: rgb(0 0 0) } #fade { order: 1; border-radius: 50% }", -1); len(literals) != 4 {
		t.Fatalf("the expression finds %q", literals)
	}
	sheets := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".css") || path == "shared/tokens.css" {
			return err
		}
		sheets++
		text, err := os.ReadFile("../" + path)
		for _, literal := range look.FindAllString(string(text), -1) {
			t.Errorf("example/%s has %q: a value of the look must be a custom property of shared/tokens.css", path, strings.TrimSpace(literal))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if sheets < 10 {
		t.Errorf("%d style sheets were read", sheets)
	}
}

// TestPagesLookLikeTheParts: the pages have the look that agentruntime/ui has by itself.
func TestPagesLookLikeTheParts(t *testing.T) {
	t.Parallel()
	pages, err := Files.ReadFile("tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := os.ReadFile("../../js/src/ui/ui.css")
	if err != nil {
		t.Fatal(err)
	}
	value := func(sheet []byte, name string) string {
		found := regexp.MustCompile(`(?m)^\s*` + name + `:\s*([^;]+);`).FindSubmatch(sheet)
		if found == nil {
			return ""
		}
		return string(found[1])
	}
	names := regexp.MustCompile(`(?m)^  --agent-([a-z-]+): var\(--([a-z-]+)\);`).FindAllSubmatch(pages, -1)
	if len(names) == 0 {
		t.Fatal("tokens.css sets no property of the parts")
	}
	for _, name := range names {
		own, theirs := value(pages, "--"+string(name[2])), value(parts, "--agent-"+string(name[1]))
		if own == "" || own != theirs {
			t.Errorf("--%s is %q, the default of --agent-%s is %q", name[2], own, name[1], theirs)
		}
	}
}
