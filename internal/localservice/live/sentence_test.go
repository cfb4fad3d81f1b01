package live

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestSplitterCutsSentences(t *testing.T) {
	long := strings.Repeat("word ", 60)
	for _, tt := range []struct {
		name string
		in   []string
		want []string // the last one is what flush returns
	}{
		{"one piece", []string{"Two things changed. Both are good"}, []string{"Two things changed.", "Both are good"}},
		{"streamed", []string{"Two thin", "gs changed", ". Both", " are good."}, []string{"Two things changed.", "Both are good."}},
		{"a number is no end", []string{"It costs 3.50 today. Fine"}, []string{"It costs 3.50 today.", "Fine"}},
		{"an abbreviation stays with its name", []string{"Dr. Lee is in. Ask her"}, []string{"Dr. Lee is in.", "Ask her"}},
		{"a quote closes with its sentence", []string{`She said "come in." Then left`}, []string{`She said "come in."`, "Then left"}},
		{"a line is a sentence", []string{"- milk\n- honey\n"}, []string{"milk", "honey", ""}},
		{"marks are not spoken", []string{"## Prices\nSee **the** _list_ at [our page](https://example.com/x) for `save_note`."}, []string{"Prices", "See the list at our page for save_note."}},
		{"nor are those in a link", []string{"See [the **new**\x01list](https://example.com/x), [](y) and [snake_case](z)."}, []string{"See the new list, and snake_case."}},
		{"no space after a full-width stop", []string{"你好。再见"}, []string{"你好。", "再见"}},
		{"a long text is cut at a space", []string{long}, []string{strings.TrimSpace(strings.Repeat("word ", 48)), strings.TrimSpace(strings.Repeat("word ", 12))}},
		{"only marks", []string{"**"}, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p splitter
			var got []string
			for _, piece := range tt.in {
				got = append(got, p.add(piece)...)
			}
			got = append(got, p.flush())
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSpeechIDCantPoseAsAnUninterruptibleTurn(t *testing.T) {
	for _, text := range []string{"-wake-up", "x-wake-up", "\n-hangup-message", "-approved-permissions"} {
		id := newSpeechID(byTranscript, text)
		if n := strings.Count(id, "-"); n != 2 || !strings.HasPrefix(id[4:], "-transcript-") {
			t.Errorf("text %q gives id %q", text, id)
		}
	}
	if id := newSpeechID(byTranscript, "What is new today?"); id[4:] != "-transcript-What is new" {
		t.Errorf("id %q", id)
	}
	if id := newSpeechID(byApproval, "Hello"); id[4:] != "-approved-permissions" {
		t.Errorf("id %q", id)
	}
}

// FuzzSplitter: an answer may repeat whatever a user said. However it is split into
// pieces, no text is left over, and the sentences contain nothing that can't be
// spoken.
func FuzzSplitter(f *testing.F) {
	for _, seed := range []string{"One. Two!", "[a](b) [c](", "* **x** _y_ `z`", "\x00\xff[", "3.5 Dr. Lee said \"no.\" Then", "。！", "[[a](b)](c)", strings.Repeat("\xff", longSentence+1), "A first sentence.\u00a0Then"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		if at < 0 || at > len(text) {
			at = len(text) / 2
		}
		var whole, pieces splitter
		all := append(whole.add(text), whole.flush())
		cut := append(pieces.add(text[:at]), append(pieces.add(text[at:]), pieces.flush())...)
		for _, sentence := range append(all, cut...) {
			if strings.ContainsFunc(sentence, unicode.IsControl) || strings.TrimSpace(sentence) != sentence {
				t.Errorf("sentence %q", sentence)
			}
		}
		if whole.rest != "" || pieces.rest != "" {
			t.Errorf("%q and %q are left", whole.rest, pieces.rest)
		}
	})
}
