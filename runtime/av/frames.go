//go:build !js

package av

import (
	"errors"
	"io"
	"iter"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
	pionmedia "github.com/pion/webrtc/v4/pkg/media"
	"github.com/pion/webrtc/v4/pkg/media/samplebuilder"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// Track is the part of a [webrtc.TrackRemote] that this package uses.
type Track interface {
	Codec() webrtc.RTPCodecParameters
	ReadRTP() (*rtp.Packet, interceptor.Attributes, error)
}

// Frame is one picture, or the sound of one packet, as it was encoded.
type Frame struct {
	// Codec is the MIME type, such as video/H264, video/VP8, audio/opus, audio/G722 or audio/PCMU.
	Codec string
	// Data is the encoded frame; of H264 in the form of Annex B, with start codes.
	Data []byte
	// Time is the position in the track, 0 for its first frame, by the clock of the sender.
	Time time.Duration
	// Lost is the number of packets that are missing before this frame.
	Lost int
	// Key is true for a picture that can be decoded without those before it, and for sound.
	Key bool
	// Picture is the size of a key frame.
	Picture media.Picture
}

// How long a missing packet is awaited. A lost packet of a picture is requested again, which takes
// a round trip; later sound would be heard as a delay.
const (
	soundPatience   = 100 * time.Millisecond
	picturePatience = 500 * time.Millisecond
)

// Frames returns the frames of a track in the order in which they were sent, until the track ends.
// A frame is returned once the next one has begun. A missing packet of sound is awaited for 100 ms, one
// of a picture for 500 ms; then its frame is left out. The track must have no other reader.
// The error validation_error reports a codec that can't be read; otherwise the
// loop ends without an error.
func Frames(track Track) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		r, err := newReader(track)
		if err != nil {
			yield(Frame{}, err)
			return
		}
		for {
			f, err := r.next()
			switch {
			case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
				return
			case !yield(f, err), err != nil:
				return
			}
		}
	}
}

// reader joins the packets of a track to frames.
type reader struct {
	track   Track
	codec   webrtc.RTPCodecParameters
	builder *samplebuilder.SampleBuilder
	sizes   map[uint32]media.Picture // by timestamp, of key frames that are being joined
	err     error                    // of the track
	begun   bool
	last    uint32 // timestamp
	time    int64  // ticks since the first frame
}

func newReader(track Track) (*reader, error) {
	r := &reader{track: track, codec: track.Codec(), sizes: map[uint32]media.Picture{}}
	var depacketizer rtp.Depacketizer
	patience := soundPatience
	switch r.codec.MimeType {
	case webrtc.MimeTypeH264:
		depacketizer, patience = &codecs.H264Packet{}, picturePatience
	case webrtc.MimeTypeVP8:
		depacketizer, patience = &codecs.VP8Packet{}, picturePatience
	case webrtc.MimeTypeOpus, webrtc.MimeTypeG722, webrtc.MimeTypePCMU:
		depacketizer = &codecs.OpusPacket{} // a payload is a frame in all three
	default:
		return nil, fault.New(fault.ValidationError, "a track of "+r.codec.MimeType+" can't be read; offer H264, VP8, opus, G722 or PCMU only")
	}
	const mostPackets = 1 << 12 // the time is the limit
	r.builder = samplebuilder.New(mostPackets, depacketizer, r.codec.ClockRate, samplebuilder.WithMaxTimeDelay(patience))
	return r, nil
}

// next returns the next frame, or the error of the track.
func (r *reader) next() (Frame, error) {
	for {
		if s := r.builder.Pop(); s != nil {
			return r.frame(s), nil
		}
		if r.err != nil {
			return Frame{}, r.err
		}
		packet, _, err := r.track.ReadRTP()
		if err != nil {
			r.err = err
			r.builder.Flush()
			continue
		}
		if len(packet.Payload) == 0 {
			continue // padding, with which senders measure the bandwidth
		}
		if size, ok := media.PictureSize(r.codec.MimeType, packet.Payload); ok {
			r.sizes[packet.Timestamp] = size
		}
		r.builder.Push(packet)
	}
}

func (r *reader) frame(s *pionmedia.Sample) Frame {
	if r.begun {
		r.time += int64(int32(s.PacketTimestamp - r.last)) // timestamps overflow
	}
	r.begun, r.last = true, s.PacketTimestamp
	f := Frame{
		Codec: r.codec.MimeType, Data: s.Data, Lost: int(s.PrevDroppedPackets),
		Time: time.Duration(r.time * int64(time.Second) / int64(r.codec.ClockRate)),
		Key:  r.codec.MimeType != webrtc.MimeTypeH264 && r.codec.MimeType != webrtc.MimeTypeVP8,
	}
	if size, ok := r.sizes[s.PacketTimestamp]; ok {
		f.Key, f.Picture = true, size
	}
	for timestamp := range r.sizes {
		if int32(timestamp-s.PacketTimestamp) <= 0 {
			delete(r.sizes, timestamp)
		}
	}
	return f
}
