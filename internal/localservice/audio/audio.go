// Package audio turns speech samples into what a WebRTC track carries: the codecs that every browser plays and that
// pure Go can encode (G.722, and PCMU for an offer without it), sample-rate conversion, and the loudness that moves a
// mouth.
//
// Samples are mono, signed 16 bit. The package knows nothing of RTP, peers, sessions or where a voice comes from, and
// imports only the standard library.
package audio

import "time"

// FrameDuration is the playing time of one encoded frame: what WebRTC stacks packetise by default.
const FrameDuration = 20 * time.Millisecond

// framesPerSecond is one second over FrameDuration.
const framesPerSecond = int(time.Second / FrameDuration)

// Encoder encodes one continuous mono stream, frame by frame. It carries the codec's state from frame to frame, so a
// stream needs one encoder for its whole life, silence included; that is also what keeps joins between utterances free
// of clicks. It is not safe for concurrent use.
type Encoder interface {
	// MimeType is the codec's name in SDP, such as "audio/G722".
	MimeType() string
	// PayloadClockRate is the RTP clock in Hz, which for G.722 is not the sample rate (RFC 3551 §4.5.2).
	PayloadClockRate() uint32
	// SampleRate is the rate in Hz that Encode expects.
	SampleRate() int
	// FrameDuration is the playing time of what one call of Encode appends.
	FrameDuration() time.Duration
	// Encode appends one encoded frame to dst. A pcm that is shorter than a frame is completed with silence, so nil is
	// a frame of silence; samples beyond one frame are ignored. Lasting silence costs next to nothing.
	Encode(dst []byte, pcm []int16) []byte
}
