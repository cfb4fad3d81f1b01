package recognizer

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// speech is 1.2 s of a voice in digital silence, at about -25 dB.
func speech(t testing.TB) []int16 {
	t.Helper()
	raw := must.Get(os.ReadFile("../../audio/testdata/speech.s16"))(t)
	pcm := make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(raw[2*i]) | int16(raw[2*i+1])<<8
	}
	return pcm
}

// amplify changes the level by dB.
func amplify(pcm []int16, dB float64) []int16 {
	gain := math.Pow(10, dB/20)
	out := make([]int16, len(pcm))
	for i, s := range pcm {
		out[i] = clip(float64(s) * gain)
	}
	return out
}

func clip(v float64) int16 { return int16(min(max(v, math.MinInt16), math.MaxInt16)) }

// quiet is digital silence.
func quiet(d time.Duration) []int16 { return make([]int16, int(d*Rate/time.Second)) }

// noise is white noise of a level in dB.
func noise(d time.Duration, dB float64) []int16 {
	random := rand.New(rand.NewPCG(1, 2))
	pcm := quiet(d)
	for i := range pcm {
		pcm[i] = clip(random.NormFloat64() * math.Pow(10, dB/20) * -math.MinInt16)
	}
	return pcm
}

// hum is a tone.
func hum(d time.Duration, hertz, dB float64) []int16 {
	pcm := quiet(d)
	for i := range pcm {
		pcm[i] = clip(math.Sqrt2 * math.Pow(10, dB/20) * -math.MinInt16 * math.Sin(2*math.Pi*hertz*float64(i)/Rate))
	}
	return pcm
}

// mix adds b to a from the time at.
func mix(a, b []int16, at time.Duration) []int16 {
	out := slices.Clone(a)
	start := int(at * Rate / time.Second)
	for i, s := range b {
		if start+i < len(out) {
			out[start+i] = clip(float64(out[start+i]) + float64(s))
		}
	}
	return out
}

// heard is what a detector made of a sound.
type heard struct {
	onsets []time.Duration
	turns  []Turn
	ends   []time.Duration
}

// listen feeds pcm as a microphone would.
func listen(d *Detector, pcm []int16) (h heard) {
	for at := 0; at < len(pcm); at += FrameSamples {
		piece := pcm[at:min(at+FrameSamples, len(pcm))]
		now := audio.Duration(at+len(piece), Rate)
		d.Feed(piece,
			func() { h.onsets = append(h.onsets, now) },
			func(t Turn) {
				h.turns = append(h.turns, t)
				h.ends = append(h.ends, now)
			})
	}
	return h
}

// audible returns when the first and the last loud frame of the speech are over.
func audible(pcm []int16) (first, last time.Duration) {
	for at := 0; at+FrameSamples <= len(pcm); at += FrameSamples {
		var sum float64
		for _, s := range pcm[at : at+FrameSamples] {
			sum += float64(s) * float64(s)
		}
		if math.Sqrt(sum/float64(FrameSamples)) > 300 {
			last = audio.Duration(at+FrameSamples, Rate)
			if first == 0 {
				first = last
			}
		}
	}
	return first, last
}

func TestSpeechIsFoundInRoomsOfAllKinds(t *testing.T) {
	const at, total = 4 * time.Second, 8 * time.Second
	voice := speech(t)
	for name, tc := range map[string]struct {
		room  []int16
		level float64 // change of the voice's, in dB
	}{
		"digital silence":       {quiet(total), 0},
		"quiet room":            {noise(total, -65), 0},
		"fan":                   {noise(total, -45), 0},
		"loud fan":              {noise(total, -38), 0},
		"mains hum":             {hum(total, 50, -25), 0},
		"low voice":             {noise(total, -65), -15},
		"loud voice":            {noise(total, -50), 10},
		"from another time":     {mix(quiet(total), noise(5*time.Second, -45), 3*time.Second), 0},
		"noise that fades away": {mix(noise(total, -60), noise(2*time.Second, -40), 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := listen(&Detector{}, mix(tc.room, amplify(voice, tc.level), at))
			first, last := audible(voice)
			if len(h.onsets) != 1 || len(h.turns) != 1 {
				t.Fatalf("onsets at %v, turns until %v; want one of each", h.onsets, h.ends)
			}
			if late := h.onsets[0] - at - first; late < 0 || late > 200*time.Millisecond {
				t.Errorf("onset %v after speech began, want at most 200ms", late)
			}
			if pause := h.ends[0] - at - last; pause < 500*time.Millisecond || pause > 900*time.Millisecond {
				t.Errorf("turn ended %v after speech, want about 700ms", pause)
			}
			if got := audio.Duration(len(h.turns[0].PCM), Rate); got < last-first || got > last-first+time.Second {
				t.Errorf("turn has %v of sound, want little more than the %v of speech", got, last-first)
			}
		})
	}
}

func TestNoSpeechIsFoundInNoise(t *testing.T) {
	const total = 10 * time.Second
	click := noise(20*time.Millisecond, -10)
	typing := noise(total, -60)
	for at := time.Second; at < total; at += 180 * time.Millisecond {
		typing = mix(typing, click, at)
	}
	for name, pcm := range map[string][]int16{
		"digital silence":             quiet(total),
		"steady noise":                noise(total, -30),
		"hum":                         hum(total, 100, -20),
		"typing":                      typing,
		"constant":                    slices.Repeat([]int16{5000}, 10*Rate),
		"noise after digital silence": append(quiet(5*time.Second), noise(5*time.Second, -40)...),
		"noise with dropouts": slices.Concat(
			noise(3*time.Second, -40), quiet(2*time.Second), noise(3*time.Second, -40), quiet(20*time.Millisecond), noise(time.Second, -40),
		),
	} {
		if h := listen(&Detector{}, pcm); len(h.onsets) != 0 {
			t.Errorf("%s: onsets at %v", name, h.onsets)
		}
	}
}

// A fan that is switched on may be taken for speech, but not for ever.
func TestNoiseThatStartsIsGotUsedTo(t *testing.T) {
	pcm := append(noise(4*time.Second, -60), noise(20*time.Second, -35)...)
	h := listen(&Detector{}, pcm)
	if len(h.onsets) > 1 || len(h.ends) > 1 || len(h.ends) == 1 && h.ends[0] > 9*time.Second {
		t.Errorf("onsets %v, ends %v; want the noise to be ignored after about four seconds", h.onsets, h.ends)
	}
}

func TestPausesWithinATurnDoNotEndIt(t *testing.T) {
	voice := speech(t)
	pcm := slices.Concat(quiet(time.Second), voice, quiet(300*time.Millisecond), voice, quiet(2*time.Second), voice, quiet(2*time.Second))
	h := listen(&Detector{}, pcm)
	if len(h.onsets) != 2 || len(h.turns) != 2 {
		t.Fatalf("onsets %v, ends %v; want two turns", h.onsets, h.ends)
	}
	if a, b := h.turns[0].Speech, h.turns[1].Speech; a < 2*b-200*time.Millisecond || a > 2*b+200*time.Millisecond {
		t.Errorf("first turn has %v of speech, second %v; want twice as much", a, b)
	}
}

func TestCoughIsNoTurn(t *testing.T) {
	cough := noise(100*time.Millisecond, -15)
	pcm := mix(noise(5*time.Second, -65), cough, 2*time.Second)
	if h := listen(&Detector{}, pcm); len(h.turns) != 0 {
		t.Errorf("turns of %v", h.turns[0].Speech)
	}
}

func TestTurnIsCutWhenItIsTooLong(t *testing.T) {
	voice := speech(t)
	pcm := slices.Concat(quiet(time.Second), slices.Repeat(voice, 60), quiet(2*time.Second))
	h := listen(&Detector{}, pcm)
	if len(h.turns) != 2 {
		t.Fatalf("%d turns of 72 s of speech, want 2", len(h.turns))
	}
	expect.Equal(t, audio.Duration(len(h.turns[0].PCM), Rate), maxTurn, "first turn has")
}

func TestTapWindowIsOneTurn(t *testing.T) {
	voice := speech(t)
	d := &Detector{}
	if _, ok := d.CloseTap(); ok {
		t.Error("a window that was not open was closed")
	}
	listen(d, noise(time.Second, -65))
	d.OpenTap()
	sound := slices.Concat(voice, quiet(3*time.Second), voice)
	if h := listen(d, sound); len(h.onsets) != 0 || len(h.turns) != 0 {
		t.Errorf("onsets %v and ends %v within the window", h.onsets, h.ends)
	}
	turn, ok := d.CloseTap()
	if !ok || !slices.Equal(turn.PCM, sound) {
		t.Errorf("window has %d samples, want the %d that were said", len(turn.PCM), len(sound))
	}
	if turn.Speech < time.Second || turn.Speech > 2400*time.Millisecond {
		t.Errorf("window has %v of speech, want about 2s", turn.Speech)
	}
	if h := listen(d, quiet(2*time.Second)); len(h.onsets) != 0 || len(h.turns) != 0 {
		t.Error("something is left of the window")
	}
}

func TestSilentTapWindowHasNoSpeech(t *testing.T) {
	d := &Detector{}
	listen(d, noise(time.Second, -50))
	d.OpenTap()
	listen(d, noise(2*time.Second, -50))
	if turn, ok := d.CloseTap(); !ok || turn.Speech != 0 || len(turn.PCM) != 2*Rate {
		t.Errorf("window has %v of speech in %d samples, %v; want none", turn.Speech, len(turn.PCM), ok)
	}
	d.OpenTap()
	listen(d, noise(2*maxTurn, -50))
	if turn, _ := d.CloseTap(); audio.Duration(len(turn.PCM), Rate) != maxTurn {
		t.Errorf("window has %v, want at most %v", audio.Duration(len(turn.PCM), Rate), maxTurn)
	}
}

func TestTapWindowTakesOverATurn(t *testing.T) {
	voice := speech(t)
	d := &Detector{}
	h := listen(d, append(noise(time.Second, -65), voice[:len(voice)/2]...))
	if len(h.onsets) != 1 {
		t.Fatalf("onsets %v, want one", h.onsets)
	}
	d.OpenTap()
	listen(d, voice[len(voice)/2:])
	if turn, _ := d.CloseTap(); audio.Duration(len(turn.PCM), Rate) < 1100*time.Millisecond {
		t.Errorf("window has %v, want all of the speech", audio.Duration(len(turn.PCM), Rate))
	}
}

func TestPiecesOfAnySizeGiveTheSameTurns(t *testing.T) {
	pcm := mix(noise(4*time.Second, -60), speech(t), time.Second)
	want := listen(&Detector{}, pcm)
	d := &Detector{}
	var turns []Turn
	for rest := pcm; len(rest) > 0; {
		n := min(len(rest), 1+rand.IntN(2000))
		d.Feed(rest[:n], func() {}, func(t Turn) { turns = append(turns, t) })
		rest = rest[n:]
	}
	if len(turns) != 1 || !slices.Equal(turns[0].PCM, want.turns[0].PCM) {
		t.Error("the turn depends on the size of the pieces")
	}
}
