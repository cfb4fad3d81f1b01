package renderer

import (
	"math/rand/v2"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

const (
	// A pause this long, in frames, switches from the talking face to the idle one. Shorter pauses occur between words.
	pauseFrames = 15
	// People blink every two to six seconds.
	blinkShortest = 2 * FrameRate
	blinkLongest  = 6 * FrameRate
	// Share of the idle clips without a blink that have a glance aside, for the most motion.
	glances = 0.4
)

// blinkEyes are the eyes in the frames of a blink of the talking face.
var blinkEyes = []clip.Eyes{clip.EyesHalf, clip.EyesClosed, clip.EyesClosed, clip.EyesHalf}

// Motion is how much a face moves.
type Motion struct {
	Speaking    float64 // of the mouth, from 0 (hardly) to 1 (as wide as it gets)
	NonSpeaking float64 // of the silent face, from 0 (it only blinks) to 1 (it breathes, and often looks aside)
}

// DefaultMotion is that of an avatar without any settings.
var DefaultMotion = Motion{Speaking: 0.5, NonSpeaking: 0.5}

// Player is the picture of one session. It is not safe for concurrent use.
type Player struct {
	shared *footage
	random *rand.Rand
	motion Motion

	mouth mouth
	quiet int // frames since the mouth closed

	untilBlink int // frames until the next blink; blinks of the idle face are part of its clips
	blink      int // frames that remain of a blink of the talking face

	current   clip.ID
	at        int // the frame of the current clip that comes next
	idle      bool
	rest      int  // frames that remain of a pause between two breaths
	out       bool // the idle face breathes out
	variant   int  // of the last key frame
	keyWanted bool
}

// NewPlayer returns a player of a face at rest. Players that are made in the same way and get the same loudness show the same
// frames.
func NewPlayer(c Codec, f Face, m Motion, seed uint64) *Player {
	p := &Player{
		shared: footages[c][f](),
		motion: m,
		random: rand.New(rand.NewPCG(seed, 0)),
		quiet:  pauseFrames,
		out:    true, // the first idle clip breathes in
		at:     clip.Frames,
	}
	p.mouth.random, p.mouth.motion = p.random, m.Speaking
	p.untilBlink = p.blinkInterval()
	return p
}

// Next returns the next frame, as one access unit: in Annex B form for H264, with the parameter sets before every key
// frame. It is shared by all players and must not be changed. Loudness is that of the voice during the frame, from 0
// (silent) to 1 (as loud as the voice gets); see audio.Loudness. keyFrame makes it a key frame, for a viewer that joined
// late or lost packets (RFC 4585 PLI).
func (p *Player) Next(loudness float64, keyFrame bool) []byte {
	p.keyWanted = keyFrame
	shape := p.mouth.follow(loudness)
	p.quiet++
	if shape != clip.Closed {
		p.quiet = 0
	}
	p.untilBlink--
	if p.quiet >= pauseFrames && p.blink == 0 {
		return p.nextIdle()
	}
	return p.nextTalking(shape)
}

func (p *Player) nextTalking(shape clip.Mouth) []byte {
	p.idle = false
	if p.untilBlink <= 0 {
		p.blink = len(blinkEyes)
		p.untilBlink = p.blinkInterval()
	}
	eyes := clip.EyesOpen
	if p.blink > 0 {
		eyes = blinkEyes[len(blinkEyes)-p.blink]
		p.blink--
	}
	if state := clip.Talking(shape, eyes); state != p.current || p.at == clip.Frames || p.keyWanted {
		return p.enter(state)
	}
	return p.proceed()
}

func (p *Player) nextIdle() []byte {
	if p.rests() {
		return p.nextTalking(clip.Closed)
	}
	switch {
	case !p.idle:
		p.idle, p.out = true, false
	case p.at == clip.Frames:
		p.out = !p.out
	case p.keyWanted: // in the same direction of breath
	default:
		return p.proceed()
	}
	return p.enter(clip.Breathing(p.out, p.chooseIdle()))
}

// rests reports whether the face holds still: with little motion, it pauses before a breath, for the length of one.
func (p *Player) rests() bool {
	if beginsBreath := !p.idle || p.out && p.at == clip.Frames; p.rest == 0 && beginsBreath &&
		p.motion.NonSpeaking < DefaultMotion.NonSpeaking && p.random.Float64() >= 2*p.motion.NonSpeaking {
		p.rest = clip.Frames
	}
	if p.rest == 0 {
		return false
	}
	p.rest--
	return true
}

// chooseIdle picks what the face does besides breathing: a blink that is due, or sometimes a glance.
func (p *Player) chooseIdle() clip.Idle {
	for _, idle := range []clip.Idle{clip.BlinkEarly, clip.BlinkMiddle, clip.BlinkLate} {
		start, _ := idle.BlinkFrame()
		if p.untilBlink <= start+clip.Frames/int(clip.Idles) {
			p.untilBlink = start + p.blinkInterval()
			return idle
		}
	}
	if p.random.Float64() < glances*p.motion.NonSpeaking {
		return clip.Glance
	}
	return clip.Still
}

func (p *Player) blinkInterval() int {
	return blinkShortest + p.random.IntN(blinkLongest-blinkShortest)
}

// enter begins a clip with its key frame.
func (p *Player) enter(id clip.ID) []byte {
	p.current, p.at = id, 1
	p.variant = 1 - p.variant
	return p.shared.keys[id][p.variant]
}

// proceed returns the next frame of the current clip.
func (p *Player) proceed() []byte {
	frame := p.shared.set.Clips[p.current][p.at]
	p.at++
	return frame
}
