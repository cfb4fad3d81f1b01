package live

import (
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

// splitter cuts streamed text into sentences, so that the first one is voiced
// while the brain still writes the second.
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
	for i, r := range s {
		switch {
		case r == '\n':
			return i + 1
		case unicode.IsSpace(r):
			if closing && i >= shortestCut {
				return i + 1
			}
			closing, space = false, i+utf8.RuneLen(r)
		case strings.ContainsRune(".!?…", r):
			closing = true
		case strings.ContainsRune("。！？", r): // no space follows these
			return i + utf8.RuneLen(r)
		case strings.ContainsRune(`"'”’)]*_`, r):
		default:
			closing = false
		}
		if i >= longSentence {
			if space > 0 {
				return space
			}
			return i + utf8.RuneLen(r)
		}
	}
	return 0
}

// plain removes what a voice can't say: Markdown marks, the address behind a
// link, control characters, runs of white space.
func plain(s string) string {
	s = strings.TrimSpace(s)
	for _, mark := range []string{"###", "##", "#", ">", "-", "*"} { // headings, quotes, lists
		if rest, ok := strings.CutPrefix(s, mark+" "); ok {
			s = rest
			break
		}
	}
	var b strings.Builder
	word := false // the rune before is part of a word
	for len(s) > 0 {
		if text, n := link(s); n > 0 {
			s = text + s[n:] // marks in the text of a link are not spoken either
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		next, _ := utf8.DecodeRuneInString(s)
		switch {
		case r == '*', r == '`', r == utf8.RuneError:
		case r == '_' && !(word && alphanumeric(next)): // emphasis, not snake_case
		case unicode.IsControl(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
		word = alphanumeric(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// link reads "[text](address)" at the start of s and returns the text and the
// length of the whole, 0 if there is no link.
func link(s string) (text string, n int) {
	if s[0] != '[' {
		return "", 0
	}
	text, after, ok := strings.Cut(s[1:], "](")
	if !ok || strings.ContainsAny(text, "[\n") {
		return "", 0
	}
	address, _, ok := strings.Cut(after, ")")
	if !ok || strings.ContainsAny(address, " \n") {
		return "", 0
	}
	return text, 1 + len(text) + 2 + len(address) + 1
}
