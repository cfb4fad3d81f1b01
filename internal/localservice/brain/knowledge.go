package brain

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

//go:embed knowledge/*.md
var builtin embed.FS

// maxDocument bounds one Markdown file, in bytes; a larger one is an error
// not a slow start.
const maxDocument = 4 << 20

// DefaultKnowledge are the documents when no folder is given: a few pages about the
// project.
func DefaultKnowledge() fs.FS {
	folder, err := fs.Sub(builtin, "knowledge")
	if err != nil { // the name is a constant
		panic(err)
	}
	return folder
}

// Searcher finds passages that fit some words, best first.
type Searcher interface {
	SearchKnowledge(ctx context.Context, words string, limit int) ([]store.Passage, error)
}

var _ Searcher = (*store.Store)(nil)

// Documents returns the names of the Markdown files of a folder, in the order of
// the alphabet.
func Documents(folder fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.EqualFold(path.Ext(name), ".md") {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// ReadKnowledge reads every Markdown file of a folder, cut into passages at its
// headings.
func ReadKnowledge(folder fs.FS) ([]store.Passage, error) {
	names, err := Documents(folder)
	if err != nil {
		return nil, fmt.Errorf("read knowledge: %w", err)
	}
	var passages []store.Passage
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, fmt.Errorf("read knowledge: %w", err)
		}
		if len(text) > maxDocument {
			return nil, fmt.Errorf("read knowledge: %s: %d bytes, at most %d", name, len(text), maxDocument)
		}
		passages = append(passages, cutMarkdown(name, string(text))...)
	}
	return passages, nil
}

// cutMarkdown makes one passage of each section, its Markdown unchanged. The
// first heading of level one names the document.
func cutMarkdown(name, text string) []store.Passage {
	title := strings.TrimSuffix(path.Base(name), path.Ext(name))
	var passages []store.Passage
	heading, body, code := "", []string(nil), false
	flush := func() {
		if section := strings.Trim(strings.Join(body, "\n"), "\n"); section != "" {
			passages = append(passages, store.Passage{Title: title, Heading: heading, Body: section, Source: name})
		}
		body = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), fence) {
			code = !code
		}
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if code || marks == 0 || marks == len(line) || line[marks] != ' ' {
			body = append(body, line)
			continue
		}
		flush()
		heading = plainLine(strings.TrimSpace(line[marks:]))
		if marks == 1 && len(passages) == 0 {
			title, heading = heading, ""
		}
	}
	flush()
	return passages
}
