package voice

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestBuiltinVoiceAlwaysMakesSound(t *testing.T) {
	for _, text := range []string{
		"Hello there, how may I help you?", "a", "7", "B2B", "naïve", "你好", "مرحبا", "rhythm", "100% & more", strings.Repeat("z", 300),
	} {
		speech := builtin(t, text)
		checkSum(t, speech)
		if level := audio.Level(speech.PCM); level < -30 || level > -12 {
			t.Errorf("%q sounds at %.0f dB, want -30 to -12", text, level)
		}
		expect.Equal(t, chunkText(speech), text, "chunks say")
	}
}

func TestBuiltinVoiceHasNothingToSay(t *testing.T) {
	for _, text := range []string{"", "  ", "…"} {
		if speech := builtin(t, text); len(speech.PCM) != 0 || len(speech.Chunks) != 0 || speech.Rate == 0 {
			t.Errorf("%q gives %d samples and %d chunks", text, len(speech.PCM), len(speech.Chunks))
		}
	}
}

func TestBuiltinVoiceSpeaksAtANaturalPace(t *testing.T) {
	speech := builtin(t, "I found three documents about the opening hours of the library.") // 11 words
	if seconds := float64(len(speech.PCM)) / float64(speech.Rate); seconds < 3 || seconds > 6 {
		t.Errorf("eleven words take %.1f s", seconds)
	}
}

func TestHissIsBrighterThanHum(t *testing.T) {
	if hiss, vowel, hum := crossings(t, "sss"), crossings(t, "eeee"), crossings(t, "mmm"); hiss < 4*vowel || vowel < hum {
		t.Errorf("zero crossings a second: s %d, ee %d, m %d", hiss, vowel, hum)
	}
}

func TestQuestionRises(t *testing.T) {
	asked, _ := score(phrases("You are here?"), Manner{})
	said, _ := score(phrases("You are here."), Manner{})
	if last := asked[len(asked)-1].pitch; last < pitchStart {
		t.Errorf("question ends at %.0f Hz, below its beginning", last)
	}
	expect.Equal(t, said[len(said)-1].pitch, pitchEnd, "statement ends at Hz")
}

func TestEverySpellingHasSounds(t *testing.T) {
	for _, table := range []map[string]string{spellings, spoken} {
		for spelling, names := range table {
			for _, name := range strings.Fields(names) {
				if _, ok := sounds[name]; !ok {
					t.Errorf("%q is spelled with %q, which is no sound", spelling, name)
				}
			}
		}
	}
}

func TestPronounce(t *testing.T) {
	for word, want := range map[string]string{
		"ship":    "sh ih stop p space",
		"thing,":  "th ih ng comma",
		"name.":   "n ae m end",
		"the":     "dh uh space",
		"nation!": "n ae sh uh n end",
		"42":      "f aw r stop t oo space",
		"\"oh\"?": "aw h end",
	} {
		var expected []sound
		for _, name := range strings.Fields(want) {
			expected = append(expected, sounds[name])
		}
		expect.List(t, pronounce(word), expected, "%s is pronounced", word)
	}
}

func TestBuiltinVoiceStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Fail((synthesiser{}).Speak(ctx, "Hello", Manner{}))(t, context.Canceled, "error is")
}

func builtin(t *testing.T, text string) *Speech {
	t.Helper()
	return must.Get(synthesiser{}.Speak(t.Context(), text, Manner{}))(t)
}

func chunkText(s *Speech) string {
	var texts []string
	for _, chunk := range s.Chunks {
		texts = append(texts, chunk.Text)
	}
	return strings.Join(texts, " ")
}

func crossings(t *testing.T, text string) int {
	t.Helper()
	pcm := builtin(t, text).PCM
	count := 0
	for i := 1; i < len(pcm); i++ {
		if (pcm[i] < 0) != (pcm[i-1] < 0) {
			count++
		}
	}
	return count * synthRate / len(pcm)
}

// TestFewTextsAreMadeAtOnce: while the limit of simultaneous texts is reached, another one waits until its context ends.
func TestFewTextsAreMadeAtOnce(t *testing.T) {
	for range cap(speaking) {
		speaking <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	expect.Fail((synthesiser{}).Speak(ctx, "Hi.", Manner{}))(t, context.Canceled, "a text too many")
	<-speaking
	if s, err := (synthesiser{}).Speak(t.Context(), "Hi.", Manner{}); err != nil || len(s.PCM) == 0 {
		t.Errorf("a text that has a place: %v", err)
	}
	for range cap(speaking) - 1 {
		<-speaking
	}
}
