package live

import (
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Media makes the peers of a session. They count for the client.
type Media interface {
	// OpenVideo makes a picture of an avatar, or of the first face for nil, with a voice. Its id is unguessable, because
	// the address is all that its one viewer needs.
	OpenVideo(by quota.Client, room string, a *store.AvatarProfile) (d Downlink, id, url string)
	// OpenVoice makes a voice without a picture, for which the service sends the
	// offer.
	OpenVoice(by quota.Client) VoicePeer
	// OpenMicrophone makes a peer for the user's voice. With tapOnly, sound outside of
	// tap-to-talk windows is ignored. It calls started when the user has begun to speak, and
	// ended when the user has finished: with the words, "" for none, or with known false.
	// Both may be called from any goroutine and do not wait.
	OpenMicrophone(by quota.Client, tapOnly bool, started func(), ended func(text string, known bool)) Microphone
}

// Downlink is the agent's picture and voice. No method waits.
type Downlink interface {
	// Play queues mono sound with rate samples a second, after a silence.
	Play(silence time.Duration, pcm []int16, rate int)
	// Stop drops what is queued.
	Stop()
	// Kill breaks the connection without a message; StopVideo holds back the bytes of
	// the picture. Clients have to recover from both.
	Kill()
	StopVideo(stopped bool)
	// Unwatched is how long no viewer has been connected: since the last was lost, or
	// since the beginning.
	Unwatched() time.Duration
	// Stats describes the connection.
	Stats() any
	Close()
}

// VoicePeer is the voice of audio mode (protocol §4.11).
type VoicePeer interface {
	Downlink
	// Offer returns the session description to send.
	Offer() (sdp string, err error)
	Answer(sdp string) error
}

// videoStatus is the status of a video session (protocol §4.2).
const videoStatus = "session started"

// newVideoSession allocates picture and voice, or the voice alone, in place of what the
// session had, whose address becomes invalid. An utterance that is running goes on in the
// new one (protocol §3.3).
func (s *Session) newVideoSession() {
	if !s.joined {
		return
	}
	s.roomTimer.stop()
	if s.hub.tierFull.Load() {
		s.fatal(signaling.ThrowToExceededTier, signaling.Empty{})
		return
	}
	if s.downlink != nil {
		s.downlink.Close() // and its slot is used again
	} else if !s.hub.takeSlot(s.client()) {
		s.fatal(signaling.ThrowToNoAgent, signaling.Empty{})
		return
	}
	s.emit(signaling.StvNewSession, s.openDownlink())
	s.emit(signaling.ShowAgent, signaling.Empty{})
	s.emit(signaling.AskPermissions, signaling.PermissionRequest{
		Constraints: signaling.Constraints{Audio: true, Video: s.voice == nil},
	})
	s.playRest()
	if s.voice != nil {
		s.offerVoice()
	}
}

// openDownlink makes picture and voice, or the voice alone, and describes them for the client.
func (s *Session) openDownlink() (reply signaling.StvNewSessionReply) {
	if s.profile.AudioMode {
		reply.Status = signaling.NoVideoStatus
		s.voice = s.cfg.Media.OpenVoice(s.client())
		s.downlink = s.voice
	} else {
		reply.Status = videoStatus
		s.downlink, reply.SessionID, reply.WebRTCURL = s.cfg.Media.OpenVideo(s.client(), s.room, s.profile.Avatar)
	}
	s.watchViewer(s.cfg.Timing.Unwatched)
	return reply
}

// watchViewer checks after a time whether the downlink has a viewer, and frees the slot
// of one that has had none for too long.
func (s *Session) watchViewer(after time.Duration) {
	s.unwatched.stop()
	s.unwatched = s.after(after, func() {
		if s.downlink == nil {
			return
		}
		left := s.cfg.Timing.Unwatched - s.downlink.Unwatched()
		if left <= 0 {
			s.log.Info("slot freed: it has no viewer")
			s.freeDownlink()
			return
		}
		s.watchViewer(left)
	})
}

// freeMedia closes picture, voice and microphone.
func (s *Session) freeMedia() {
	s.freeDownlink()
	s.closeMicrophone()
}

// freeDownlink closes picture and voice, and frees their slot.
func (s *Session) freeDownlink() {
	if s.downlink != nil {
		s.downlink.Close()
		s.downlink, s.voice = nil, nil
		s.hub.calls.Free(s.client(), 1)
	}
}

// play queues sound on the downlink. Without a downlink nothing is played, but the sound
// takes the same time.
func (s *Session) play(silence time.Duration, sound *voice.Speech) {
	if s.downlink != nil {
		s.downlink.Play(silence, sound.PCM, sound.Rate)
	}
}

// silence stops the agent's sound.
func (s *Session) silence() {
	if s.downlink != nil {
		s.downlink.Stop()
	}
}

// playRest lets a new downlink go on with the utterance that is running.
func (s *Session) playRest() {
	p := s.active
	if p == nil {
		return
	}
	now := time.Now()
	heard := now // up to where the new downlink has sound
	for _, c := range p.clips {
		at, sound := c.at, c.sound
		if at.Before(now) {
			sound = rest(sound, now.Sub(at))
			at = now
		}
		if len(sound.PCM) > 0 {
			s.play(at.Sub(heard), sound)
			heard = at.Add(sound.Duration())
		}
	}
}

// rest returns sound without its beginning.
func rest(sound *voice.Speech, cut time.Duration) *voice.Speech {
	n := audio.Samples(cut, sound.Rate)
	return &voice.Speech{PCM: sound.PCM[min(n, len(sound.PCM)):], Rate: sound.Rate}
}

// offerVoice offers the agent's voice to a client in audio mode
// (protocol §4.11).
func (s *Session) offerVoice() {
	sdp, err := s.voice.Offer()
	if err != nil {
		s.peerFailed(signaling.VoiceError, "no offer", err)
		return
	}
	s.emit(signaling.VoiceOffer, signaling.Offer{Offer: signaling.Description{Type: "offer", SDP: sdp}})
}

func (s *Session) voiceAnswer(a signaling.Answer) {
	if s.voice == nil {
		return
	}
	if err := s.voice.Answer(a.Answer.SDP); err != nil {
		s.peerFailed(signaling.VoiceError, "answer refused", err)
	}
}

// peerFailed reports an error to the client (choice C8), without the text of pion,
// which may quote addresses.
func (s *Session) peerFailed(event, text string, err error) {
	s.log.Warn("media peer", "event", event, "problem", text, "err", err)
	s.emit(event, signaling.PeerError{Error: text})
}
