package brain

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Limits of one section in an answer.
const (
	readBytes       = 1500 // of Markdown, when it is read
	spokenSentences = 2    // when it is spoken
)

// fence begins and ends a block of code.
const fence = "```"

// spoken returns the first sentences of a passage, "" when it is code only.
func spoken(p store.Passage, sentences int) string {
	parts := strings.SplitAfterN(plain(p.Body), ". ", sentences+1)
	return strings.TrimSpace(strings.Join(parts[:min(len(parts), sentences)], ""))
}

// Marks of Markdown at the start of a line, around links, and inside text.
var (
	quoteMark = regexp.MustCompile(`^[> ]+`)
	itemMark  = regexp.MustCompile(`^(?:[-*+]|\d+\.) +`)
	linkMark  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	textMarks = strings.NewReplacer("**", "", "__", "", "`", "", "*", "")
)

// plain converts Markdown to text that can be spoken: without marks and code, and
// with a list as one sentence.
func plain(markdown string) string {
	var out []string
	code, item := false, false
	// join ends the previous item: with a comma if another item follows.
	join := func(mark string) {
		if n := len(out); n > 0 && item && !endsSentence(out[n-1]) {
			out[n-1] += mark
		}
	}
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, fence) {
			code = !code
			continue
		}
		if code || strings.Trim(line, "-*_ ") == "" { // empty, or a horizontal rule
			continue
		}
		line = quoteMark.ReplaceAllString(line, "")
		if text := itemMark.ReplaceAllString(line, ""); text != line {
			join(",")
			line, item = text, true
		} else {
			join(".")
			item = false
		}
		out = append(out, plainLine(line))
	}
	join(".")
	return strings.Join(out, " ")
}

func endsSentence(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".,;:!?…", last)
}

// plainLine removes the marks of emphasis, code and links.
func plainLine(line string) string {
	return textMarks.Replace(linkMark.ReplaceAllString(line, "$1"))
}

// bounded returns the beginning of a section, cut between two blocks if possible,
// else between two lines or words. A block of code that is cut gets a closing fence.
func bounded(markdown string) string {
	if len(markdown) <= readBytes {
		return markdown
	}
	cut, end := strings.ToValidUTF8(markdown[:readBytes], ""), ""
	for _, end = range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(cut, end); i > 0 {
			cut = cut[:i]
			break
		}
	}
	cut += strings.TrimRight(end, " ") + "…"
	if strings.Count(cut, fence)%2 == 1 {
		cut += "\n" + fence
	}
	return cut
}

// shorten cuts text at a word's end.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := text[:strings.LastIndexByte(text[:limit], ' ')+1]
	return strings.TrimSpace(cut) + "…"
}
