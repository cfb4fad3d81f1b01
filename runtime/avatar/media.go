package avatar

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Media is the part of a [media.Engine] that a session uses. The methods are
// documented there.
type Media interface {
	NewSubscriber(notify func(media.Event)) Subscriber
	NewPublisher(notify func(media.Event)) Publisher
	NewVoice(notify func(media.Event)) Voice

	StartMic(ctx context.Context) error
	SwitchMic(ctx context.Context, deviceID string) error
	MicStarted() bool
	SetMicEnabled(on bool)
	StopMic()

	SetOutputMuted(muted bool)
	SetOutputVolume(v float64)
	SetOutputDevice(ctx context.Context, deviceID string) bool
	ResumePlayback(ctx context.Context) bool
	ClearTracks()
	WatchSpeech(on bool)

	Close()
}

// The peers of a [Media].
type (
	Subscriber interface {
		Subscribe(ctx context.Context, url string) error
		Playable(ctx context.Context, recovering bool) (media.Picture, error)
		Restart(ctx context.Context)
		Stats(ctx context.Context) (media.Stats, error)
		Release(ctx context.Context)
		Close()
	}
	Publisher interface {
		Prepare()
		Offer(ctx context.Context, restart bool) (signaling.Description, error)
		Answer(ctx context.Context, d signaling.Description) error
		AddCandidate(c signaling.ServerCandidate)
		Stats(ctx context.Context) (media.Stats, error)
		SetBandwidth(ctx context.Context, kbps int) error
		Close()
	}
	Voice interface {
		Accept(ctx context.Context, offer signaling.Description) (signaling.Description, error)
		AddCandidate(c signaling.Candidate)
		Close()
	}
)

// engineMedia gives the methods of an engine the result types of [Media].
type engineMedia struct{ *media.Engine }

func (e engineMedia) NewSubscriber(notify func(media.Event)) Subscriber {
	return e.Engine.NewSubscriber(notify)
}

func (e engineMedia) NewPublisher(notify func(media.Event)) Publisher {
	return e.Engine.NewPublisher(notify)
}
func (e engineMedia) NewVoice(notify func(media.Event)) Voice { return e.Engine.NewVoice(notify) }

// openMedia makes the media engine of the session.
func (s *Session) openMedia() {
	o := &s.opts
	s.engine = media.New(media.Config{
		HTTPClient:             o.HTTPClient,
		Limits:                 o.Limits,
		Random:                 s.spread.media.Next,
		TURNServer:             o.TURNServerURL,
		TURNCredentials:        o.TURNCredentials,
		ICEServers:             o.ICEServers,
		ICEPolicy:              o.ICETransportPolicy,
		Firefox:                o.Firefox,
		AllowPrivateHosts:      o.AllowPrivateHosts,
		AllowInsecureTransport: o.AllowInsecureTransport,
		VideoCodec:             o.VideoCodec,
		AudioCodec:             o.AudioCodec,
		MicBitrate:             o.MaxASRBitrate,
		OnMicrophone:           func(ev media.Event) { s.core.Work.Post(func() { s.micEvent(ev) }) },
		OnSpeech:               func(ev media.Event) { s.core.Work.Post(func() { s.speechEvent(ev) }) },
		Log:                    s.core.Log,
		Platform:               o.Platform,
	})
	s.media = engineMedia{s.engine}
	if o.Media != nil {
		s.media = o.Media(s.engine)
	}
}

// speechEvent records what the visitor perceives of an utterance.
func (s *Session) speechEvent(ev media.Event) {
	m := event.MarkFirstSound
	if ev.Kind == media.FirstFrame {
		m = event.MarkFirstFrame
	}
	s.core.Turns.Mark(m, ev.At, ev.Estimated)
}

// Stats are what the session's media has received and sent since the session began; a recovery
// does not reset them. It may be called at any time, also after the end. The error is aborted
// at the end of ctx (timeout for a deadline). In pages it is getStats.
func (s *Session) Stats(ctx context.Context) (media.Stats, error) {
	st, err := s.engine.Stats(ctx)
	if err != nil {
		return media.Stats{}, session.EndOf(ctx)
	}
	return st, nil
}

// Engine returns the media engine, with which a page controls its elements and devices.
// For everything that the session has a method of its own for, use that method.
func (s *Session) Engine() *media.Engine { return s.engine }
