//go:build !js

package media

import (
	"sync"

	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// sightFactory makes the interceptor that looks for the first key frame of a
// peer's video, whoever reads the track.
type sightFactory struct{ seen func(Picture) }

func (f sightFactory) NewInterceptor(string) (interceptor.Interceptor, error) {
	return &sight{seen: f.seen}, nil
}

type sight struct {
	interceptor.NoOp
	seen func(Picture)
	once sync.Once
}

func (s *sight) BindRemoteStream(info *interceptor.StreamInfo, reader interceptor.RTPReader) interceptor.RTPReader {
	var sizeOf func(payload []byte) (Picture, bool)
	switch info.MimeType {
	case webrtc.MimeTypeH264:
		sizeOf = h264Size
	case webrtc.MimeTypeVP8:
		sizeOf = vp8Size
	default:
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
		if p, ok := sizeOf(packet.Payload); ok {
			found = true
			s.once.Do(func() { s.seen(p) })
		}
		return n, a, nil
	})
}
