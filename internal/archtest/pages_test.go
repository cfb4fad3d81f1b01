package archtest

import (
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// pages are the documents for people, from the root of the module.
func pages(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "create/*.md", "js/local/*.md", "tools/wasm/link/*.md", "e2e/testdata/*.md", "example/*/*.md"} {
		found := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
		for _, name := range found {
			rel := must.Get(filepath.Rel(root, name))(t)
			names = append(names, filepath.ToSlash(rel))
		}
	}
	return names
}

var (
	block     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code      = regexp.MustCompile("`[^`\n]*`")
	pageLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	anchorTag = regexp.MustCompile(`<a id="([^"]+)">`)
	unslug    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	size      = regexp.MustCompile(`(?i)[0-9] [kM]B[^.|]{0,20}brotli|brotli[^.|]{0,20}[0-9] [kM]B`)
)

// anchorsOf returns the anchors of a document, as GitHub and the site of the docs make them.
func anchorsOf(text string) map[string]bool {
	anchors := map[string]bool{}
	text = block.ReplaceAllString(text, "")
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		title := pageLink.ReplaceAllString(strings.ReplaceAll(m[1], "`", ""), "")
		anchors[strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")] = true
	}
	for _, m := range anchorTag.FindAllStringSubmatch(text, -1) {
		anchors[m[1]] = true
	}
	return anchors
}

// Links between documents lead to files and headings that exist.
func TestLinksOfThePages(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		text := code.ReplaceAllString(block.ReplaceAllString(readFile(t, page), ""), "")
		for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
			target, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if target.Scheme != "" {
				continue
			}
			checked++
			file := page
			if target.Path != "" {
				file = path.Join(path.Dir(page), target.Path)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if target.Fragment != "" && strings.HasSuffix(file, ".md") && !anchorsOf(readFile(t, file))[target.Fragment] {
				t.Errorf("%s links to %s, and %s has no such heading", page, m[1], file)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were found", checked)
	}
}

// A test that a document names exists.
func TestTestsNamedByThePages(t *testing.T) {
	tests := goTests(t)
	cited := 0
	for _, page := range pages(t) {
		for _, m := range citedTest.FindAllStringSubmatch(readFile(t, page), -1) {
			cited++
			if !tests[m[1]] {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if cited < 50 {
		t.Errorf("only %d names of tests were found", cited)
	}
}

// Each test by which the Makefile chooses tests exists: without it, a profile lacks the functions that it called.
func TestTestsNamedByTheMakefile(t *testing.T) {
	tests := slices.Collect(maps.Keys(goTests(t)))
	chosen := 0
	for _, m := range regexp.MustCompile(`\^Test\((.*?)\)\$`).FindAllStringSubmatch(readFile(t, "Makefile"), -1) {
		for name := range strings.SplitSeq(m[1], "|") {
			chosen++
			if !slices.ContainsFunc(tests, regexp.MustCompile("^Test"+name+"$").MatchString) {
				t.Errorf("the Makefile names Test%s, which does not exist", name)
			}
		}
	}
	if chosen < 50 {
		t.Errorf("only %d names of tests were found", chosen)
	}
}

// The sizes of the programs are measured, so they are in one document, which is written from
// measurements, and in that about what makes them small.
func TestSizesHaveOnePlace(t *testing.T) {
	for _, page := range pages(t) {
		if page == "docs/performance.md" || page == "tools/wasm/link/README.md" {
			continue
		}
		for _, found := range size.FindAllString(readFile(t, page), -1) {
			t.Errorf("%s has a compressed size (%s): link to docs/performance.md", page, found)
		}
	}
}

// A row of a table fits in a screen; what needs more is a list.
func TestRowsFitInAScreen(t *testing.T) {
	const most = 200
	for _, page := range pages(t) {
		for line := range strings.Lines(block.ReplaceAllString(readFile(t, page), "")) {
			if strings.HasPrefix(line, "|") && len([]rune(line)) > most+1 {
				t.Errorf("%s has a row with more than %d characters: shorten it (where the table is generated, the text that it is made of), or make the table a list\n%s", page, most, line)
			}
		}
	}
}
