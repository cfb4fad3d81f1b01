package live

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// longSentence is where a text without a full stop is cut, in bytes: a
	// listener should not wait for a paragraph before the first word.
	longSentence = 240
	// shortestCut keeps an initial or an abbreviation ("Dr. Lee") with what
	// follows it: nothing shorter is a sentence unless the text ends there.
	shortestCut = 8
)

// splitter cuts streamed text into sentences, so that the first one can be voiced
// before the second is complete.
type splitter struct{ rest string }

// add appends text and returns the sentences that are complete by now.
func (p *splitter) add(text string) []string {
	p.rest += text
	var out []string
	for {
		n := sentenceEnd(p.rest)
		if n == 0 {
			return out
		}
		if s := plain(p.rest[:n]); s != "" {
			out = append(out, s)
		}
		p.rest = p.rest[n:]
	}
}

// flush returns what is left, "" if nothing is.
func (p *splitter) flush() string {
	s := plain(p.rest)
	p.rest = ""
	return s
}

// sentenceEnd returns the length of the first complete sentence of s, 0 if
// there is none yet. A full stop only ends a sentence when white space follows:
// "3.5" is one number, and more text may be on its way.
func sentenceEnd(s string) int {
	closing := false // a mark that ends a sentence was seen, perhaps with quotes after it
	space := 0       // end of the last white space, where a long text may be cut
	for end := 0; end < len(s); {
		start := end
		r, size := utf8.DecodeRuneInString(s[start:]) // a byte that is not UTF-8 is a rune of size 1
		end += size
		switch {
		case r == '\n':
			return end
		case unicode.IsSpace(r):
			if closing && start >= shortestCut {
				return end
			}
			closing, space = false, end
		case strings.ContainsRune(".!?…", r):
			closing = true
		case strings.ContainsRune("。！？", r): // no space follows these
			return end
		case strings.ContainsRune(`"'”’)]*_`, r):
		default:
			closing = false
		}
		if start >= longSentence {
			if space > 0 {
				return space
			}
			return end
		}
	}
	return 0
}

// Marks of Markdown: at the start of a line, links, emphasis that is not part of a
// name such as snake_case, and the other marks of emphasis and code.
var (
	lineMark = regexp.MustCompile(`^(?:#{1,3}|[>*-]) `)
	link     = regexp.MustCompile(`\[([^\[\]\n]*)\]\([^() \n]*\)`)
	emphasis = regexp.MustCompile(`(^|[^\pL\pN])_+|_+([^\pL\pN]|$)`)
	marks    = strings.NewReplacer("*", "", "`", "", "\uFFFD", "")
)

// plain removes what a voice can't say: Markdown marks, the address behind a link,
// control characters, runs of white space.
func plain(s string) string {
	s = strings.ToValidUTF8(lineMark.ReplaceAllString(strings.TrimSpace(s), ""), "")
	s = emphasis.ReplaceAllString(link.ReplaceAllString(s, "$1"), "$1$2")
	return strings.Join(strings.FieldsFunc(marks.Replace(s), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}
