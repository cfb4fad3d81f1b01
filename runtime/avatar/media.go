package avatar

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
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

// Engine returns the media engine, with which a page controls its elements and devices.
// For everything that the session has a method of its own for, use that method.
func (s *Session) Engine() *media.Engine { return s.engine }

// notify returns the function that passes the events of conn's peers to the queue.
func (s *Session) notify(conn *connection) func(media.Event) {
	return func(ev media.Event) {
		s.core.Work.Post(func() { s.peerEvent(conn, ev) })
	}
}

// newMedia makes the peers of conn. The picture's peer starts at once, unless Prepare has
// started it, so that its offer and relay allocation are ready when the handshake needs
// them. The handshake uses the returned peers, because it runs outside the queue and
// closing conn clears those of conn.
func (s *Session) newMedia(conn *connection) peers {
	s.stopWatching() // a failed attempt leaves the timers of its peers running
	s.recovery.peers = map[event.Channel]*peerHealth{}
	if conn.subscriber == nil {
		conn.subscriber = s.media.NewSubscriber(s.notify(conn))
	}
	conn.publisher = s.media.NewPublisher(s.notify(conn))
	return peers{conn.subscriber, conn.publisher}
}

type peers struct {
	subscriber Subscriber
	publisher  Publisher
}

func (conn *connection) closeMedia() {
	if conn.subscriber != nil {
		conn.subscriber.Close()
		conn.subscriber = nil
	}
	if conn.onRelease != nil { // also where releaseMedia has taken the subscriber
		conn.onRelease()
		conn.onRelease = nil
	}
	if conn.publisher != nil {
		conn.publisher.Close()
		conn.publisher = nil
	}
	if conn.voice != nil {
		conn.voice.Close()
		conn.voice = nil
	}
}

// freshRelay gives the media engine a new login to the relay, for later peers. It runs
// outside the queue.
func (s *Session) freshRelay(ctx context.Context) {
	if s.opts.OnRelayNeeded == nil {
		return
	}
	login, err := session.Within(ctx, relayLimit, s.opts.OnRelayNeeded)
	switch {
	case err != nil:
		s.core.Log("warn", "onRelayNeeded failed: "+err.Error(), nil)
	case login != nil:
		s.core.Secrets.Add(login.Credential)
		s.engine.SetRelayLogin(*login)
		s.core.Work.Post(func() { s.recovery.loginExpiry = login.Expiry })
	}
}

// loginExpired reports whether the login to the relay has expired for new peers.
func (s *Session) loginExpired() bool {
	return s.recovery.loginExpiry != 0 && float64(time.Now().Unix()) >= s.recovery.loginExpiry
}

// relayLimit bounds one call of OnRelayNeeded.
const relayLimit = 5 * time.Second

// deviceState is the settings of the microphone and the speaker.
type deviceState struct {
	micOn    bool
	muted    bool
	volume   float64
	speaking bool // the visitor speaks, by the local level
	asrKbps  *int // the microphone's limit, nil for that of the options
}

// Mute switches the microphone off. It may be called before the microphone is started.
func (s *Session) Mute() { s.setMic(false, signaling.MuteUser) }

// Unmute switches the microphone on.
func (s *Session) Unmute() { s.setMic(true, signaling.UnmuteUser) }

func (s *Session) setMic(on bool, command string) {
	s.core.Work.Do(func() {
		if s.devices.micOn != on {
			s.devices.micOn = on
			s.core.Emit(event.ControlsChanged{})
		}
		s.media.SetMicEnabled(on)
		switch s.phase {
		case live, announced, offline, resuming: // a later session starts with the present state
			s.outbox.command(command, signaling.Empty{})
		}
	})
}

// StartMic asks for the microphone and attaches it without renegotiation. If the
// microphone is started already it does nothing; while the browser's prompt is open
// it waits for the same result. Errors: invalid_state, mic_permission_denied,
// mic_not_found, mic_in_use, devices_permission_denied, noise_processor_failed,
// mic_attach_failed.
func (s *Session) StartMic(ctx context.Context) error {
	return s.openMic(ctx, s.media.StartMic)
}

// openMic opens the microphone with open, for the present conversation: its end ends the
// context of open, so that no device is opened afterwards.
func (s *Session) openMic(ctx context.Context, open func(context.Context) error) error {
	if err := s.Live(); err != nil {
		return err
	}
	life, err := session.Ask(ctx, &s.core, func(reply chan<- context.Context) { reply <- s.core.Life })
	if err != nil {
		return err
	}
	both, cancel := context.WithCancelCause(life)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	err = open(both)
	s.core.Work.Call(func() {}) // publishes what it changed
	switch {
	case err != nil && life.Err() != nil:
		return fault.New(fault.InvalidState, "the session ended before the microphone was opened")
	case err != nil && ctx.Err() != nil:
		return session.EndOf(ctx)
	}
	return err
}

// startMicInBackground never blocks or fails a connect (service.md, "Browser
// session options").
func (s *Session) startMicInBackground() {
	ctx := s.core.Life
	s.core.Spawn(func() {
		err := s.media.StartMic(ctx)
		s.core.Work.Post(func() {
			if err != nil && ctx.Err() == nil {
				e := fault.From(err)
				s.core.Warn(e.Code, e.Detail)
			}
		})
	})
}

// SwitchMic switches to another device. Errors: invalid_state, mic_not_started, and
// those of StartMic.
func (s *Session) SwitchMic(ctx context.Context, deviceID string) error {
	if err := s.Live(); err != nil {
		return err
	}
	if !s.Snapshot().MicStarted {
		return fault.New(fault.MicNotStarted, "the microphone is not started")
	}
	return s.openMic(ctx, func(ctx context.Context) error { return s.media.SwitchMic(ctx, deviceID) })
}

// SetASRBandwidth limits the microphone's bitrate, in kbit/s, now and whenever its
// peer is made again; 0 means no limit.
func (s *Session) SetASRBandwidth(ctx context.Context, kbps int) error {
	if err := s.Live(); err != nil {
		return err
	}
	publisher, err := session.Ask(ctx, &s.core, func(reply chan<- Publisher) {
		s.devices.asrKbps = &kbps
		if s.conn == nil {
			reply <- nil
			return
		}
		reply <- s.conn.publisher
	})
	if err != nil || publisher == nil {
		return err
	}
	err = publisher.SetBandwidth(ctx, kbps)
	switch {
	case errors.Is(err, media.ErrClosed): // the next one is limited when it is made
		return s.Live()
	case err != nil && ctx.Err() != nil:
		return session.EndOf(ctx)
	}
	return err
}

// capMic applies the limit that the application set to the microphone's new peer.
func (s *Session) capMic(publisher Publisher) {
	if s.devices.asrKbps == nil {
		return
	}
	kbps := *s.devices.asrKbps
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.ASR)
	s.core.Spawn(func() {
		defer cancel()
		if err := publisher.SetBandwidth(ctx, kbps); err != nil {
			s.core.Log("warn", "the microphone's cap: "+err.Error(), nil)
		}
	})
}

// micEvent handles what the microphone reports.
func (s *Session) micEvent(ev media.Event) {
	switch ev.Kind {
	case media.MicStarted:
		s.core.Emit(event.MicStarted{})
	case media.MicEnded:
		if e := fault.From(ev.Err); e != nil {
			s.core.Warn(e.Code, e.Detail)
		}
	case media.SourceEnded:
		s.core.Turns.UserSpeechEnded(ev.At, "source")
	case media.HardwareMute:
		s.core.Emit(event.HardwareMuteChanged{Muted: ev.Muted, Track: ev.Track.Native})
	case media.Level:
		s.core.Emit(event.LocalMicLevel{Level: ev.Level})
		if !ev.At.IsZero() {
			s.core.Turns.UserSpeechEnded(ev.At, "detector")
		}
		s.localSpeaking(s.decisionPhase() != outside && ev.Level*maxLevel >= *s.opts.LocalVADThreshold)
	}
}

func (s *Session) localSpeaking(speaking bool) {
	if speaking != s.devices.speaking {
		s.devices.speaking = speaking
		s.core.Emit(event.LocalSpeakingChanged{Speaking: speaking})
	}
}

// maxLevel is the scale of LocalVADThreshold, and its largest value: 16 bins of a byte each.
const maxLevel = 16 * 255

// sendCandidate trickles a candidate of the microphone's or the voice's peer
// (protocol §5.2 and §4.11).
func (s *Session) sendCandidate(ev media.Event) {
	names := map[event.Channel]string{event.ChannelASR: signaling.ASRClientCandidate, event.ChannelVoice: signaling.VoiceCandidate}
	if name := names[ev.Channel]; name != "" && ev.Candidate != nil {
		s.emit(name, signaling.ClientCandidate{Candidate: *ev.Candidate})
	}
}

// acceptVoice answers the service's offer of the agent's voice in audio mode
// (protocol §4.11).
func (s *Session) acceptVoice(conn *connection, offer signaling.Description) {
	if conn.voice != nil {
		conn.voice.Close()
	}
	conn.voice = s.media.NewVoice(s.notify(conn))
	voice := conn.voice
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.ASR)
	s.core.Spawn(func() {
		defer cancel()
		answer, err := voice.Accept(ctx, offer)
		s.core.Work.Post(func() {
			switch {
			case s.conn != conn || conn.voice != voice:
			case err != nil:
				s.core.Warning(event.Warning{Code: fault.MediaAttachFailed, Kind: "audio", Detail: err.Error()})
			default:
				s.emit(signaling.VoiceAnswer, signaling.Answer{Answer: answer})
			}
		})
	})
}

// MuteAudioOutput mutes the avatar's voice locally; the service keeps sending it.
func (s *Session) MuteAudioOutput() { s.setMuted(true) }

// UnmuteAudioOutput ends MuteAudioOutput.
func (s *Session) UnmuteAudioOutput() { s.setMuted(false) }

func (s *Session) setMuted(muted bool) {
	s.core.Work.Do(func() {
		if s.devices.muted != muted {
			s.devices.muted = muted
			s.core.Emit(event.ControlsChanged{})
		}
		s.media.SetOutputMuted(muted)
	})
}

// SetAudioOutputVolume sets the avatar's volume, clamped to 0 to 1. The error is
// bad_request for NaN.
func (s *Session) SetAudioOutputVolume(v float64) error {
	if math.IsNaN(v) {
		return fault.New(fault.BadRequest, "the volume must be a number")
	}
	v = min(max(v, 0), 1)
	s.core.Work.Do(func() {
		if s.devices.volume != v {
			s.devices.volume = v
			s.core.Emit(event.ControlsChanged{})
		}
		s.media.SetOutputVolume(v)
	})
	return nil
}

// SetAudioOutput chooses the speaker, "" for the default; false if that is
// refused or unsupported.
func (s *Session) SetAudioOutput(ctx context.Context, deviceID string) bool {
	return s.media.SetOutputDevice(ctx, deviceID)
}

// StartPlayback plays again after playback_blocked; call it in a click handler.
func (s *Session) StartPlayback(ctx context.Context) bool {
	return s.media.ResumePlayback(ctx)
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

// measure emits connectionQuality for both peers.
func (s *Session) measure() {
	s.recovery.stats = s.core.After(s.opts.StatsInterval, s.measure)
	conn := s.conn
	if s.phase != live || conn == nil {
		return
	}
	if conn.subscriber != nil {
		s.withStats(conn.subscriber, func(st media.Stats) { s.quality(conn, event.ChannelSTV, st) })
	}
	if conn.publisher != nil {
		s.withStats(conn.publisher, func(st media.Stats) { s.quality(conn, event.ChannelASR, st) })
	}
}

func (s *Session) quality(conn *connection, c event.Channel, st media.Stats) {
	if s.conn != conn {
		return
	}
	before, measured := s.recovery.last[c]
	s.recovery.last[c] = st
	if !measured {
		return // the peer is new, or counts anew: there is no interval yet
	}
	q := event.ConnectionQuality{Channel: c, RTTMs: 1000 * st.CurrentRoundTripTime}
	was, is := flowOf(c, before), flowOf(c, st)
	q.JitterMs = 1000 * is.jitter
	if is.bytes >= was.bytes {
		q.BitrateKbps = float64(is.bytes-was.bytes) * 8 / float64(s.opts.StatsInterval.Milliseconds())
	}
	lost, got := is.lost-was.lost, int64(is.packets)-int64(was.packets)
	if lost > 0 && got >= 0 {
		q.PacketLossPct = 100 * float64(lost) / float64(lost+got)
	}
	s.core.Emit(q)
}

// flow is what connectionQuality is computed from: that of all media of one channel.
type flow struct {
	bytes, packets uint64
	lost           int64
	jitter         float64 // seconds, the larger of both kinds
}

func flowOf(c event.Channel, st media.Stats) flow {
	if c == event.ChannelASR {
		m := st.Microphone
		return flow{bytes: m.BytesSent, packets: m.PacketsSent, lost: m.PacketsLost, jitter: m.Jitter}
	}
	v, a := st.Video.InboundStats, st.Audio
	return flow{
		bytes: v.BytesReceived + a.BytesReceived, packets: v.PacketsReceived + a.PacketsReceived,
		lost: v.PacketsLost + a.PacketsLost, jitter: max(v.Jitter, a.Jitter),
	}
}

// withStats asks a peer for its statistics and hands them to f on the queue.
func (s *Session) withStats(p interface {
	Stats(context.Context) (media.Stats, error)
}, f func(media.Stats),
) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.HealthTick)
	s.core.Spawn(func() {
		defer cancel()
		st, err := p.Stats(ctx)
		if err == nil && st.Known {
			s.core.Work.Post(func() { f(st) })
		}
	})
}
