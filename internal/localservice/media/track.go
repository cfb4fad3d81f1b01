package media

import (
	"math/rand/v2"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
)

// payloadSize is the most that a packet carries: with RTP, SRTP, TURN and UDP headers it stays below 1280 bytes, which every path
// carries.
const payloadSize = 1180

// track is an outgoing RTP stream. Timestamps follow the stream's slots, so that both tracks keep the same time in speech and in
// silence, whatever was sent late or not at all.
type track struct {
	local     *webrtc.TrackLocalStaticRTP
	perSlot   uint32 // RTP ticks
	timestamp uint32 // of slot 0
	sequence  uint16
}

// oneStream is the id of the media stream that contains both tracks (choice D10).
const oneStream = "agent"

// newTrack starts at a random timestamp and sequence number (RFC 3550 §5.1).
func newTrack(c codec, id string, separate bool) (*track, error) {
	stream := oneStream
	if separate {
		stream = id
	}
	local, err := webrtc.NewTrackLocalStaticRTP(c.RTPCodecCapability, id, stream)
	if err != nil {
		return nil, err
	}
	return &track{
		local: local, perSlot: uint32(int64(c.ClockRate) * int64(slotTime) / 1e9),
		timestamp: rand.Uint32(), sequence: uint16(rand.Uint32()),
	}, nil
}

// send sends payloads as the packets of one slot and returns how many bytes they are. A failed write is a lost packet: the connection
// state shows whether the peer is gone.
func (t *track) send(slot int64, marker bool, payloads ...[]byte) int {
	size := 0
	for i, payload := range payloads {
		size += len(payload)
		_ = t.local.WriteRTP(&rtp.Packet{
			Header: rtp.Header{
				Version: 2, Marker: marker && i == len(payloads)-1,
				SequenceNumber: t.sequence, Timestamp: t.timestamp + uint32(slot)*t.perSlot,
			},
			Payload: payload,
		})
		t.sequence++
	}
	return size
}

// pictures is the video track of a viewer.
type pictures struct {
	track
	picture   Picture
	payloader rtp.Payloader
	wantKey   bool
	nextKey   int64 // slot before which no further key frame is sent
}

// keyFrameGap is how many slots are at least between two key frames, so that a viewer that asks for them again and again does not
// multiply its bytes: 300 ms.
const keyFrameGap = 15

func newPictures(c codec, picture Picture, separate bool) (*pictures, error) {
	t, err := newTrack(c, "picture", separate)
	if err != nil {
		return nil, err
	}
	p := &pictures{track: *t, picture: picture, wantKey: true}
	if c.is(webrtc.MimeTypeH264) {
		p.payloader = &codecs.H264Payloader{}
	} else {
		p.payloader = &codecs.VP8Payloader{EnablePictureID: true}
	}
	return p, nil
}

// draw sends the next frame and returns its size.
func (p *pictures) draw(slot int64, loudness float64) int {
	key := p.wantKey && slot >= p.nextKey
	if key {
		p.wantKey, p.nextKey = false, slot+keyFrameGap
	}
	frame := p.picture.Next(loudness, key)
	return p.send(slot, true, p.payloader.Payload(payloadSize, frame)...)
}

// voice is the audio track of a viewer.
type voice struct {
	track
	encode func(dst []byte, pcm []int16) []byte
	frame  []byte
}

func newVoice(c codec, separate bool) (*voice, error) {
	t, err := newTrack(c, "voice", separate)
	if err != nil {
		return nil, err
	}
	v := &voice{track: *t, encode: audio.EncodePCMU}
	if c.is(webrtc.MimeTypeG722) {
		v.encode = audio.NewG722().Encode
	}
	return v, nil
}

// speak sends a slot of voice, nil for silence, and returns its size.
func (v *voice) speak(slot int64, pcm []int16) int {
	v.frame = v.encode(v.frame[:0], pcm)
	return v.send(slot, false, v.frame)
}
