package live

import "github.com/agentruntime/agentruntime/runtime/signaling"

// pause silences the agent. The event has no reply; what the user says meanwhile is
// dropped (protocol §7.9, choices F5 to F7).
func (s *Session) pause() {
	if !s.joined || s.paused || s.released {
		return
	}
	s.paused = true
	s.idle.stop()
	s.dropTap()
	s.dropWaiting()
	if p := s.active; p != nil {
		s.cut(p, func() {})
	}
	s.window = s.after(s.cfg.Timing.PauseWindow, s.expirePause)
}

// expirePause frees picture, voice and microphone of a pause that took too
// long. The session and its thread stay (protocol §7.9).
func (s *Session) expirePause() {
	if !s.paused {
		return
	}
	s.window.stop()
	s.paused, s.released = false, true
	s.emit(signaling.PauseSessionExpired, signaling.Empty{})
	s.emit(signaling.SessionReadyForResume, signaling.Empty{})
	s.freeMedia()
}

// resume goes on after a pause. When its window has passed, the client asks
// for new media next, and the conversation goes on with its approval; resuming
// what was not paused is harmless (protocol §7.9).
func (s *Session) resume() {
	switch {
	case !s.joined:
	case s.released:
		s.resuming = true
		s.emit(signaling.ResumingSession, signaling.Empty{})
	default:
		s.window.stop()
		s.paused = false
		s.emit(signaling.ConversationResumed, signaling.Empty{})
		if s.approved && !s.opened {
			s.open()
			return
		}
		if s.active == nil {
			s.watchIdle()
			s.proceed()
		}
	}
}

// approve starts the conversation: the opening line, or after an expired pause
// the last line once more. Both always end with stvFinishedTalking
// (protocol §3.5 and §7.7).
func (s *Session) approve() {
	switch {
	case !s.joined:
	case s.resuming:
		s.resuming, s.released, s.approved = false, false, true
		s.emit(signaling.ConversationResumed, signaling.Empty{})
		if !s.opened { // paused before the approval: there is nothing to replay
			s.open()
			return
		}
		s.line(byReplay, s.lastLine)
	case s.approved || s.released:
	case s.paused:
		s.approved = true // the opening waits for the resume
	default:
		s.approved = true
		s.open()
	}
}

func (s *Session) open() {
	s.opened = true
	s.limitTime()
	s.line(byApproval, s.openingPhrase)
}
