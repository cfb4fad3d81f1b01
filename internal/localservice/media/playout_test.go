package media

import (
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
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
	p.queue = []*utterance{newUtterance(0, first, voiceRate), newUtterance(10*time.Millisecond, second, voiceRate)}
	want := slices.Concat(first, make([]int16, 160), second)
	got := drain(&p)
	expect.List(t, got[:len(want)], want, "samples are not those of both utterances with 10 ms between them")
	if rest := got[len(want):]; len(rest) >= samplesPerSlot || slices.ContainsFunc(rest, func(s int16) bool { return s != 0 }) {
		t.Errorf("%d samples after the end, want less than a slot of silence", len(rest))
	}
}

func TestLoudnessFollowsTheVoice(t *testing.T) {
	pcm := make([]int16, 4*samplesPerSlot) // silent, full, silent, full
	for i := range samplesPerSlot {
		pcm[samplesPerSlot+i] = int16(20000 * (1 - 2*(i%2)))
		pcm[3*samplesPerSlot+i] = pcm[samplesPerSlot+i]
	}
	p := playout{queue: []*utterance{newUtterance(0, pcm, voiceRate)}}
	slot := make([]int16, samplesPerSlot)
	for i, want := range []float64{0, 1, 0, 1, 0} {
		if got, _ := p.next(slot); got != want {
			t.Errorf("loudness of slot %d = %v, want %v", i, got, want)
		}
	}
}

func TestOtherRatesAreConverted(t *testing.T) {
	u := newUtterance(0, make([]int16, 24000), 24000)
	expect.Equal(t, len(u.pcm), voiceRate, "a second at 24 kHz became samples")
}
