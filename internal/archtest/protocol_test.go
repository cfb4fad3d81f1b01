package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// specifications are the documents that comments refer to, and how they do.
var specifications = []struct {
	doc, formerly     string
	mark              string // in every reference
	citation, section *regexp.Regexp
	least             int // so many references there are
}{
	{
		"docs/protocol.md", "wire-" + "protocol", "§",
		regexp.MustCompile(`protocol §(\d+(?:\.\d+)*)`), regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)*)\.? `), 100,
	},
	{
		"docs/session.md", "session-" + "api", "§",
		regexp.MustCompile(`session(?:\s|//)+§(O\d+|[A-D](?:\.\d+)*)`), regexp.MustCompile(`(?m)^(?:#+ ([A-D](?:\.\d+)*)\.? |- \*\*(O\d+)\*\*)`), 60,
	},
	{
		"docs/service.md", "", "service.md",
		regexp.MustCompile(`(?:^|[\s(])service\.md,?(?:\s|//)+"([^"]{3,60})"`), regexp.MustCompile(`(?m)^#+ (.+)$`), 40,
	},
}

// A comment that refers to a specification names a section that its document has.
func TestCitedSectionsExist(t *testing.T) {
	sections, cited := map[string]bool{}, map[string]int{}
	for _, s := range specifications {
		for _, m := range s.section.FindAllStringSubmatch(readFile(t, s.doc), -1) {
			sections[s.doc+strings.Join(m[1:], "")] = true
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
		for _, s := range specifications {
			if s.formerly != "" && strings.Contains(string(text), s.formerly) {
				t.Errorf("%s refers to a document outside the repository: refer to a section of %s", path, s.doc)
			}
			if !strings.Contains(string(text), s.mark) { // which takes less than the expression
				continue
			}
			for _, m := range s.citation.FindAllStringSubmatch(string(text), -1) {
				cited[s.doc]++
				name := strings.Join(strings.Fields(strings.ReplaceAll(m[1], "//", "")), " ") // over two lines of a comment
				if !sections[s.doc+name] {
					t.Errorf("%s refers to section %s, which %s does not have", path, name, s.doc)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specifications {
		if cited[s.doc] < s.least {
			t.Errorf("only %d references to %s were found", cited[s.doc], s.doc)
		}
	}
}

// Each name of an event in runtime/signaling is in its list there, and in its part of docs/protocol.md.
func TestRowsOfEveryEventOfTheWire(t *testing.T) {
	const path = "runtime/signaling/names.go"
	_, rest, _ := strings.Cut(readFile(t, "docs/protocol.md"), "\n## 3. ")
	client, server, _ := strings.Cut(rest, "\n## 4. ")
	server, _, _ = strings.Cut(server, "\n## 5. ")
	lists := []struct {
		comment, list, section string
		names                  []string
		text                   string // of the section
	}{
		{"// Events that the client sends", "ClientEvents", "3", signaling.ClientEvents(), client},
		{"// Events that the service sends", "ServerEvents", "4", signaling.ServerEvents(), server},
	}
	source := readFile(t, path)
	for _, l := range lists {
		_, block, found := strings.Cut(source, l.comment)
		block, _, ended := strings.Cut(block, "\n)\n")
		if !found || !ended {
			t.Fatalf("%s has no constants after the comment %q", path, l.comment)
		}
		for _, m := range regexp.MustCompile(`(?m)^\t(\w+) += "([^"]+)"`).FindAllStringSubmatch(block, -1) {
			if !slices.Contains(l.names, m[2]) {
				t.Errorf("%s: add %s to %s", path, m[1], l.list)
			}
			if !regexp.MustCompile("`" + regexp.QuoteMeta(m[2]) + "[` ]").MatchString(l.text) {
				t.Errorf("docs/protocol.md: section %s does not name %s: add it", l.section, m[2])
			}
		}
	}
}
