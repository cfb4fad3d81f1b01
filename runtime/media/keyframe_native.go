//go:build !js

package media

import (
	"strings"
	"sync"

	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
)

// keyFrameDetectors makes the interceptor that finds the first key frame of a peer's
// video in the packets that are read from the track, and passes on those of the voice.
type keyFrameDetectors struct {
	seen  func(Picture)
	heard func(payload []byte) // of a packet of sound
}

func (f keyFrameDetectors) NewInterceptor(string) (interceptor.Interceptor, error) {
	return &keyFrameDetector{seen: f.seen, heard: f.heard}, nil
}

type keyFrameDetector struct {
	interceptor.NoOp
	seen  func(Picture)
	heard func([]byte)
	once  sync.Once
}

func (s *keyFrameDetector) BindRemoteStream(info *interceptor.StreamInfo, reader interceptor.RTPReader) interceptor.RTPReader {
	if strings.HasPrefix(info.MimeType, "audio/") {
		return interceptor.RTPReaderFunc(func(b []byte, a interceptor.Attributes) (int, interceptor.Attributes, error) {
			n, a, err := reader.Read(b, a)
			var packet rtp.Packet
			if err == nil && packet.Unmarshal(b[:n]) == nil {
				s.heard(packet.Payload)
			}
			return n, a, err
		})
	}
	if info.MimeType != webrtc.MimeTypeH264 && info.MimeType != webrtc.MimeTypeVP8 {
		return reader
	}
	found := false // read by one goroutine at a time
	return interceptor.RTPReaderFunc(func(b []byte, a interceptor.Attributes) (int, interceptor.Attributes, error) {
		n, a, err := reader.Read(b, a)
		if err != nil || found {
			return n, a, err
		}
		var packet rtp.Packet
		if packet.Unmarshal(b[:n]) != nil {
			return n, a, nil
		}
		if p, ok := PictureSize(info.MimeType, packet.Payload); ok {
			found = true
			s.once.Do(func() { s.seen(p) })
		}
		return n, a, nil
	})
}

// PictureSize reads the size of the picture from the payload of an RTP packet of H264 or VP8. It
// returns false for a packet without a size: only the first packets of a key frame have one.
func PictureSize(mimeType string, payload []byte) (Picture, bool) {
	switch mimeType {
	case webrtc.MimeTypeH264:
		return h264Size(payload)
	case webrtc.MimeTypeVP8:
		return vp8Size(payload)
	}
	return Picture{}, false
}

// maxSide bounds a picture's width and height; a larger one is a broken stream.
const maxSide = 1 << 14

func validPicture(width, height int) (Picture, bool) {
	ok := width > 0 && height > 0 && width <= maxSide && height <= maxSide
	return Picture{Width: width, Height: height}, ok
}

// vp8Size reads the size from the first packet of a key frame
// (RFC 7741 §4.3, RFC 6386 §9.1).
func vp8Size(payload []byte) (Picture, bool) {
	var packet codecs.VP8Packet
	frame, err := packet.Unmarshal(payload)
	if err != nil || packet.S != 1 || packet.PID != 0 || len(frame) < 10 || frame[0]&1 != 0 ||
		frame[3] != 0x9D || frame[4] != 0x01 || frame[5] != 0x2A {
		return Picture{}, false
	}
	const bits = 0x3FFF // the upper two are a scale
	return validPicture((int(frame[6])|int(frame[7])<<8)&bits, (int(frame[8])|int(frame[9])<<8)&bits)
}

// The types of H264 units that contain the size (RFC 6184 §5.2).
const (
	nalType  = 0x1F
	nalSPS   = 7
	nalSTAPA = 24
)

// h264Size reads the size from a packet with the sequence parameters that come
// before every key frame.
func h264Size(payload []byte) (Picture, bool) {
	if len(payload) == 0 {
		return Picture{}, false
	}
	switch payload[0] & nalType {
	case nalSPS:
		return spsSize(payload[1:])
	case nalSTAPA:
		for rest := payload[1:]; len(rest) > 2; {
			n := int(rest[0])<<8 | int(rest[1])
			rest = rest[2:]
			if n == 0 || n > len(rest) {
				break
			}
			if rest[0]&nalType == nalSPS {
				return spsSize(rest[1:n])
			}
			rest = rest[n:]
		}
	}
	return Picture{}, false
}

// spsSize reads the size from sequence parameters (H.264 §7.3.2.1.1).
func spsSize(sps []byte) (Picture, bool) {
	r := bitReader{data: withoutEscapes(sps)}
	profile := r.bits(8)
	r.bits(16) // constraints, level
	r.ue()     // id
	chroma := uint(1)
	switch profile {
	case 100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135:
		if chroma = r.ue(); chroma == 3 && r.bits(1) == 1 {
			chroma = 0 // separate planes are cropped like one
		}
		r.ue() // bit depths
		r.ue()
		r.bits(1)
		if r.bits(1) == 1 {
			r.scalingLists(chroma)
		}
	}
	r.ue() // frame number
	switch r.ue() {
	case 0:
		r.ue()
	case 1:
		r.bits(1)
		r.ue()
		r.ue()
		for n := r.ue(); n > 0 && !r.short; n-- {
			r.ue()
		}
	}
	r.ue() // reference frames
	r.bits(1)
	width, height := 16*(int(r.ue())+1), 16*(int(r.ue())+1)
	frames := int(r.bits(1))
	height *= 2 - frames
	if frames == 0 {
		r.bits(1)
	}
	r.bits(1)
	if r.bits(1) == 1 {
		stepX, stepY := 1, 2-frames
		if chroma == 1 || chroma == 2 {
			stepX = 2
		}
		if chroma == 1 {
			stepY *= 2
		}
		width -= stepX * (int(r.ue()) + int(r.ue()))
		height -= stepY * (int(r.ue()) + int(r.ue()))
	}
	if r.short {
		return Picture{}, false
	}
	return validPicture(width, height)
}

// withoutEscapes removes the emulation prevention bytes of a unit.
func withoutEscapes(unit []byte) []byte {
	plain := make([]byte, 0, len(unit))
	zeros := 0
	for _, b := range unit {
		if zeros >= 2 && b == 3 {
			zeros = 0
			continue
		}
		if b == 0 {
			zeros++
		} else {
			zeros = 0
		}
		plain = append(plain, b)
	}
	return plain
}

// bitReader reads bits, the highest of each byte first. Past the end it reads zeros and
// sets short.
type bitReader struct {
	data  []byte
	pos   int
	short bool
}

func (r *bitReader) bits(n int) uint {
	var v uint
	for range n {
		v <<= 1
		if r.pos >= 8*len(r.data) {
			r.short = true
			continue
		}
		v |= uint(r.data[r.pos/8]>>(7-r.pos%8)) & 1
		r.pos++
	}
	return v
}

// ue reads an unsigned Exp-Golomb number of at most 31 bits (H.264 §9.1).
func (r *bitReader) ue() uint {
	zeros := 0
	for r.bits(1) == 0 {
		if zeros++; r.short || zeros > 31 {
			r.short = true
			return 0
		}
	}
	return 1<<zeros - 1 + r.bits(zeros)
}

// scalingLists skips the scaling matrix (H.264 §7.3.2.1.1.1).
func (r *bitReader) scalingLists(chroma uint) {
	lists := 8
	if chroma == 3 {
		lists = 12
	}
	for i := range lists {
		if r.bits(1) == 0 {
			continue
		}
		size := 16
		if i >= 6 {
			size = 64
		}
		last, next := 8, 8
		for range size {
			if next != 0 {
				next = (last + r.se() + 256) % 256
			}
			if next != 0 {
				last = next
			}
		}
	}
}

// se reads a signed Exp-Golomb number.
func (r *bitReader) se() int {
	v := int(r.ue())
	if v%2 == 1 {
		return (v + 1) / 2
	}
	return -v / 2
}
