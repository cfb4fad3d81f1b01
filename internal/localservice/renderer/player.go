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
	// One in glanceEvery idle clips without a blink has a glance aside.
	glanceEvery = 5
)

// blinkEyes are the eyes in the frames of a blink of the talking face.
var blinkEyes = []clip.Eyes{clip.EyesHalf, clip.EyesClosed, clip.EyesClosed, clip.EyesHalf}

// Player is the picture of one session. It is not safe for concurrent use.
type Player struct {
	shared *footage
	random *rand.Rand

	mouth mouth
	quiet int // frames since the mouth closed

	untilBlink int // frames until the next blink; blinks of the idle face are part of its clips
	blink      int // frames that remain of a blink of the talking face

	current   clip.ID
	at        int // the frame of the current clip that comes next
	idle      bool
	out       bool // the idle face breathes out
	variant   int  // of the last key frame
	keyWanted bool
}

// NewPlayer returns a player at rest. Players with the same seed and the same loudness show the same frames.
func NewPlayer(c Codec, seed uint64) *Player {
	p := &Player{
		shared: h264Footage(),
		random: rand.New(rand.NewPCG(seed, 0)),
		quiet:  pauseFrames,
		out:    true, // the first idle clip breathes in
		at:     clip.Frames,
	}
	if c == VP8 {
		p.shared = vp8Footage()
	}
	p.mouth.random = p.random
	p.untilBlink = p.blinkInterval()
	return p
}

// RequestKeyFrame makes the next frame a key frame, for a viewer that joined late or lost packets (RFC 4585 PLI).
func (p *Player) RequestKeyFrame() { p.keyWanted = true }

// Next returns the next frame. Loudness is that of the voice during the frame, from 0 (silent) to
// 1 (as loud as the voice gets); see audio.Loudness.
func (p *Player) Next(loudness float64) Frame {
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

func (p *Player) nextTalking(shape clip.Mouth) Frame {
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

func (p *Player) nextIdle() Frame {
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

// chooseIdle picks what the face does besides breathing: a blink that is due, or sometimes a glance.
func (p *Player) chooseIdle() clip.Idle {
	for _, idle := range []clip.Idle{clip.BlinkEarly, clip.BlinkMiddle, clip.BlinkLate} {
		start, _ := idle.BlinkFrame()
		if p.untilBlink <= start+clip.Frames/int(clip.Idles) {
			p.untilBlink = start + p.blinkInterval()
			return idle
		}
	}
	if p.random.IntN(glanceEvery) == 0 {
		return clip.Glance
	}
	return clip.Still
}

func (p *Player) blinkInterval() int {
	return blinkShortest + p.random.IntN(blinkLongest-blinkShortest)
}

// enter begins a clip with its key frame.
func (p *Player) enter(id clip.ID) Frame {
	p.current, p.at, p.keyWanted = id, 1, false
	p.variant = 1 - p.variant
	return Frame{Data: p.shared.keys[id][p.variant], Key: true}
}

// proceed returns the next frame of the current clip.
func (p *Player) proceed() Frame {
	frame := p.shared.set.Clips[p.current][p.at]
	p.at++
	return Frame{Data: frame}
}
