package localservice

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/localservice/api"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/recognizer"
	"github.com/agentruntime/agentruntime/internal/localservice/renderer"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// mediaFactory makes the peers of sessions.
type mediaFactory struct {
	peers *media.Server
	base  string // of the addresses for viewers

	transcriber func() recognizer.Transcriber // of one microphone
	told        *recognizer.Script
	log         *slog.Logger
}

var _ live.Media = (*mediaFactory)(nil)

// OpenVideo implements [live.Media].
func (f *mediaFactory) OpenVideo(by quota.Client, room string, a *store.AvatarProfile) (live.Downlink, string, string) {
	stream := f.peers.NewStream(by, room, func(mimeType string) media.Picture { return newPicture(mimeType, a) })
	return downlink{stream}, stream.ID(), stream.URL(f.base)
}

// openStage opens the picture of an avatar session.
func (f *mediaFactory) openStage(by quota.Client, visual map[string]string) api.Stage {
	face := &store.AvatarProfile{Face: store.NearestFace(visual)}
	return f.peers.NewStream(by, "scripted", func(mimeType string) media.Picture { return newPicture(mimeType, face) })
}

// downlink adapts a stream to [live.Downlink].
type downlink struct{ *media.Stream }

func (d downlink) Stats() any { return d.Stream.Stats() }

// OpenVoice implements [live.Media].
func (f *mediaFactory) OpenVoice(by quota.Client) live.VoicePeer {
	return voicePeer{f.peers.NewVoice(by)}
}

// voicePeer adapts a voice without a picture to [live.VoicePeer].
type voicePeer struct{ *media.Voice }

func (v voicePeer) Stats() any { return v.Voice.Stats() }

// newPicture returns the renderer of an avatar for a viewer; nil is the first face.
func newPicture(mimeType string, a *store.AvatarProfile) media.Picture {
	codec := renderer.H264
	if mimeType == webrtc.MimeTypeVP8 {
		codec = renderer.VP8
	}
	if a == nil {
		a = &store.AvatarProfile{}
	}
	motion := renderer.DefaultMotion
	if a.Speaking != nil {
		motion.Speaking = *a.Speaking
	}
	if a.NonSpeaking != nil {
		motion.NonSpeaking = *a.NonSpeaking
	}
	return renderer.NewPlayer(codec, renderer.FaceNamed(a.Face), motion, rand.Uint64())
}

// transcribers returns the constructor of a microphone's transcriber: the lines of
// the script, which start again for each microphone; without lines the endpoint;
// without an endpoint one that recognises nothing, a script without lines.
func transcribers(script *brain.Script, o *Options, h *http.Client) func() recognizer.Transcriber {
	var lines []string
	if script != nil {
		lines = script.Hear
	}
	if len(lines) > 0 || o.Transcription.BaseURL == "" {
		return func() recognizer.Transcriber { return recognizer.NewScript(lines...) }
	}
	endpoint := recognizer.NewEndpoint(o.Transcription, h)
	return func() recognizer.Transcriber { return endpoint }
}

// microphone is a media peer whose sound goes to a listener.
type microphone struct {
	*media.Microphone
	listener *recognizer.Listener
	tapOnly  bool        // sound outside of tap-to-talk windows is ignored
	open     atomic.Bool // the listener gets sound
}

var _ live.Microphone = (*microphone)(nil)

// OpenMicrophone implements [live.Media].
func (f *mediaFactory) OpenMicrophone(by quota.Client, tapOnly bool, started func(), ended func(text string, known bool)) live.Microphone {
	m := &microphone{tapOnly: tapOnly}
	m.listener = recognizer.NewListener(toldFirst{f.transcriber(), f.told}, started, func(text string, err error) {
		if err != nil && !errors.Is(err, recognizer.ErrNoTranscriber) {
			f.log.Warn("speech was not transcribed", "err", err)
		}
		ended(text, err == nil)
	})
	m.open.Store(!tapOnly)
	m.Microphone = f.peers.NewMicrophone(by, func(pcm []int16) {
		if m.open.Load() {
			m.listener.Hear(pcm)
		}
	})
	return m
}

func (m *microphone) Mute(on bool)   { m.listener.Mute(on) }
func (m *microphone) Stats() any     { return m.Microphone.Stats() }
func (m *microphone) Speaking() bool { return m.listener.Speaking() }

func (m *microphone) OpenTap() {
	m.listener.OpenTap()
	m.open.Store(true)
}

func (m *microphone) CloseTap(report bool) {
	m.open.Store(!m.tapOnly)
	m.listener.CloseTap(report)
}

func (m *microphone) Close() {
	m.Microphone.Close()
	m.listener.Close()
}
