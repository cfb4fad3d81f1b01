package audio

import (
	"math"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestPCMUFollowsG711(t *testing.T) {
	for _, test := range []struct {
		sample int16
		want   byte
	}{
		{0, 0xff},
		{-1, 0x7f},
		{4, 0xfe}, // half a step rounds up
		{1000, 0xce},
		{-1000, 0x4e},
		{8059, 0xa0}, // the last of its segment
		{8060, 0x9f},
		{math.MaxInt16, 0x80},
		{math.MinInt16, 0x00},
	} {
		frame := EncodePCMU([]byte{1}, []int16{test.sample, test.sample})
		want := append([]byte{1, test.want}, slices.Repeat([]byte{0xff}, 159)...) // completed with silence
		if !slices.Equal(frame, want) {
			t.Errorf("frame of %d is % x …, want % x …", test.sample, frame[:4], want[:4])
		}
	}
}

func TestPCMUComesBack(t *testing.T) {
	for code := range 256 {
		value := DecodePCMU(nil, []byte{byte(code)})[0]
		if back := ulaw(int(value)); back != byte(code) && value != 0 { // there are two codes of zero
			t.Errorf("code %#x is %d, whose code is %#x", code, value, back)
		}
	}
}

func TestResampleInPieces(t *testing.T) {
	for _, rates := range [][2]int{{44100, 48000}, {16000, 48000}, {48000, 16000}, {8000, 8000}, {48000, 8000}} {
		from, to := rates[0], rates[1]
		pcm := tone(700, from, from/3)
		want := Resample(pcm, from, to)
		r := NewResampler(from, to)
		for range 2 { // the second sound begins like the first
			var got []int16
			for i, size := 0, 1; i < len(pcm); size = size*3%997 + 1 {
				n := min(size, len(pcm)-i)
				got = r.Resample(got, pcm[i:i+n])
				i += n
			}
			if got = r.Flush(got); !slices.Equal(got, want) {
				t.Errorf("%d to %d Hz: pieces give %d samples that differ from the %d of the whole", from, to, len(got), len(want))
			}
		}
	}
}

func TestResampleKeepsToneAndLength(t *testing.T) {
	for _, rates := range [][2]int{{22050, 16000}, {24000, 16000}, {16000, 8000}, {48000, 16000}, {8000, 16000}, {44100, 16000}} {
		from, to := rates[0], rates[1]
		const hz = 1000
		got := Resample(tone(hz, from, from/2), from, to)
		want := tone(hz, to, to/2)
		if len(got) != len(want) {
			t.Errorf("%d to %d Hz: %d samples, want %d", from, to, len(got), len(want))
			continue
		}
		edge := to / 100 // near the ends the filter lacks input
		for i := edge; i < len(got)-edge; i++ {
			if difference := math.Abs(float64(got[i]) - float64(want[i])); difference > 4 {
				t.Errorf("%d to %d Hz: sample %d is %d, want %d", from, to, i, got[i], want[i])
				break
			}
		}
	}
}

func TestResampleStopsWhatTheLowerRateCannotHold(t *testing.T) {
	got := Resample(tone(6000, 22050, 22050), 22050, 8000)
	if level := Level(got[400 : len(got)-400]); level > -80 {
		t.Errorf("a 6 kHz tone comes through to 8 kHz sampling at %.0f dB, want at most -80", level)
	}
}

func TestResampleEdges(t *testing.T) {
	pcm := []int16{1, 2, 3}
	if got := Resample(pcm, 16000, 16000); &got[0] != &pcm[0] {
		t.Error("equal rates made a copy")
	}
	expect.Len(t, Resample(nil, 22050, 16000), 0, "nothing became samples")
	expect.Len(t, Resample(pcm, 16000, 8000), 1, "three samples at half the rate became")
}

func TestLoudnessIsRelativeToTheLoudestWindow(t *testing.T) {
	const window = 640
	pcm := slices.Concat(
		scaled(0.001, window), // 60 dB below the loudest
		scaled(1, window),
		scaled(0.158489, window), // 16 dB below, half of the range
		make([]int16, window/2),
	)
	got := Loudness(pcm, window)
	want := []float64{0, 1, 0.5, 0}
	if len(got) != len(want) {
		t.Fatalf("%d windows, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.01 {
			t.Errorf("window %d is %.3f, want %.3f", i, got[i], want[i])
		}
	}
}

func TestLoudnessOfFaintNoiseIsZero(t *testing.T) {
	for i, level := range Loudness(scaled(0.0005, 1280), 640) {
		expect.Equal(t, level, 0, "window %d is", i)
	}
}

// tone is a sine at a quarter of full scale.
func tone(hz, rate, samples int) []int16 {
	pcm := make([]int16, samples)
	for i := range pcm {
		pcm[i] = clip16(8192 * math.Sin(2*math.Pi*float64(hz)*float64(i)/float64(rate)))
	}
	return pcm
}

// scaled is a 500 Hz tone at 16 kHz with an amplitude between 0 and 1.
func scaled(amplitude float64, samples int) []int16 {
	pcm := tone(500, 16000, samples)
	for i, sample := range pcm {
		pcm[i] = clip16(float64(sample) * 4 * amplitude * 0.9)
	}
	return pcm
}
