package audio

import "slices"

const (
	// G722Rate is the sample rate of G.722, in samples a second.
	G722Rate         = 16000
	g722FrameSamples = G722Rate / 50
	// One byte holds six bits of the low band and two of the high one for a pair of samples: 64 kbit/s.
	g722FrameBytes = g722FrameSamples / 2
)

// g722Silence is the code of no difference in the low band and of the smallest one in the high band. A decoder that
// gets only this code reaches a constant state within a fifth of a second, and so does the encoder's copy of that
// state. Encoding zeros would not have that effect: the quantiser has no zero and would follow its own noise for ever.
const g722Silence = 0xfd

// G722 encodes one continuous 16 kHz stream at 64 kbit/s (ITU-T G.722, mode 1), frame by frame. It carries the codec's
// state from frame to frame, so a stream needs one encoder for its whole life, silence included; that also keeps joins
// between utterances free of clicks. It is not safe for concurrent use.
type G722 struct {
	split     qmf
	low, high band
	// resting means that another frame of silence would leave the state as it is.
	resting bool
}

// NewG722 returns an encoder at the start of a stream.
func NewG722() *G722 {
	return &G722{low: lowBand(), high: highBand()}
}

// Encode appends one frame of [FrameDuration], 160 bytes, to dst. A pcm that is shorter than a frame is completed with
// silence, so nil is a frame of silence; samples beyond one frame are ignored. Lasting silence costs next to nothing.
func (e *G722) Encode(dst []byte, pcm []int16) []byte {
	// While the filter still contains the end of the preceding sound, silence is encoded like any other frame.
	if !slices.ContainsFunc(pcm, func(sample int16) bool { return sample != 0 }) && e.split == (qmf{}) {
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

// G722Decoder decodes the frames of G722. It is not safe for concurrent use.
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
