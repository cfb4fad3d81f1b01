package live

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

const (
	// tapSettles is how long after the end of a tap window its words may still
	// come in (protocol §3.7).
	tapSettles = 300 * time.Millisecond
	// longestTap closes a window whose end got lost (choice C7).
	longestTap = 60 * time.Second
)

// Microphone is the peer that carries the user's voice. No method but Offer
// blocks.
type Microphone interface {
	// Offer answers an offer; with restart, it is one for the same peer.
	Offer(sdp string, restart bool) (answer string, candidates []string, err error)
	// OpenTap starts to collect sound, regardless of pauses; CloseTap ends that, and
	// reports the words to the handler, even if there are none, or drops them.
	OpenTap()
	CloseTap(report bool)
	// Speaking reports whether sound of the user is being collected.
	Speaking() bool
	// Mute drops sound.
	Mute(on bool)
	Stats() any
	Close()
}

// tapWindow is a push-to-talk capture (protocol §3.7).
type tapWindow struct {
	open     bool
	settling bool   // its end was requested
	timer    *timer // until it has settled, or until it was open for too long
}

// startMicrophone opens a peer for the user's voice. A resumed session sends its
// event again; the old peer is then closed (protocol §5.1, choice C10).
func (s *Session) startMicrophone() {
	if !s.joined {
		return
	}
	s.closeMicrophone()
	number := s.micCount
	post := func(f func()) { // unless the microphone has been replaced
		s.post(func() {
			if number == s.micCount {
				f()
			}
		})
	}
	s.mic = s.cfg.Media.OpenMicrophone(s.client(), s.profile.TapToTalk, func() { post(s.speechStarted) }, func(text string, known bool) {
		post(func() { s.speechEnded(text, known) })
	})
	s.mic.Mute(s.muted)
	s.emit(signaling.ASRReady, signaling.Empty{})
}

func (s *Session) closeMicrophone() {
	s.micCount++ // later events of the old one are ignored
	s.dropTap()
	if s.mic != nil {
		s.mic.Close()
		s.mic = nil
	}
}

// offerMicrophone answers an offer, and sends the candidates after the answer:
// a client may lose those that come before it (protocol §5.2).
func (s *Session) offerMicrophone(o signaling.Offer) {
	if s.mic == nil {
		return
	}
	answer, candidates, err := s.mic.Offer(o.Offer.SDP, o.IsReconnect)
	if err != nil {
		s.peerFailed(signaling.ASRError, "offer refused", err)
		return
	}
	s.emit(signaling.ASRAnswer, signaling.Answer{Answer: signaling.Description{Type: "answer", SDP: answer}})
	for _, c := range candidates {
		s.emit(signaling.ASRServerCandidate, signaling.ServerCandidate{UID: s.conn.ID(), Type: "ice_candidate", Candidate: c})
	}
}

// speechStarted interrupts the agent (protocol §7.8). While the agent talks and can't be interrupted, it
// is ignored: clients would hide the captions of what goes on (choice C6).
func (s *Session) speechStarted() {
	p := s.active
	if !s.attentive() || s.muted || s.tap.open || p != nil && (p.by.uninterruptible() || !s.profile.InterruptionsEnabled && !p.thinking()) {
		return
	}
	s.userActive()
	s.debug(signaling.DebugSpeechDetected, signaling.SpeechDetected{SegmentType: "new", IsSpeechStartEvent: true})
	s.emit(signaling.UserStartedTalking, signaling.Empty{})
	s.bargeIn()
}

// speechEnded handles a finished utterance, or a tap window.
func (s *Session) speechEnded(text string, known bool) {
	if !known {
		s.speechUnrecognized()
		return
	}
	by := byTranscript
	if s.profile.TapToTalk {
		by = byTap
	}
	if text = truncate(strings.TrimSpace(text)); text == "" {
		return // an empty window is no turn
	}
	s.debug(signaling.DebugSpeechDetected, signaling.SpeechDetected{Transcript: text, IsFinal: true, SegmentType: "final"})
	s.userSaid(by, text)
}

// speechUnrecognized lets the agent say that it detected speech without words,
// unless it is working on an earlier question.
func (s *Session) speechUnrecognized() {
	p := s.active
	if !s.attentive() || p != nil && (p.thinking() || p.by.uninterruptible() || !s.profile.InterruptionsEnabled) {
		return
	}
	s.userActive()
	if p != nil {
		s.interrupt(p)
	}
	p = s.newSpeech(byTranscript, "")
	p.cause = brain.TriggerUnheard
	s.ask(p, uuid.NewString(), "", true)
}

// userSpeaks reports whether the user is speaking, as far as the microphone tells.
func (s *Session) userSpeaks() bool { return s.mic != nil && s.mic.Speaking() }

// mute switches the microphone off or on. The muted track goes on and carries
// silence (protocol §3.8).
func (s *Session) mute(on bool) {
	s.muted = on
	if s.mic != nil {
		s.mic.Mute(on)
	}
}

// openTap opens a push-to-talk window, which interrupts the agent.
func (s *Session) openTap() {
	if !s.attentive() || s.mic == nil || s.tap.open && !s.tap.settling {
		return
	}
	s.tap.timer.stop()
	if !s.tap.open {
		s.bargeIn()
		s.userActive()
		s.mic.OpenTap()
	}
	s.tap = tapWindow{open: true, timer: s.after(longestTap, s.endTap)}
}

// endTap ends the window a moment later, when the last words are in.
func (s *Session) endTap() {
	if !s.tap.open || s.tap.settling {
		return
	}
	s.tap.timer.stop()
	s.tap.settling = true
	s.tap.timer = s.after(tapSettles, func() {
		s.tap = tapWindow{}
		if s.mic != nil {
			s.mic.CloseTap(true)
		}
	})
}

// dropTap closes a window and drops its sound.
func (s *Session) dropTap() {
	s.tap.timer.stop()
	if s.tap.open && s.mic != nil {
		s.mic.CloseTap(false)
	}
	s.tap = tapWindow{}
}
