//go:build !js

package record

import (
	"os"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4/pkg/media/oggwriter"

	"github.com/agentruntime/agentruntime/runtime/media"
)

const opusRate = 48000 // of timestamps, whatever the rate of the sound (RFC 7845 §4)

// microphone is the file of what the microphone sends. Its time is that of the recording: silence
// fills the gaps.
type microphone struct {
	ogg   *oggwriter.OggWriter
	start time.Duration
	sent  time.Duration
	count uint16
}

func newMicrophone(path string) (*microphone, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	ogg, err := oggwriter.NewWith(file, opusRate, 1)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &microphone{ogg: ogg}, nil
}

// largestJitter is the gap between two samples that needs no silence: the microphone catches up on delays of
// up to a second.
const largestJitter = 1200 * time.Millisecond

func (m *microphone) add(at time.Duration, s media.Sample) error {
	if behind := at - m.start - m.sent; behind > largestJitter {
		silence := media.Silence()
		for ; behind >= silence.Duration; behind -= silence.Duration {
			if err := m.write(silence); err != nil {
				return err
			}
		}
	}
	return m.write(s)
}

func (m *microphone) write(s media.Sample) error {
	m.count++
	err := m.ogg.WriteRTP(&rtp.Packet{
		Header:  rtp.Header{SequenceNumber: m.count, Timestamp: uint32(int64(m.sent) * opusRate / int64(time.Second))},
		Payload: s.Data,
	})
	m.sent += s.Duration
	return err
}

// close closes the file too, as the writer does.
func (m *microphone) close() error { return m.ogg.Close() }
