package brain

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestMarkdownIsMadeSpeakable(t *testing.T) {
	for _, tt := range []struct{ name, markdown, want string }{
		{"prose", "One **bold** word,\nand `code`.", "One bold word, and code."},
		{"link", "See [the *page*](https://x.test/a) now.", "See the page now."},
		{"picture", "![A face](face.png) smiles.", "A face smiles."},
		{"list", "There are two:\n\n- one\n- *two*\n\nThat is all.", "There are two: one, two. That is all."},
		{"list at the end", "1. First\n2. Second!\n10. Third", "First, Second! Third."},
		{"code", "Do this:\n\n```go\nx := 1\n```\n\nThen go on.", "Do this: Then go on."},
		{"only code", "```\nx\n```", ""},
		{"quotation and rule", "> Said.\n\n---\n\nDone.", "Said. Done."},
		{"no marks", "-5 degrees, 3.14, a_b and 2 * 3", "-5 degrees, 3.14, a_b and 2  3"},
	} {
		expect.Equal(t, plain(tt.markdown), tt.want, "%s", tt.name)
	}
}

func TestLongSectionsAreCutBetweenBlocks(t *testing.T) {
	word := strings.Repeat("word ", readBytes/5)
	code := "```go\n" + strings.Repeat("line()\n\n", readBytes/8) + "```"
	for _, tt := range []struct {
		name, markdown string
		want           func(string) bool
	}{
		{"short", "a\n\nb", func(s string) bool { return s == "a\n\nb" }},
		{"the second block is too much", "a\n\nb\n\n" + word, func(s string) bool { return s == "a\n\nb\n\n…" }},
		{"the first is", word + word, func(s string) bool {
			return strings.HasSuffix(s, "word…") && len(s) <= readBytes+len("…")
		}},
		{"code after text", "a\n\n" + code, func(s string) bool {
			return strings.HasPrefix(s, "a\n\n```go\nline()") && strings.HasSuffix(s, "…\n```") && strings.Count(s, "```") == 2
		}},
		{"code is closed", code + "\n\nb", func(s string) bool {
			return strings.HasPrefix(s, "```go\nline()") && strings.HasSuffix(s, "…\n```") && strings.Count(s, "```") == 2
		}},
	} {
		if got := bounded(tt.markdown); !tt.want(got) {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"- a\n- b", "```", "[a](b)", "1. x", "![](", "> *", strings.Repeat("x", 2*readBytes)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := plain(text); strings.Contains(got, "\n") {
			t.Errorf("%q is spoken over several lines", got)
		}
		if got := bounded(text); len(got) > readBytes+len("\n\n…\n```") {
			t.Errorf("%d bytes of %d", len(got), len(text))
		}
	})
}
