package voice

import (
	"strings"
	"time"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/audio"
)

const (
	// A phrase ends with the word that gives it this many letters: two or three short words, or a long one.
	phraseLetters = 8
	// A word with a full stop and at most this many letters may be an abbreviation. It must not be the end of a phrase,
	// where the voice would pause.
	abbreviationLetters = 3
	// A digit takes as long to say as a word of this many letters.
	digitLetters = 4
	// Length of the windows that count as sound or silence.
	soundWindow = 10 * time.Millisecond
)

// phrases cuts a text into the chunks that captions will show. Control characters and surplus space are dropped, as is
// what exceeds MaxText.
func phrases(text string) []string {
	var all []string
	var phrase strings.Builder
	letters := 0
	for _, word := range words(text) {
		if phrase.Len() > 0 {
			phrase.WriteByte(' ')
		}
		phrase.WriteString(word)
		here := weight(word)
		letters += here
		if here == 0 || strings.HasSuffix(word, ".") && here <= abbreviationLetters {
			continue
		}
		if letters >= phraseLetters || strings.ContainsAny(word[len(word)-1:], ".,;:!?") {
			all = append(all, phrase.String())
			phrase.Reset()
			letters = 0
		}
	}
	switch rest := phrase.String(); {
	case rest == "":
	case letters == 0 && len(all) > 0: // a trailing sign is not worth a chunk, and has perhaps no sound
		all[len(all)-1] += " " + rest
	case weight(rest) > 0:
		all = append(all, rest)
	}
	return all
}

func words(text string) []string {
	count := 0
	return strings.FieldsFunc(strings.ToValidUTF8(text, " "), func(r rune) bool {
		count++
		return count > MaxText || unicode.IsSpace(r) || unicode.IsControl(r)
	})
}

// weight estimates how long a text takes to say, in letters. Characters other than letters and digits count as silent.
func weight(text string) int {
	sum := 0
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			sum += digitLetters
		case unicode.IsLetter(r):
			sum++
		}
	}
	return sum
}

// chunksAt makes chunks of phrases that begin at the given samples; the first begins with the sound.
func chunksAt(phrases []string, starts []int, samples, rate int) []Chunk {
	chunks := make([]Chunk, len(phrases))
	from := time.Duration(0)
	for i, text := range phrases {
		end := samples
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		to := audio.Duration(end, rate)
		chunks[i] = Chunk{Text: text, Duration: to - from}
		from = to
	}
	return chunks
}

// apportion estimates where phrases begin in a sound that comes without timing. The audible time is divided between
// them in proportion to their letters; silence does not count, so that long pauses do not shift the estimate.
func apportion(phrases []string, pcm []int16, rate int) []Chunk {
	window := audio.Samples(soundWindow, rate)
	levels := audio.Loudness(pcm, max(window, 1))
	audible := 0
	for _, level := range levels {
		if level > 0 {
			audible++
		}
	}
	total := weight(strings.Join(phrases, ""))

	starts := make([]int, len(phrases))
	heard, i, letters := 0, 0, 0
	for k, phrase := range phrases {
		for i < len(levels) && heard*total < letters*audible {
			if levels[i] > 0 {
				heard++
			}
			i++
		}
		for k > 0 && i < len(levels) && levels[i] == 0 {
			i++
		}
		starts[k] = i * window
		letters += weight(phrase)
	}
	return chunksAt(phrases, starts, len(pcm), rate)
}
