package brain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of a section goes into an answer.
const (
	readBytes       = 1500 // Markdown, for somebody who reads
	spokenSentences = 2    // for somebody who listens
)

// fence begins and ends a block of code.
const fence = "```"

// plain makes of Markdown what can be spoken: no marks, no code, and a list as
// one sentence.
func plain(markdown string) string {
	var out []string
	code, item := false, false
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, fence) {
			code = !code
			continue
		}
		if code || strings.Trim(line, "-*_ ") == "" { // nothing, or a ruled line
			continue
		}
		text, isItem := cutBullet(line)
		if n := len(out); n > 0 && item && !endsSentence(out[n-1]) {
			out[n-1] += map[bool]string{true: ",", false: "."}[isItem]
		}
		item = isItem
		out = append(out, plainLine(text))
	}
	if n := len(out); n > 0 && item && !endsSentence(out[n-1]) {
		out[n-1] += "."
	}
	return strings.Join(out, " ")
}

// cutBullet takes the mark of a list's item or of a quotation away.
func cutBullet(line string) (text string, isItem bool) {
	line = strings.TrimLeft(line, "> ")
	if len(line) > 1 && strings.ContainsRune("-*+", rune(line[0])) && line[1] == ' ' {
		return strings.TrimSpace(line[1:]), true
	}
	digits := len(line) - len(strings.TrimLeftFunc(line, unicode.IsDigit))
	if digits > 0 && strings.HasPrefix(line[digits:], ". ") {
		return line[digits+2:], true
	}
	return line, false
}

func endsSentence(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".,;:!?…", last)
}

// plainLine takes the marks of emphasis, code and links away.
func plainLine(line string) string {
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

// bounded returns the first blocks of a section, at most readBytes of them and at
// least a part of the first.
func bounded(markdown string) string {
	if len(markdown) <= readBytes {
		return markdown
	}
	var out string
	for _, block := range blocks(markdown) {
		if len(out)+len(block) > readBytes {
			if out != "" {
				return out + "\n\n…"
			}
			return cutBlock(block)
		}
		out += "\n\n" + block
		out = strings.TrimPrefix(out, "\n\n")
	}
	return out
}

// blocks cuts Markdown at empty lines that are not in code.
func blocks(markdown string) []string {
	var list, block []string
	code := false
	flush := func() {
		if len(block) > 0 {
			list = append(list, strings.Join(block, "\n"))
		}
		block = nil
	}
	for line := range strings.SplitSeq(markdown, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), fence) {
			code = !code
		}
		if line == "" && !code {
			flush()
			continue
		}
		block = append(block, line)
	}
	flush()
	return list
}

// cutBlock shortens a block that is too long by itself; what was code stays code.
func cutBlock(block string) string {
	if !strings.HasPrefix(block, fence) {
		return shorten(block, readBytes)
	}
	cut := block[:readBytes]
	return cut[:strings.LastIndexByte(cut, '\n')+1] + "…\n" + fence
}

func firstSentences(text string, n int) string {
	end := 0
	for range n {
		i := strings.Index(text[end:], ". ")
		if i < 0 {
			return text
		}
		end += i + 2
	}
	return strings.TrimSpace(text[:end])
}

// shorten cuts text at a word's end.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := text[:strings.LastIndexByte(text[:limit], ' ')+1]
	return strings.TrimSpace(cut) + "…"
}

// oneLine makes one line of what somebody typed.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
