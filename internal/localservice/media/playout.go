package media

import (
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
)

const (
	// slotTime is the period of a stream's clock: one piece of voice in each slot, one frame in every other.
	slotTime       = audio.FrameDuration
	slotsPerFrame  = 2
	frameTime      = slotsPerFrame * slotTime // 25 frames a second
	voiceRate      = audio.G722Rate           // samples per second of everything that is played
	samplesPerSlot = voiceRate / int(time.Second/slotTime)
)

// playout is the queue of utterances and the position in it, without a clock.
type playout struct {
	queue []*utterance // the first is being played
}

// utterance is a stretch of speech. Utterances follow each other without a gap.
type utterance struct {
	pcm      []int16
	loudness []float64 // for each slot of pcm
	lead     int       // samples of silence that are left before pcm
	position int       // samples of pcm that were played
}

func newUtterance(lead time.Duration, pcm []int16, rate int) *utterance {
	pcm = audio.Resample(pcm, rate, voiceRate)
	return &utterance{pcm: pcm, loudness: audio.Loudness(pcm, samplesPerSlot), lead: audio.Samples(lead, voiceRate)}
}

// next fills slot with the next samples and returns their loudness, and whether there was any speech in them.
func (p *playout) next(slot []int16) (loudness float64, speech bool) {
	clear(slot)
	for at := 0; at < len(slot) && len(p.queue) > 0; {
		u := p.queue[0]
		if u.lead > 0 {
			silence := min(u.lead, len(slot)-at)
			u.lead -= silence
			at += silence
			continue
		}
		n := copy(slot[at:], u.pcm[u.position:])
		if n > 0 {
			speech = true
			loudness = max(loudness, u.loudness[u.position/samplesPerSlot])
		}
		at += n
		u.position += n
		if u.position == len(u.pcm) {
			p.queue = p.queue[1:]
		}
	}
	return loudness, speech
}
