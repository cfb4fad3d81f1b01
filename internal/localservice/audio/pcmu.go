package audio

import "time"

const (
	pcmuRate         = 8000
	pcmuFrameSamples = pcmuRate / framesPerSecond

	// µ-law adds a bias so that every segment starts at a power of two, and clips where the bias would overflow
	// (ITU-T G.711).
	ulawBias = 0x84
	ulawClip = 32635
)

// PCMU is the G.711 µ-law encoder. It has no state: its zero value is ready.
type PCMU struct{}

var _ Encoder = PCMU{}

// MimeType is the codec's name in SDP.
func (PCMU) MimeType() string { return "audio/PCMU" }

// PayloadClockRate is the RTP clock in Hz.
func (PCMU) PayloadClockRate() uint32 { return pcmuRate }

// SampleRate is 8000 Hz.
func (PCMU) SampleRate() int { return pcmuRate }

// FrameDuration is 20 ms: 160 bytes.
func (PCMU) FrameDuration() time.Duration { return FrameDuration }

// Encode appends one frame of 160 bytes.
func (PCMU) Encode(dst []byte, pcm []int16) []byte {
	for i := range pcmuFrameSamples {
		var sample int16
		if i < len(pcm) {
			sample = pcm[i]
		}
		dst = append(dst, ulaw(sample))
	}
	return dst
}

// ulaw is one sample as sign, three bits of segment and four of mantissa, all inverted.
func ulaw(sample int16) byte {
	value, sign := int(sample), byte(0)
	if value < 0 {
		value, sign = -value, 0x80
	}
	value = min(value, ulawClip) + ulawBias
	segment := 7
	for mask := 0x4000; segment > 0 && value&mask == 0; mask >>= 1 {
		segment--
	}
	mantissa := byte(value>>(segment+3)) & 0x0f
	return ^(sign | byte(segment)<<4 | mantissa)
}
