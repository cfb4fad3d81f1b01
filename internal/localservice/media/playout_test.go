package media

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// ramp is n samples that tell their position.
func ramp(n int) []int16 {
	pcm := make([]int16, n)
	for i := range pcm {
		pcm[i] = int16(i%30000 + 1)
	}
	return pcm
}

// drain plays p until the queue is empty and returns the samples.
func drain(p *playout) []int16 {
	var all []int16
	for slot := make([]int16, samplesPerSlot); len(p.queue) > 0; {
		p.next(slot)
		all = append(all, slot...)
	}
	return all
}

func TestUtterancesFollowWithoutAGap(t *testing.T) {
	var p playout
	first, second := ramp(1000), ramp(500)
	p.queue = []*playing{newPlaying(Utterance{PCM: first}), newPlaying(Utterance{PCM: second, Lead: 10 * time.Millisecond})}
	want := slices.Concat(first, make([]int16, 160), second)
	got := drain(&p)
	if !slices.Equal(got[:len(want)], want) {
		t.Error("samples are not those of both utterances with 10 ms between them")
	}
	if rest := got[len(want):]; len(rest) >= samplesPerSlot || slices.ContainsFunc(rest, func(s int16) bool { return s != 0 }) {
		t.Errorf("%d samples after the end, want less than a slot of silence", len(rest))
	}
}

func TestUtteranceReportsItsProgress(t *testing.T) {
	var events []string
	note := func(name string) func(Event) {
		return func(e Event) { events = append(events, fmt.Sprint(name, " ", e.Kind, " ", e.Position)) }
	}
	p := playout{queue: []*playing{
		newPlaying(Utterance{
			PCM: ramp(voiceRate / 10), Notify: note("a"),
			Marks: []time.Duration{0, 30 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond},
		}),
		newPlaying(Utterance{Notify: note("empty")}),
		newPlaying(Utterance{PCM: ramp(100), Lead: 20 * time.Millisecond}), // nobody to notify
	}}
	drain(&p)
	want := []string{
		"a 0 0s", "a 1 0s", "a 1 30ms", "a 1 30ms", "a 1 100ms", "a 2 100ms", "empty 0 0s", "empty 2 0s",
	}
	if !slices.Equal(events, want) {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
}

func TestStopTellsHowMuchWasPlayed(t *testing.T) {
	var p playout
	if got := p.stop(); got != 0 {
		t.Errorf("stop of nothing = %v", got)
	}
	p.queue = []*playing{
		newPlaying(Utterance{PCM: ramp(voiceRate), Lead: 20 * time.Millisecond}), newPlaying(Utterance{PCM: ramp(10)}),
	}
	slot := make([]int16, samplesPerSlot)
	for range 4 {
		p.next(slot)
	}
	if got := p.stop(); got != 60*time.Millisecond {
		t.Errorf("stop after 80 ms of which 20 were silent = %v, want 60ms", got)
	}
	if _, speech := p.next(slot); speech {
		t.Error("speech after stop")
	}
}

func TestLoudnessFollowsTheVoice(t *testing.T) {
	pcm := make([]int16, 4*samplesPerSlot) // silent, full, silent, full
	for i := range samplesPerSlot {
		pcm[samplesPerSlot+i] = int16(20000 * (1 - 2*(i%2)))
		pcm[3*samplesPerSlot+i] = pcm[samplesPerSlot+i]
	}
	p := playout{queue: []*playing{newPlaying(Utterance{PCM: pcm})}}
	slot := make([]int16, samplesPerSlot)
	for i, want := range []float64{0, 1, 0, 1, 0} {
		if got, _ := p.next(slot); got != want {
			t.Errorf("loudness of slot %d = %v, want %v", i, got, want)
		}
	}
}

func TestOtherRatesAreConverted(t *testing.T) {
	u := newPlaying(Utterance{PCM: make([]int16, 24000), Rate: 24000})
	if got := len(u.PCM); got != voiceRate {
		t.Errorf("a second at 24 kHz became %d samples, want %d", got, voiceRate)
	}
}
