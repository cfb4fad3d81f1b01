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

func (s *Session) setMic(on bool, event string) {
	s.core.Work.Do(func() {
		s.devices.micOn = on
		s.media.SetMicEnabled(on)
		if s.phase == live { // a later session starts with the present state
			s.outbox.command(event, signaling.Empty{})
		}
	})
}

// StartMic asks for the microphone and attaches it without renegotiation. If the
// microphone is started already it does nothing; while the browser's prompt is open
// it waits for the same result. Errors: invalid_state, mic_permission_denied,
// mic_not_found, mic_in_use, devices_permission_denied, noise_processor_failed.
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
	up, err := session.Ask(ctx, &s.core, func(reply chan<- Publisher) {
		s.devices.asrKbps = &kbps
		if s.conn == nil {
			reply <- nil
			return
		}
		reply <- s.conn.up
	})
	if err != nil || up == nil {
		return err
	}
	err = up.SetBandwidth(ctx, kbps)
	switch {
	case errors.Is(err, media.ErrClosed): // the next one is limited when it is made
		return s.Live()
	case err != nil && ctx.Err() != nil:
		return session.EndOf(ctx)
	}
	return err
}

// capMic applies the limit that the application set to the microphone's new peer.
func (s *Session) capMic(up Publisher) {
	if s.devices.asrKbps == nil {
		return
	}
	kbps := *s.devices.asrKbps
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.ASR)
	s.core.Spawn(func() {
		defer cancel()
		if err := up.SetBandwidth(ctx, kbps); err != nil {
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
		speaking := ev.Level*maxLevel >= *s.opts.LocalVADThreshold
		if speaking {
			s.core.Turns.UserSpeechEnded(time.Now(), "detector")
		}
		if speaking != s.devices.speaking {
			s.devices.speaking = speaking
			s.core.Emit(event.LocalSpeakingChanged{Speaking: speaking})
		}
	}
}

// maxLevel is the scale of LocalVADThreshold: 16 bins of a byte each.
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
func (s *Session) acceptVoice(l *connection, offer signaling.Description) {
	if l.voice != nil {
		l.voice.Close()
	}
	l.voice = s.media.NewVoice(s.notify(l))
	voice := l.voice
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.ASR)
	s.core.Spawn(func() {
		defer cancel()
		answer, err := voice.Accept(ctx, offer)
		s.core.Work.Post(func() {
			switch {
			case s.conn != l || l.voice != voice:
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
		s.devices.muted = muted
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
		s.devices.volume = v
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
