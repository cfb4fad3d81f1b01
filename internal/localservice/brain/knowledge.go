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
// instead of a slow start.
const maxDocument = 4 << 20

// DefaultKnowledge is what the demo brain knows when no folder is given: a few
// pages about the project.
func DefaultKnowledge() fs.FS { return builtin }

// Searcher finds passages that fit some words, best first.
type Searcher interface {
	SearchKnowledge(ctx context.Context, words string, limit int) ([]store.Passage, error)
}

var _ Searcher = (*store.Store)(nil)

// ReadKnowledge reads every Markdown file of a folder, cut into passages at its
// headings.
func ReadKnowledge(folder fs.FS) ([]store.Passage, error) {
	var passages []store.Passage
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.EqualFold(path.Ext(name), ".md") {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxDocument {
			return fmt.Errorf("%s: %d bytes, at most %d", name, info.Size(), maxDocument)
		}
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		passages = append(passages, cutMarkdown(name, string(text))...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read knowledge: %w", err)
	}
	return passages, nil
}

// cutMarkdown makes one passage of each section. The first heading of level one
// names the document. Code is left out: nobody wants to hear it.
func cutMarkdown(name, text string) []store.Passage {
	title := strings.TrimSuffix(path.Base(name), path.Ext(name))
	var passages []store.Passage
	heading, body, code := "", []string(nil), false
	flush := func() {
		if plain := strings.Join(body, " "); plain != "" {
			passages = append(passages, store.Passage{Title: title, Heading: heading, Body: plain, Source: name})
		}
		body = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if code || line == "" {
			continue
		}
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if marks == 0 || marks == len(line) || line[marks] != ' ' {
			body = append(body, plainText(line))
			continue
		}
		flush()
		heading = plainText(strings.TrimSpace(line[marks:]))
		if marks == 1 && len(passages) == 0 {
			title, heading = heading, ""
		}
	}
	flush()
	return passages
}

// plainText takes the marks of emphasis, code, lists and links away.
func plainText(line string) string {
	line = strings.TrimLeft(line, "-*+> ")
	line = strings.NewReplacer("**", "", "__", "", "`", "", "*", "").Replace(line)
	for {
		before, rest, ok := strings.Cut(line, "](")
		i := strings.LastIndexByte(before, '[')
		_, after, closed := strings.Cut(rest, ")")
		if !ok || !closed || i < 0 {
			return line
		}
		line = strings.TrimSuffix(before[:i], "!") + before[i+1:] + after
	}
}
