//go:build !js

package av

import (
	"slices"

	"github.com/thesyncim/gopus"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// speechBitrate is the bit rate of encoded sound, in bits a second: speech in full quality.
const speechBitrate = 32000

// opusRates are the sample rates that Opus encodes without conversion (RFC 6716 §2.1.3).
var opusRates = []int{8000, 12000, 16000, 24000, 48000}

// Encoder encodes one sound as Opus, in packets of 20 ms. It is not safe for concurrent use.
type Encoder struct {
	opus      *gopus.Encoder
	resampler *audio.Resampler
	pcm       []int16 // not yet encoded
	frame     int     // samples in a packet
}

// NewEncoder returns an encoder of mono samples, rate of them a second, 8,000 to 96,000. Error: validation_error.
func NewEncoder(rate int) (*Encoder, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	to := rate
	if !slices.Contains(opusRates, rate) {
		to = opusRate
	}
	o, err := gopus.NewEncoder(gopus.EncoderConfig{SampleRate: to, Channels: 1, Application: gopus.ApplicationVoIP})
	if err != nil {
		return nil, err
	}
	if err := o.SetBitrate(speechBitrate); err != nil {
		return nil, err
	}
	return &Encoder{opus: o, resampler: audio.NewResampler(rate, to), frame: audio.Samples(audio.FrameDuration, to)}, nil
}

// Encode adds pcm to the sound and returns the packets that are complete.
func (e *Encoder) Encode(pcm []int16) ([]media.Sample, error) {
	e.pcm = e.resampler.Resample(e.pcm, pcm)
	var packets []media.Sample
	for len(e.pcm) >= e.frame {
		data, err := e.opus.EncodeInt16Slice(e.pcm[:e.frame])
		if err != nil {
			return nil, err
		}
		e.pcm = append(e.pcm[:0], e.pcm[e.frame:]...)
		packets = append(packets, media.Sample{Data: data, Duration: audio.FrameDuration})
	}
	return packets, nil
}

// Flush returns the last packet, which silence completes; none if nothing is left.
func (e *Encoder) Flush() ([]media.Sample, error) {
	e.pcm = e.resampler.Flush(e.pcm)
	if rest := len(e.pcm) % e.frame; rest > 0 {
		e.pcm = append(e.pcm, make([]int16, e.frame-rest)...)
	}
	return e.Encode(nil)
}
