package media

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/webrtc/v4"
)

// section makes a media section of an offer.
func section(kind string, lines ...string) string {
	var formats []string
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "a=rtpmap:"); ok {
			formats = append(formats, strings.Fields(rest)[0])
		}
	}
	return "m=" + kind + " 9 UDP/TLS/RTP/SAVPF " + strings.Join(formats, " ") + "\r\nc=IN IP4 0.0.0.0\r\n" + strings.Join(lines, "\r\n") + "\r\n"
}

const sdpHead = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"

func TestChosenCodec(t *testing.T) {
	for name, tc := range map[string]struct {
		sections     string
		video, audio string // "type payload", "" for none
	}{
		"Chromium's": {
			section(
				"video", "a=rtpmap:96 VP8/90000", "a=rtpmap:103 H264/90000",
				"a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f",
				"a=rtpmap:107 H264/90000", "a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f",
				"a=rtpmap:109 H264/90000", "a=fmtp:109 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
			) + section("audio", "a=rtpmap:111 opus/48000/2", "a=rtpmap:9 G722/8000", "a=rtpmap:0 PCMU/8000"),
			"video/H264 109", "audio/G722 9",
		},
		"Safari's": {
			section(
				"video", "a=rtpmap:96 H264/90000", "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c1f",
				"a=rtpmap:98 H264/90000", "a=fmtp:98 level-asymmetry-allowed=1; packetization-mode=1; profile-level-id=42E01F",
			) + section("audio", "a=rtpmap:0 PCMU/8000", "a=rtpmap:9 g722/8000"),
			"video/H264 98", "audio/G722 9",
		},
		"baseline that is not constrained": {
			section("video", "a=rtpmap:5 H264/90000", "a=fmtp:5 packetization-mode=1;profile-level-id=42001f"), "video/H264 5", "",
		},
		"high profile only": {
			section("video", "a=rtpmap:5 h264/90000", "a=fmtp:5 packetization-mode=1;profile-level-id=640c1f"), "video/H264 5", "",
		},
		"H264 in single packets only": {
			section("video", "a=rtpmap:5 H264/90000", "a=fmtp:5 profile-level-id=42e01f", "a=rtpmap:6 VP8/90000"), "video/VP8 6", "",
		},
		"nothing that we send": {
			section("video", "a=rtpmap:98 VP9/90000") + section("audio", "a=rtpmap:111 opus/48000/2"), "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := must.Get(parseOffer(sdpHead + tc.sections))(t)
			show := func(c codec, ok bool) string {
				if !ok {
					return ""
				}
				return fmt.Sprint(c.MimeType, " ", c.PayloadType)
			}
			expect.Equal(t, show(chooseVideo(o.video)), tc.video, "video")
			expect.Equal(t, show(chooseAudio(o.audio)), tc.audio, "audio")
		})
	}
}

func TestCandidatesAreNotUsed(t *testing.T) {
	candidate := "a=candidate:1 1 udp 2122260223 192.0.2.1 9 typ host\r\na=end-of-candidates\r\n"
	o := must.Get(parseOffer(sdpHead + candidate + section("audio", "a=rtpmap:9 G722/8000") + candidate))(t)
	text := must.Get(o.text(o.audio...))(t)
	if strings.Contains(text, "192.0.2.1") || strings.Contains(text, "candidate") {
		t.Errorf("candidates are left:\n%s", text)
	}
}

func TestOfferIsBounded(t *testing.T) {
	audio := section("audio", "a=rtpmap:9 G722/8000")
	for name, text := range map[string]string{
		"too long":       sdpHead + strings.Repeat("a=x\r\n", maxOffer/5) + audio,
		"many sections":  sdpHead + strings.Repeat(audio, maxSections+1),
		"no sections":    sdpHead,
		"data channel":   sdpHead + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n",
		"not SDP at all": "{}",
	} {
		if _, err := parseOffer(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Whatever a client posts, the server stays up and forgets the peer.
func FuzzOffer(f *testing.F) {
	s := must.Get(New(Config{}))(f)
	f.Cleanup(s.Close)
	pc := newClient(f, webrtc.Configuration{}, browserCodecs...)
	offer := offerWHEP(f, pc, webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio)
	f.Add(offer)
	f.Add(strings.ReplaceAll(offer, "recvonly", "sendrecv"))
	f.Add(strings.ReplaceAll(offer, "a=mid:1", "a=mid:0"))
	f.Add(strings.ReplaceAll(offer, "BUNDLE 0 1", "BUNDLE 7"))
	f.Add(strings.ReplaceAll(offer, "a=mid:", "a=mud:"))
	f.Add(strings.ReplaceAll(offer, "packetization-mode=1", ""))
	f.Fuzz(func(t *testing.T, text string) {
		stream := s.NewStream(quota.Client{}, "room", newPattern)
		defer stream.Close()
		v := newViewer(stream)
		if _, ok := stream.reserve(v); !ok {
			t.Fatal("no place for the viewer")
		}
		if sdp, err := v.answer(t.Context(), text); err == nil && !strings.HasPrefix(sdp, "v=0") {
			t.Errorf("answered %q", sdp)
		}
		v.gone("tested")
		must.Wait(t, "the peer is gone", func() bool {
			return s.peers.Total() == 0
		})
	})
}
