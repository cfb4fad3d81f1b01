package audio

import "time"

const (
	g722Rate         = 16000
	g722FrameSamples = g722Rate / framesPerSecond
	// One byte holds six bits of the low band and two of the high one for a pair of samples: 64 kbit/s.
	g722FrameBytes = g722FrameSamples / 2
	// RFC 3551 §4.5.2: the clock stays at the 8000 Hz that RFC 1890 gave by mistake.
	g722ClockRate = 8000
)

// g722Silence is the code that quantises to nothing: no difference in the low band, the smallest in the high one. A
// decoder that hears only it comes to rest within a fifth of a second, whatever it heard before, and so does our copy
// of its state. Encoding zeros would not: the quantiser has no zero and would chase its own noise for ever.
const g722Silence = 0xfd

// G722 encodes 16 kHz speech at 64 kbit/s (ITU-T G.722, mode 1).
type G722 struct {
	split     qmf
	low, high band
	// resting means that another frame of silence would leave the state as it is.
	resting bool
}

var _ Encoder = (*G722)(nil)

// NewG722 returns an encoder at the start of a stream.
func NewG722() *G722 {
	return &G722{low: lowBand(), high: highBand()}
}

// MimeType is the codec's name in SDP.
func (*G722) MimeType() string { return "audio/G722" }

// PayloadClockRate is 8000 Hz, half the sample rate.
func (*G722) PayloadClockRate() uint32 { return g722ClockRate }

// SampleRate is 16000 Hz.
func (*G722) SampleRate() int { return g722Rate }

// FrameDuration is 20 ms: 160 bytes.
func (*G722) FrameDuration() time.Duration { return FrameDuration }

// Encode appends one frame of 160 bytes.
func (e *G722) Encode(dst []byte, pcm []int16) []byte {
	// The filter still holds the end of what was heard before; its frame is encoded as it sounds.
	if allZero(pcm) && e.split == (qmf{}) {
		return e.encodeSilence(dst)
	}
	e.resting = false
	for i := 0; i < g722FrameSamples; i += 2 {
		dst = append(dst, e.encodePair(sampleAt(pcm, i), sampleAt(pcm, i+1)))
	}
	return dst
}

func (e *G722) encodeSilence(dst []byte) []byte {
	low, high := e.low, e.high
	for range g722FrameBytes {
		dst = append(dst, g722Silence)
		if !e.resting {
			e.low.stepLow(g722Silence & 0x3f)
			e.high.stepHigh(g722Silence >> 6)
		}
	}
	e.resting = e.low == low && e.high == high
	return dst
}

func (e *G722) encodePair(first, second int16) byte {
	e.split.push(int32(first), int32(second))
	odd, even := e.split.sums()
	low := e.low.encodeLow((even + odd) >> 14)
	high := e.high.encodeHigh((even - odd) >> 14)
	return high<<6 | low
}

// G722Decoder decodes what G722 encodes: the ear of tests and tools. It is not safe for concurrent use.
type G722Decoder struct {
	join      qmf
	low, high band
}

// NewG722Decoder returns a decoder at the start of a stream.
func NewG722Decoder() *G722Decoder {
	return &G722Decoder{low: lowBand(), high: highBand()}
}

// Decode appends two 16 kHz samples to dst for each byte of payload.
func (d *G722Decoder) Decode(dst []int16, payload []byte) []int16 {
	for _, code := range payload {
		low := d.low.decodeLow(code & 0x3f)
		high := d.high.decodeHigh(code >> 6)
		d.join.push(low+high, low-high)
		odd, even := d.join.sums()
		dst = append(dst, int16(saturate(even>>11)), int16(saturate(odd>>11)))
	}
	return dst
}

func sampleAt(pcm []int16, i int) int16 {
	if i < len(pcm) {
		return pcm[i]
	}
	return 0
}

func allZero(pcm []int16) bool {
	for _, sample := range pcm {
		if sample != 0 {
			return false
		}
	}
	return true
}
