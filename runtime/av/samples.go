//go:build !js

package av

import (
	"fmt"
	"iter"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/thesyncim/gopus"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// The sample rates of sound, in samples a second.
const (
	LowestRate  = 8000
	HighestRate = 96000
	opusRate    = 48000
)

// longestFill bounds the silence that replaces lost sound. After a longer gap the sound goes on
// without it.
const longestFill = time.Second

// longestPacket is how many samples an Opus packet has at most at 48 kHz: 120 ms (RFC 6716 §2.1.4).
const longestPacket = opusRate * 120 / 1000

// Samples returns the sound of a track as mono PCM with rate samples a second, in pieces of one
// packet, until the track ends. Lost packets are replaced by silence. The sound arrives as fast as it is
// received: [Frames] describes how long missing packets are awaited. The error validation_error reports a codec
// without a decoder, or an invalid rate; a packet that can't be decoded is treated as lost.
func Samples(track Track, rate int) iter.Seq2[[]int16, error] {
	return func(yield func([]int16, error) bool) {
		d, err := NewDecoder(track.Codec().MimeType, rate)
		if err != nil {
			yield(nil, err)
			return
		}
		for f, err := range Frames(track) {
			if err != nil {
				yield(nil, err)
				return
			}
			pcm, err := d.Decode(f)
			if err == nil && !yield(pcm, nil) {
				return
			}
		}
	}
}

// Decoder decodes the frames of one track. It is not safe for concurrent use.
type Decoder struct {
	decode    func(dst []int16, data []byte) ([]int16, error)
	resampler *audio.Resampler
	rate      int           // of decode
	next      time.Duration // the end of the sound so far
	begun     bool
	decoded   []int16
}

// NewDecoder returns a decoder of audio/opus, audio/G722 or audio/PCMU to mono PCM with rate samples a
// second, 8,000 to 96,000. Error: validation_error.
func NewDecoder(codec string, rate int) (*Decoder, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	d := &Decoder{}
	switch codec {
	case webrtc.MimeTypeOpus:
		decoder, err := gopus.NewDecoder(gopus.DefaultDecoderConfig(opusRate, 1))
		if err != nil {
			return nil, err
		}
		d.rate = opusRate
		packet := make([]int16, longestPacket)
		d.decode = func(dst []int16, data []byte) ([]int16, error) {
			n, err := decoder.DecodeInt16(data, packet)
			if err != nil {
				return dst, err
			}
			return append(dst, packet[:n]...), nil
		}
	case webrtc.MimeTypeG722:
		d.rate = audio.G722Rate
		decoder := audio.NewG722Decoder()
		d.decode = func(dst []int16, data []byte) ([]int16, error) { return decoder.Decode(dst, data), nil }
	case webrtc.MimeTypePCMU:
		d.rate = audio.PCMURate
		d.decode = func(dst []int16, data []byte) ([]int16, error) { return audio.DecodePCMU(dst, data), nil }
	default:
		return nil, fault.New(fault.ValidationError, "there is no decoder for "+codec+"; use audio/opus, audio/G722 or audio/PCMU")
	}
	d.resampler = audio.NewResampler(d.rate, rate)
	return d, nil
}

// Decode returns the sound of a frame, after silence for what is missing before it: up to a second. With an
// error the frame counts as missing.
func (d *Decoder) Decode(f Frame) ([]int16, error) {
	decoded, err := d.decode(d.decoded[:0], f.Data)
	d.decoded = decoded
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", f.Codec, err)
	}
	var pcm []int16
	if gap := f.Time - d.next; d.begun && gap > 0 && gap <= longestFill {
		pcm = d.resampler.Resample(pcm, make([]int16, audio.Samples(gap, d.rate)))
	}
	d.begun, d.next = true, f.Time+audio.Duration(len(decoded), d.rate)
	return d.resampler.Resample(pcm, decoded), nil
}

func checkRate(rate int) error {
	if rate < LowestRate || rate > HighestRate {
		return fault.New(fault.ValidationError, fmt.Sprintf("the sample rate must be %d to %d, not %d", LowestRate, HighestRate, rate))
	}
	return nil
}
