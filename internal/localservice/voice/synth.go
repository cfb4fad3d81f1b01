package voice

import (
	"context"
	"math"
	"runtime"
	"strings"
)

const (
	synthRate = 16000
	// The formants in the tables are a man's; a woman's vocal tract is shorter.
	tractScale = 1.15
	// Pitch falls from the first to the last sound of a text, in Hz; a question ends higher.
	pitchStart, pitchEnd, pitchQuestion = 215.0, 165.0, 285.0
	// Longer words carry an accent on their first vowel.
	accentLetters = 4
	accentRise    = 1.12
	// Time constants of movements: of the tongue, and of vocal cords and breath.
	tongueSeconds, cordsSeconds = 0.018, 0.006
	// Share of a cycle in which the cords are open.
	openQuotient = 0.6
	// The RMS level of the finished sound, of full scale: that of the other voices.
	synthLevel = 0.09
)

// synthesiser is the built-in voice: cords and noise, shaped by the resonances of a mouth. The zero value is ready, and the
// same text always sounds the same.
type synthesiser struct{}

var _ Voice = synthesiser{}

// speaking limits how many texts are synthesised at the same time. A sentence takes milliseconds of a core; without the limit,
// video frames and audio packets would be late when many sessions begin a sentence together.
var speaking = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

func (synthesiser) Speak(ctx context.Context, text string, how Manner) (*Speech, error) {
	select {
	case speaking <- struct{}{}:
		defer func() { <-speaking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	parts := phrases(text)
	line, firsts := score(parts, how)
	mouth := newTract(how.timbre())
	samples := 0
	for _, n := range line {
		samples += n.samples()
	}
	wave := make([]float64, 0, samples) // growing would copy it twenty times
	starts := make([]int, 0, len(parts))
	for i, note := range line {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(starts) < len(firsts) && firsts[len(starts)] == i {
			starts = append(starts, len(wave))
		}
		wave = mouth.say(wave, note)
	}
	speech := &Speech{PCM: levelled(wave), Rate: synthRate}
	speech.Chunks = chunksAt(parts, starts, len(wave), synthRate)
	return speech, nil
}

// note is a sound with its pitch in Hz at its end.
type note struct {
	sound
	pitch float64
}

func (n *note) samples() int { return int(n.millis * synthRate / 1000) }

// score is the melody of a text, with the index of each phrase's first note.
func score(phrases []string, how Manner) (line []note, firsts []int) {
	for _, phrase := range phrases {
		firsts = append(firsts, len(line))
		for _, word := range strings.Fields(phrase) {
			accent := 1.0
			if weight(word) >= accentLetters {
				accent = accentRise
			}
			for _, s := range pronounce(word) {
				n := note{sound: s, pitch: 1}
				if s.voice >= 0.9 { // a vowel
					n.pitch, accent = accent, 1
				}
				line = append(line, n)
			}
		}
	}
	rise := 0.0
	if len(phrases) > 0 && strings.HasSuffix(strings.TrimRight(phrases[len(phrases)-1], "\"')"), "?") {
		rise = pitchQuestion - pitchEnd
	}
	pitch, speed := how.timbre().pitch, how.speed()
	for i := range line {
		t := float64(i+1) / float64(len(line))
		last := max(0, 1-float64(len(line)-1-i)/6) // the rise is in the last six sounds
		line[i].pitch = pitch * (line[i].pitch*(pitchStart+(pitchEnd-pitchStart)*t) + rise*last)
		line[i].millis /= speed
	}
	return line, firsts
}

// tract is the state of throat and mouth.
type tract struct {
	scale               float64 // of the formants in the tables
	pitch, phase        float64
	voice, breath, hiss float64
	formants            [3]float64
	mouth               [5]resonator
	teeth               resonator
	noise               uint32
}

// The two upper resonances of a mouth hardly move.
const fourthFormant, fifthFormant = 3500.0, 4500.0

func newTract(of timbre) *tract {
	t := &tract{scale: tractScale * of.tract, pitch: pitchStart * of.pitch, formants: [3]float64{500, 1500, 2500}, noise: 1}
	t.mouth[3].tune(fourthFormant*t.scale, 250)
	t.mouth[4].tune(fifthFormant*t.scale, 300)
	return t
}

// retuneSamples is how often the resonators follow the tongue, in samples: every 2 ms.
const retuneSamples = synthRate / 500

// say appends one note.
func (t *tract) say(wave []float64, n note) []float64 {
	target := n.formants
	if target[0] == 0 {
		target = t.formants
	}
	if n.hissAt > 0 {
		t.teeth.tune(n.hissAt, 0.25*n.hissAt)
	}
	bandwidths := [3]float64{70, 100, 150}
	for i := range n.samples() {
		if i%retuneSamples == 0 {
			for k := range t.formants {
				t.formants[k] = approach(t.formants[k], target[k], tongueSeconds/retuneSamples)
				t.mouth[k].tune(t.formants[k]*t.scale, bandwidths[k])
			}
		}
		t.pitch = approach(t.pitch, n.pitch, 0.04)
		t.voice = approach(t.voice, n.voice, cordsSeconds)
		t.breath = approach(t.breath, n.breath, cordsSeconds)
		t.hiss = approach(t.hiss, n.hiss, cordsSeconds)
		wave = append(wave, t.next())
	}
	return wave
}

// approach is one sample of a movement towards target with a time constant in seconds.
func approach(value, target, seconds float64) float64 {
	return value + (target-value)*min(1, 1/(seconds*synthRate))
}

func (t *tract) next() float64 {
	t.phase += t.pitch / synthRate
	t.phase -= math.Floor(t.phase)
	noise := t.random()
	out := t.voice*cords(t.phase) + 0.3*(t.breath+0.04*t.voice)*noise
	for i := range t.mouth {
		out = t.mouth[i].pass(out)
	}
	return out + 0.5*t.hiss*t.teeth.pass(noise)
}

// cords is the derivative of the air flow through the vocal cords: it swells while they are open and stops as they close.
func cords(phase float64) float64 {
	if phase >= openQuotient {
		return 0
	}
	x := phase / openQuotient
	return 2*x - 3*x*x
}

// random is white noise from -1 to 1 (a xorshift generator, the same in every run).
func (t *tract) random() float64 {
	t.noise ^= t.noise << 13
	t.noise ^= t.noise >> 17
	t.noise ^= t.noise << 5
	return float64(t.noise)/(1<<31) - 1
}

// resonator is a two-pole filter with unit gain at zero frequency.
type resonator struct {
	a, b, c float64
	y1, y2  float64
}

func (r *resonator) tune(hz, bandwidth float64) {
	radius := math.Exp(-math.Pi * bandwidth / synthRate)
	r.c = -radius * radius
	r.b = 2 * radius * math.Cos(2*math.Pi*min(hz, 0.47*synthRate)/synthRate)
	r.a = 1 - r.b - r.c
}

func (r *resonator) pass(x float64) float64 {
	y := r.a*x + r.b*r.y1 + r.c*r.y2
	r.y1, r.y2 = y, r.y1
	return y
}

// levelled brings a sound to synthLevel, softly limited.
func levelled(wave []float64) []int16 {
	var sum float64
	for _, v := range wave {
		sum += v * v
	}
	pcm := make([]int16, len(wave))
	if sum == 0 {
		return pcm
	}
	gain := synthLevel / math.Sqrt(sum/float64(len(wave)))
	for i, v := range wave {
		pcm[i] = int16(math.MaxInt16 * math.Tanh(gain*v))
	}
	return pcm
}
