package media

import (
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/audio"
)

const (
	// slotTime is the grid of a stream: one piece of voice per slot, one frame in every other.
	slotTime       = audio.FrameDuration
	slotsPerFrame  = 2
	frameTime      = slotsPerFrame * slotTime // 25 frames a second
	voiceRate      = 16000                    // samples per second of everything that is played
	samplesPerSlot = voiceRate / int(time.Second/slotTime)
)

// Utterance is a stretch of speech to play. Utterances follow each other without a gap.
type Utterance struct {
	// PCM is mono.
	PCM []int16
	// Rate of PCM in samples per second. Default 16000, which saves converting.
	Rate int
	// Lead is a silence before the speech.
	Lead time.Duration
	// Marks are positions in PCM, in ascending order, that Notify is told of.
	Marks []time.Duration
	// Notify, when set, is called as the utterance is sent. It is called on the stream's goroutine: it must return at once and
	// must not call the stream.
	Notify func(Event)
}

// Event tells how far an utterance has got.
type Event struct {
	Kind EventKind
	// Position in the utterance's PCM.
	Position time.Duration
}

// EventKind is what happened to an utterance.
type EventKind int

// An utterance starts, reaches each of its marks, and finishes; one that is cut by [Stream.Stop] does nothing more.
const (
	Started EventKind = iota
	Reached
	Finished
)

// playout is the queue of utterances and the place in it, without a clock.
type playout struct {
	queue []*playing // the first is being played
}

// playing is an utterance with its state.
type playing struct {
	Utterance
	loudness []float64 // per slot of PCM
	lead     int       // samples of silence to go
	pos      int       // samples played
	marks    int       // marks reached
	started  bool
}

func newPlaying(u Utterance) *playing {
	if u.Rate != 0 {
		u.PCM = audio.Resample(u.PCM, u.Rate, voiceRate)
	}
	return &playing{Utterance: u, loudness: audio.Loudness(u.PCM, samplesPerSlot), lead: samplesIn(u.Lead)}
}

func samplesIn(d time.Duration) int {
	return int(d * voiceRate / time.Second)
}

func timeOf(samples int) time.Duration {
	return time.Duration(samples) * time.Second / voiceRate
}

// next fills slot with the next samples and returns their loudness, and whether there was any speech in them.
func (p *playout) next(slot []int16) (loudness float64, speech bool) {
	clear(slot)
	for at := 0; at < len(slot) && len(p.queue) > 0; {
		u := p.queue[0]
		if u.lead > 0 {
			quiet := min(u.lead, len(slot)-at)
			u.lead -= quiet
			at += quiet
			continue
		}
		if !u.started {
			u.started = true
			u.notify(Started)
		}
		n := copy(slot[at:], u.PCM[u.pos:])
		if n > 0 {
			speech = true
			loudness = max(loudness, u.loudness[u.pos/samplesPerSlot])
		}
		at += n
		u.pos += n
		for u.marks < len(u.Marks) && samplesIn(u.Marks[u.marks]) <= u.pos {
			u.marks++
			u.notify(Reached)
		}
		if u.pos == len(u.PCM) {
			p.queue = p.queue[1:]
			u.notify(Finished)
		}
	}
	return loudness, speech
}

// notify reports the position; a mark is reported as it was set.
func (u *playing) notify(kind EventKind) {
	if u.Notify == nil {
		return
	}
	e := Event{Kind: kind, Position: timeOf(u.pos)}
	if kind == Reached {
		e.Position = u.Marks[u.marks-1]
	}
	u.Notify(e)
}

// stop empties the queue and returns how much of the utterance being played was played.
func (p *playout) stop() time.Duration {
	var played time.Duration
	if len(p.queue) > 0 {
		played = timeOf(p.queue[0].pos)
	}
	p.queue = nil
	return played
}
