// Package audio turns speech samples into what a WebRTC track carries, and back: G.722 and PCMU, WAV and MP3 files,
// sample-rate conversion, and the loudness that moves a mouth.
//
// Samples are mono, signed 16 bit. The package must not depend on RTP, peers, sessions or voices.
package audio

import "time"

// FrameDuration is the playing time of one encoded frame, the default of WebRTC stacks.
const FrameDuration = 20 * time.Millisecond

// Duration returns the playing time of that many samples at rate, in samples per second.
func Duration(samples, rate int) time.Duration {
	return time.Duration(int64(samples) * int64(time.Second) / int64(rate))
}

// Samples returns the number of samples in d at rate, in samples per second.
func Samples(d time.Duration, rate int) int {
	return int(int64(d) * int64(rate) / int64(time.Second))
}
