package renderer

import (
	"math/rand/v2"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

const (
	// The part of the difference to a new loudness that one frame makes up: a mouth opens faster than it closes.
	mouthRise = 0.75
	mouthFall = 0.5
	// At or below mouthSilence there is no voice; after mouthSilenceFrames such frames the mouth is closed.
	mouthSilence       = 0.05
	mouthSilenceFrames = 2
	// A shape is shown for at least mouthShortest frames, and for at most mouthLongest while the voice continues.
	mouthShortest = 2
	mouthLongest  = 5
	// The level changes only when the loudness is this far beyond the border.
	mouthHysteresis = 0.04
	// Motion applies to what a voice is louder than this, so that a mouth with little motion still moves.
	mouthLeast = 0.2
)

// mouthBorders are the values of loudness that separate the levels of opening.
var mouthBorders = []float64{0.1, 0.45, 0.65, 0.8}

// mouthShapes are the shapes for each level; the mouth alternates between them while the loudness stays the same.
var mouthShapes = [][]clip.Mouth{
	{clip.Closed},
	{clip.Parted, clip.Toothy},
	{clip.Half, clip.Narrow, clip.Pursed},
	{clip.Open, clip.Round, clip.Narrow},
	{clip.Wide, clip.Open},
}

// mouth is the state of the lips. With random and motion set, its zero value is a closed mouth.
type mouth struct {
	random   *rand.Rand
	motion   float64 // see [Motion]
	shape    clip.Mouth
	age      int // frames that the shape has been shown
	level    int
	loudness float64 // smoothed
	silent   int     // frames without a voice
}

// follow returns the shape for the next frame.
func (m *mouth) follow(loudness float64) clip.Mouth {
	m.listen(loudness)
	m.age++
	if m.silent > 0 && m.silent < mouthSilenceFrames {
		return m.shape // a change now would keep the mouth from closing in the next frame
	}
	level := m.nextLevel()
	if m.age < mouthShortest || level == m.level && (level == 0 || m.age < mouthLongest) {
		return m.shape
	}
	m.level, m.shape, m.age = level, m.anotherShape(level), 0
	return m.shape
}

func (m *mouth) listen(loudness float64) {
	if !(loudness > mouthSilence) { // this way round, not-a-number is silence
		loudness = 0
		m.silent++
	} else {
		m.silent = 0
		if loudness > mouthLeast {
			loudness = mouthLeast + (loudness-mouthLeast)*m.motion/DefaultMotion.Speaking
		}
	}
	share := mouthRise
	if loudness < m.loudness {
		share = mouthFall
	}
	m.loudness += (min(loudness, 1) - m.loudness) * share
}

func (m *mouth) nextLevel() int {
	if m.silent >= mouthSilenceFrames {
		return 0
	}
	level := m.level
	for level < len(mouthBorders) && m.loudness > mouthBorders[level]+mouthHysteresis {
		level++
	}
	for level > 0 && m.loudness < mouthBorders[level-1]-mouthHysteresis {
		level--
	}
	return level
}

// anotherShape picks a shape of a level that differs from the present one where the level has several.
func (m *mouth) anotherShape(level int) clip.Mouth {
	shapes := mouthShapes[level]
	pick := m.random.IntN(len(shapes))
	if shapes[pick] == m.shape {
		pick = (pick + 1) % len(shapes)
	}
	return shapes[pick]
}
