package localservice

import (
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/recognizer"
	"github.com/agentruntime/agentruntime/internal/localservice/renderer"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/pion/webrtc/v4"
)

// The pair that clients fall back to when nobody gave them credentials
// (wire-protocol §6.2). It is public knowledge, as is who may use a relay that
// reaches nothing but our own media.
const (
	fallbackUser     = "kaltura"
	fallbackPassword = "avatar"
)

// mediaFactory makes the peers of sessions.
type mediaFactory struct {
	peers *media.Server
	base  string // of the addresses for viewers

	transcriber func() recognizer.Transcriber // of one microphone
	log         *slog.Logger
}

var _ live.Media = (*mediaFactory)(nil)

// OpenVideo implements [live.Media].
func (f *mediaFactory) OpenVideo(room string) (live.Downlink, string, string, error) {
	stream := f.peers.NewStream(room)
	return downlink{stream}, stream.ID(), stream.URL(f.base), nil
}

// downlink is a stream as a session sees it.
type downlink struct{ *media.Stream }

func (d downlink) Play(silence time.Duration, sound *voice.Speech) {
	d.Stream.Play(media.Utterance{PCM: sound.PCM, Rate: sound.Rate, Lead: silence})
}

func (d downlink) Stop()      { d.Stream.Stop() }
func (d downlink) Stats() any { return d.Stream.Stats() }

// OpenVoice implements [live.Media].
func (f *mediaFactory) OpenVoice() (live.VoicePeer, error) {
	v := f.peers.NewVoice()
	return voicePeer{downlink{v.Stream}, v}, nil
}

// voicePeer is a voice without a picture as a session sees it.
type voicePeer struct {
	downlink
	voice *media.Voice
}

func (v voicePeer) Offer() (string, error)  { return v.voice.Offer() }
func (v voicePeer) Answer(sdp string) error { return v.voice.Answer(sdp) }
func (v voicePeer) AddCandidate(c control.Candidate) error {
	return v.voice.AddCandidate(c.Candidate)
}

// peerAddresses are those that the relay may reach.
func peerAddresses(s *media.Server) []netip.AddrPort { return []netip.AddrPort{s.Addr()} }

// newPicture makes the face for a viewer.
func newPicture(mimeType string) (media.Picture, error) {
	codec := renderer.H264
	if mimeType == webrtc.MimeTypeVP8 {
		codec = renderer.VP8
	}
	return &picture{renderer.NewPlayer(codec, rand.Uint64())}, nil
}

// picture is a face as a viewer's stream sees it.
type picture struct{ player *renderer.Player }

func (p *picture) Next(loudness float64, keyFrame bool) []byte {
	if keyFrame {
		p.player.RequestKeyFrame()
	}
	return p.player.Next(loudness).Data
}
