package recognizer

import (
	"math"
	"math/bits"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
)

const (
	// Rate is the sample rate of all sound, mono.
	Rate = 16000
	// FrameTime is how much sound a detector judges at a time.
	FrameTime = 20 * time.Millisecond
	// FrameSamples is how many samples that is.
	FrameSamples = Rate / int(time.Second/FrameTime)
)

// Levels, in dB relative to full scale, and distances in dB.
const (
	// lowestFloor is the lowest level assumed for the noise of a room: browsers' noise suppression can output digital silence.
	lowestFloor = -60
	// unknownFloor is assumed while there has been only digital silence, as behind a noise gate or a mute: the noise of the room is not
	// known yet.
	unknownFloor = -45
	// onsetAbove is how far speech must rise above the noise to begin, staysAbove to go on: speech fades out.
	onsetAbove = 9
	staysAbove = 6
	// highPass removes hum and rumble below speech: the pole of a DC blocker, -3 dB at 130 Hz.
	highPass = 0.95
)

// Times in frames.
const (
	// floorFrames is the period whose lowest level is the noise floor: within three seconds speech has a pause, noise doesn't.
	floorFrames = 150
	// learnFrames must have passed before anything counts as speech, and before the noise floor is used.
	learnFrames = 10
	// onsetVoiced is how many voiced frames (80 ms) among the last 8, the bits of Detector.recent, begin a turn. So a click is not taken
	// for speech, and the onset is reported well within 200 ms.
	onsetVoiced = 4
	// preRoll is the sound before the onset that belongs to the turn, because speech often begins softly.
	preRoll = 20
	// postRoll is the silence after the last voiced frame that belongs to the turn.
	postRoll = 10
)

const (
	// turnSilence is the pause that ends a turn.
	turnSilence = 700 * time.Millisecond
	// minSpeech is the voiced time below which a turn was a cough and is dropped.
	minSpeech = 160 * time.Millisecond
	// maxTurn bounds a turn, also one by tap-to-talk.
	maxTurn = time.Minute
)

// Turn is what a user said without a pause, or within a tap-to-talk window.
type Turn struct {
	// PCM is the sound, at Rate, with a little of the silence around it.
	PCM []int16
	// Speech is how much of it is voiced. It may be 0 for a tap-to-talk window.
	Speech time.Duration
}

// Detector finds turns in sound. The zero value is ready; it is not safe for concurrent use.
type Detector struct {
	raw []int16 // of the frame that is being filled

	lastIn, lastOut float64 // of the high-pass

	frames int       // so far, up to learnFrames
	levels []float64 // of the last floorFrames frames that were not digital silence
	next   int       // where the next level goes, once levels is full

	recent   uint8   // one bit per frame, set if it is voiced; the newest is the lowest
	earlier  []int16 // the last preRoll frames while there is no speech
	speaking bool
	tap      bool
	turn     []int16 // sound of the turn, when speaking or tap
	voiced   int     // frames of the turn
	quiet    int     // frames since the last voiced one
}

// Feed takes pcm, of any length. It calls onset when speech has begun and end with every finished turn.
func (d *Detector) Feed(pcm []int16, onset func(), end func(Turn)) {
	for len(pcm) > 0 {
		n := min(FrameSamples-len(d.raw), len(pcm))
		d.raw = append(d.raw, pcm[:n]...)
		pcm = pcm[n:]
		if len(d.raw) == FrameSamples {
			d.judge(d.raw, onset, end)
			d.raw = d.raw[:0]
		}
	}
}

// OpenTap begins to collect a turn regardless of speech and pauses. It includes a turn that is in progress.
func (d *Detector) OpenTap() {
	if !d.tap && !d.speaking {
		d.begin()
	}
	d.tap, d.speaking = true, false
}

// CloseTap returns what was collected since OpenTap; ok is false if there was no OpenTap.
func (d *Detector) CloseTap() (t Turn, ok bool) {
	if !d.tap {
		return Turn{}, false
	}
	d.tap = false
	return d.finish(), true
}

func (d *Detector) judge(frame []int16, onset func(), end func(Turn)) {
	voiced := d.isVoiced(frame)
	d.recent <<= 1
	if voiced {
		d.recent |= 1
	}
	switch {
	case d.tap:
		d.collect(frame, voiced)
	case d.speaking:
		d.collect(frame, voiced)
		if d.ended() {
			d.speaking = false
			d.trim()
			t := d.finish()
			if t.Speech >= minSpeech {
				end(t)
			}
		}
	default:
		d.remember(frame)
		if bits.OnesCount8(d.recent) >= onsetVoiced {
			d.begin()
			d.turn = append(d.turn, d.earlier...)
			d.voiced = bits.OnesCount8(d.recent)
			d.speaking = true
			onset()
		}
	}
}

// begin starts a turn.
func (d *Detector) begin() {
	d.turn, d.voiced, d.quiet = nil, 0, 0
}

// collect adds a frame to the turn. Frames beyond maxTurn are dropped.
func (d *Detector) collect(frame []int16, voiced bool) {
	if audio.Duration(len(d.turn), Rate) < maxTurn {
		d.turn = append(d.turn, frame...)
	}
	d.quiet++
	if voiced {
		d.voiced++
		d.quiet = 0
	}
}

// ended reports whether the pause that ends a turn has passed, or the turn has become too long.
func (d *Detector) ended() bool {
	return time.Duration(d.quiet)*FrameTime >= turnSilence || audio.Duration(len(d.turn), Rate) >= maxTurn
}

// trim shortens the pause at the end of the turn to postRoll.
func (d *Detector) trim() {
	if surplus := d.quiet - postRoll; surplus > 0 {
		d.turn = d.turn[:len(d.turn)-surplus*FrameSamples]
	}
}

// finish returns the turn and resets the detector for the next one.
func (d *Detector) finish() Turn {
	t := Turn{PCM: d.turn, Speech: time.Duration(d.voiced) * FrameTime}
	d.begin()
	d.recent, d.earlier = 0, d.earlier[:0]
	return t
}

// remember keeps the frame for the beginning of a turn.
func (d *Detector) remember(frame []int16) {
	if len(d.earlier) == preRoll*FrameSamples {
		d.earlier = d.earlier[:copy(d.earlier, d.earlier[FrameSamples:])]
	}
	d.earlier = append(d.earlier, frame...)
}

// isVoiced reports whether the frame stands out from the noise of the last seconds.
func (d *Detector) isVoiced(frame []int16) bool {
	level := d.level(frame)
	learned := d.frames == learnFrames
	d.frames = min(d.frames+1, learnFrames)
	if math.IsInf(level, -1) {
		return false // a muted track, or none: no sample of the room's noise
	}
	above := float64(onsetAbove)
	if d.speaking || d.tap && d.voiced > 0 {
		above = staysAbove
	}
	voiced := learned && level >= d.floor()+above
	if len(d.levels) < floorFrames {
		d.levels = append(d.levels, level)
	} else {
		d.levels[d.next] = level
		d.next = (d.next + 1) % floorFrames
	}
	return voiced
}

// floor is the level of the noise.
func (d *Detector) floor() float64 {
	if len(d.levels) < learnFrames {
		return unknownFloor
	}
	lowest := math.Inf(1)
	for _, level := range d.levels {
		lowest = min(lowest, level)
	}
	return max(lowest, lowestFloor)
}

// level is the RMS level of the frame without its lowest tones.
func (d *Detector) level(frame []int16) float64 {
	var sum float64
	silent := true
	for _, sample := range frame {
		in := float64(sample) / -math.MinInt16
		out := in - d.lastIn + highPass*d.lastOut
		d.lastIn, d.lastOut = in, out
		sum += out * out
		silent = silent && sample == 0
	}
	if silent {
		d.lastIn, d.lastOut = 0, 0
		return math.Inf(-1)
	}
	return 10 * math.Log10(sum/float64(len(frame)))
}
