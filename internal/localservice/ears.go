package localservice

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/recognizer"
	"github.com/agentruntime/agentruntime/runtime/control"
)

// transcribers returns what makes the transcriber of a microphone: the lines of
// the script, for each microphone from the first one on; else the endpoint; else
// one that says honestly that it knows no words.
func (s *Service) transcribers(script *brain.Script, o *Options) func() recognizer.Transcriber {
	if script != nil && len(script.Hear) > 0 {
		return func() recognizer.Transcriber { return recognizer.NewScript(script.Hear...) }
	}
	if o.Transcription.BaseURL == "" {
		return func() recognizer.Transcriber { return recognizer.None{} }
	}
	endpoint := recognizer.NewEndpoint(recognizer.EndpointConfig{
		BaseURL: o.Transcription.BaseURL, Key: o.Transcription.Key, Model: o.Transcription.Model,
	})
	s.onClose(func() error { endpoint.Close(); return nil })
	return func() recognizer.Transcriber { return endpoint }
}

// microphone is a peer with a listener, as a session sees it.
type microphone struct {
	*media.Microphone
	listener *recognizer.Listener
	// open is whether the listener gets what is heard: always, or only in the
	// windows of an agent with tap-to-talk.
	tapOnly bool
	open    atomic.Bool
}

var _ live.Microphone = (*microphone)(nil)

// OpenMicrophone implements [live.Media].
func (f *mediaFactory) OpenMicrophone(ear live.Ear, tapOnly bool) (live.Microphone, error) {
	m := &microphone{
		tapOnly:  tapOnly,
		listener: recognizer.NewListener(recognizer.Config{}, f.transcriber(), func(e recognizer.Event) { tell(ear, e, f.log) }),
	}
	m.open.Store(!tapOnly)
	m.Microphone = f.peers.NewMicrophone(func(pcm []int16) {
		if m.open.Load() {
			m.listener.Hear(pcm)
		}
	})
	return m, nil
}

// tell brings an event to the session.
func tell(ear live.Ear, e recognizer.Event, log *slog.Logger) {
	switch {
	case e.Kind == recognizer.Onset:
		ear.Onset()
	case e.Err == nil:
		ear.Words(e.Text)
	default:
		if !errors.Is(e.Err, recognizer.ErrNoTranscriber) {
			log.Warn("speech was not understood", "err", e.Err)
		}
		ear.Unheard()
	}
}

func (m *microphone) AddCandidate(c control.Candidate) error {
	return m.Microphone.AddCandidate(c.Candidate)
}

func (m *microphone) Mute(on bool) { m.listener.Mute(on) }
func (m *microphone) Stats() any   { return m.Microphone.Stats() }

func (m *microphone) OpenTap() {
	m.listener.OpenTap()
	m.open.Store(true)
}

func (m *microphone) CloseTap() {
	m.open.Store(!m.tapOnly)
	m.listener.CloseTap()
}

func (m *microphone) Close() {
	m.Microphone.Close()
	m.listener.Close()
}
