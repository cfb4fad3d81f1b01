package renderer

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

func TestMouthClosesWithin100msOfSilence(t *testing.T) {
	for spoken := 1; spoken < 60; spoken++ {
		p := NewPlayer(H264, clip.Robin, DefaultMotion, uint64(spoken))
		for i := range spoken {
			p.Next(voice(i), false)
		}
		p.Next(0, false)
		p.Next(0, false) // seen from 40 to 80 ms after the voice ended
		expect.Equal(t, p.mouth.shape, clip.Closed, "after %d frames of voice and 80 ms of silence the mouth shows shape", spoken)
	}
}

func TestMouthOpensWithin80msOfVoice(t *testing.T) {
	p := NewPlayer(H264, clip.Robin, DefaultMotion, 1)
	for range 100 {
		p.Next(0, false)
	}
	p.Next(1, false)
	p.Next(1, false)
	if p.mouth.shape == clip.Closed {
		t.Error("mouth is still closed after 80 ms of voice")
	}
}

// The picture of each face is its own.
func TestFacesDiffer(t *testing.T) {
	seen := map[string]Face{}
	for face := range clip.Faces {
		picture := string(NewPlayer(H264, face, DefaultMotion, 1).Next(0, true))
		if other, again := seen[picture]; again {
			t.Errorf("%s looks like %s", face, other)
		}
		seen[picture] = face
	}
}

// TestMouthShapes are all used, and each of them stays for at least two frames.
func TestMouthShapes(t *testing.T) {
	p := NewPlayer(H264, clip.Robin, DefaultMotion, 1)
	shown, shape := 2, clip.Closed
	seen := map[clip.Mouth]bool{shape: true}
	for i := range 5000 {
		p.Next(voice(i), false)
		if p.mouth.shape != shape {
			if shown < 2 {
				t.Fatalf("frame %d: shape %d was shown for %d frame", i, shape, shown)
			}
			shown, shape = 0, p.mouth.shape
			seen[shape] = true
		}
		shown++
	}
	if len(seen) != int(clip.Mouths) {
		t.Errorf("%d shapes seen, want %d: %v", len(seen), clip.Mouths, seen)
	}
}

func TestMouthOpensWiderForLouderVoice(t *testing.T) {
	for _, test := range []struct {
		loudness float64
		level    int
	}{{0, 0}, {0.3, 1}, {0.6, 2}, {0.8, 3}, {1, 4}, {math.NaN(), 0}, {math.Inf(-1), 0}, {-3, 0}, {math.Inf(1), 4}} {
		p := NewPlayer(H264, clip.Robin, DefaultMotion, 1)
		for range 20 {
			p.Next(test.loudness, false)
		}
		expect.Equal(t, p.mouth.level, test.level, "loudness %v opens the mouth to level", test.loudness)
	}
}

func TestFaceBlinksAtNaturalIntervals(t *testing.T) {
	for name, loudness := range map[string]func(int) float64{
		"silent":  func(int) float64 { return 0 },
		"talking": func(int) float64 { return 0.8 },
	} {
		p := NewPlayer(H264, clip.Robin, DefaultMotion, 7)
		var blinks []int
		const frames = 300 * FrameRate
		for i := range frames {
			before := p.blink
			p.Next(loudness(i), false)
			if p.blink > before || p.idle && startsBlink(p) {
				blinks = append(blinks, i)
			}
		}
		for i := 1; i < len(blinks); i++ {
			// An idle clip brings its blink up to ten frames early or late.
			if interval := blinks[i] - blinks[i-1]; interval < blinkShortest-20 || interval > blinkLongest+20 {
				t.Errorf("%s: blinks %d frames apart", name, interval)
			}
		}
		if len(blinks) < 50 || len(blinks) > 150 {
			t.Errorf("%s: %d blinks in five minutes, want 50 to 150", name, len(blinks))
		}
	}
}

// startsBlink reports whether the last frame began a blink of an idle clip.
func startsBlink(p *Player) bool {
	for _, idle := range []clip.Idle{clip.BlinkEarly, clip.BlinkMiddle, clip.BlinkLate} {
		start, _ := idle.BlinkFrame()
		if p.current == clip.Breathing(p.out, idle) && p.at == start+1 {
			return true
		}
	}
	return false
}

func TestFaceBreathesInAndOutInTurn(t *testing.T) {
	p := NewPlayer(H264, clip.Robin, DefaultMotion, 3)
	for half := range 20 {
		for range clip.Frames {
			p.Next(0, false)
			if p.out != (half%2 == 1) {
				t.Fatalf("breath %d: breathing out is %v", half, p.out)
			}
		}
	}
}

// entered reports whether the last frame was the first of a clip, which is a key frame.
func entered(p *Player) bool { return p.at == 1 }

func TestKeyFramesComeAtOnceWhenAskedAndEveryTwoSeconds(t *testing.T) {
	for _, codec := range []Codec{H264, VP8} {
		p := NewPlayer(codec, clip.Robin, DefaultMotion, 5)
		if p.Next(0, false); !entered(p) {
			t.Fatalf("codec %d: first frame is not a key frame", codec)
		}
		since := 0
		for i := range 4000 {
			loudness := 0.0
			if i%1000 > 500 {
				loudness = 0.9
			}
			asked := i%37 == 0 && i < 2000
			since++
			if p.Next(loudness, asked); entered(p) {
				since = 0
			} else if asked {
				t.Fatalf("codec %d, frame %d: no key frame although one was asked for", codec, i)
			}
			if since >= 2*FrameRate {
				t.Fatalf("codec %d, frame %d: no key frame for two seconds", codec, i)
			}
		}
	}
}

func TestSameSeedSameFrames(t *testing.T) {
	a, b, other := NewPlayer(VP8, clip.Robin, DefaultMotion, 1), NewPlayer(VP8, clip.Robin, DefaultMotion, 1), NewPlayer(VP8, clip.Robin, DefaultMotion, 2)
	differ := false
	for i := range 1000 {
		frame := a.Next(voice(i), false)
		if !bytes.Equal(frame, b.Next(voice(i), false)) {
			t.Fatalf("frame %d differs between two players with one seed", i)
		}
		differ = differ || !bytes.Equal(frame, other.Next(voice(i), false))
	}
	if !differ {
		t.Error("players with different seeds show the same")
	}
}

func TestTalkingStaysBelowOneMegabit(t *testing.T) { everyFace(t, talkingIsSmall) }

func talkingIsSmall(t *testing.T, f Face) {
	for _, codec := range []Codec{H264, VP8} {
		p := NewPlayer(codec, f, DefaultMotion, 1)
		var size []int
		for i := range 60 * FrameRate {
			size = append(size, len(p.Next(voice(i), false)))
		}
		for start := 0; start+FrameRate <= len(size); start += FrameRate {
			bits := 0
			for _, bytes := range size[start : start+FrameRate] {
				bits += 8 * bytes
			}
			if bits > 1_000_000 {
				t.Errorf("codec %d: %d bits in second %d", codec, bits, start/FrameRate)
			}
		}
		if largest := slices.Max(size); largest > 9000 {
			t.Errorf("codec %d: a frame has %d bytes", codec, largest)
		}
	}
}

// TestMotion: with more motion the mouth opens wider for the same voice, and the silent face breathes and looks aside more
// often; with none it only blinks.
func TestMotion(t *testing.T) {
	wide, breaths, glances := -1, -1, -1
	for _, amount := range []float64{0, 0.25, 0.5, 1} {
		speaking := NewPlayer(VP8, clip.Robin, Motion{amount, 0.5}, 1)
		opened := 0
		for i := range 5000 {
			speaking.Next(voice(i), false)
			opened += speaking.mouth.level
		}
		if opened <= wide {
			t.Errorf("speaking %v opens the mouth %d, want more than %d", amount, opened, wide)
		}
		wide = opened

		silent := NewPlayer(VP8, clip.Robin, Motion{0.5, amount}, 1)
		breathed, glanced, blinked := 0, 0, 0
		for range 60 * 60 * FrameRate {
			silent.Next(0, false)
			if silent.idle {
				breathed++
			}
			if silent.current == clip.Breathing(silent.out, clip.Glance) {
				glanced++
			}
			if silent.current == clip.Talking(clip.Closed, clip.EyesClosed) || startsBlink(silent) {
				blinked++
			}
		}
		if breathed < breaths || glanced <= glances || amount <= 0.5 && breathed == breaths || blinked == 0 || amount == 0 && breathed > 0 {
			t.Errorf("nonSpeaking %v: %d frames of breath after %d, %d of glances after %d, %d of blinks",
				amount, breathed, breaths, glanced, glances, blinked)
		}
		breaths, glances = breathed, glanced
	}
}

// TestSomebodySpeaksWithLittleMotion: the mouth still shows that the face speaks.
func TestSomebodySpeaksWithLittleMotion(t *testing.T) {
	p := NewPlayer(VP8, clip.Robin, Motion{}, 1)
	for range 10 {
		p.Next(1, false)
	}
	if p.mouth.level == 0 {
		t.Error("the mouth is closed while the face speaks")
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	p := NewPlayer(H264, clip.Robin, DefaultMotion, 1)
	i := 0
	expect.Equal(t, testing.AllocsPerRun(1000, func() { p.Next(voice(i), false); i++ }), 0, "allocations for a frame")
}

// voice is a loudness like that of speech: syllables of a fifth of a second, and a pause after every three seconds.
func voice(frame int) float64 {
	if frame%100 >= 75 {
		return 0
	}
	return math.Abs(math.Sin(float64(frame)*0.61)) * (0.6 + 0.4*math.Sin(float64(frame)*0.17))
}
