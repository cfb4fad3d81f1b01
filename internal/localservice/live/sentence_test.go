package live

import (
	"slices"
	"strings"
	"testing"
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
