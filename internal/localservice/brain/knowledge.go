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

// maxDocument bounds one Markdown file, in bytes; a larger one is an error instead of a
// slow start.
const maxDocument = 4 << 20

// DefaultKnowledge returns the documents that are used when no folder is given: a few
// pages about the project.
func DefaultKnowledge() fs.FS {
	folder, err := fs.Sub(builtin, "knowledge")
	if err != nil { // the name is a constant
		panic(err)
	}
	return folder
}

// Searcher finds the passages of some knowledge records that match some words, best
// first.
type Searcher interface {
	SearchKnowledge(ctx context.Context, records []int64, words string, limit int) ([]store.Passage, error)
}

var _ Searcher = (*store.Store)(nil)

// Documents returns the names of the Markdown files of a folder, in alphabetical order.
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

// Passages cuts a source of a knowledge record into passages.
func Passages(source store.Source) []store.Passage {
	cut := cutText
	if source.Type == store.MarkdownSource {
		cut = cutMarkdown
	}
	passages := cut(source.Name, source.Content)
	for i := range passages {
		passages[i].Source, passages[i].EntryID = "", source.EntryID
	}
	return passages
}

// cutMarkdown makes one passage of each section, its Markdown unchanged. The
// first heading of level one names the document.
func cutMarkdown(name, text string) []store.Passage {
	title := titleOf(name)
	var passages []store.Passage
	heading, body, begin, code := "", []string(nil), 1, false
	flush := func() {
		empty := 0
		for empty < len(body) && body[empty] == "" {
			empty++
		}
		if section := strings.Trim(strings.Join(body, "\n"), "\n"); section != "" {
			passages = append(passages, store.Passage{Title: title, Heading: heading, Body: section, Source: name, Line: begin + empty})
		}
		body = nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
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
		begin = number + 1
		heading = plainLine(strings.TrimSpace(line[marks:]))
		if marks == 1 && len(passages) == 0 {
			title, heading = heading, ""
		}
	}
	flush()
	return passages
}

// titleOf returns the title of a document without a heading: its name, without a
// suffix.
func titleOf(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

// textPassage is the length, in bytes, from which a passage of plain text ends with its
// current paragraph.
const textPassage = 800

// cutText cuts plain text into passages of whole paragraphs; short paragraphs share
// one.
func cutText(name, text string) []store.Passage {
	var passages []store.Passage
	var body []string
	begin, number, size := 1, 0, 0
	flush := func() {
		if section := strings.Trim(strings.Join(body, "\n"), "\n"); section != "" {
			passages = append(passages, store.Passage{Title: titleOf(name), Body: section, Source: name, Line: begin})
		}
		body, size = nil, 0
	}
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" && size >= textPassage {
			flush()
		}
		if line == "" && len(body) == 0 {
			continue
		}
		if len(body) == 0 {
			begin = number
		}
		body = append(body, line)
		size += len(line) + 1
	}
	flush()
	return passages
}
