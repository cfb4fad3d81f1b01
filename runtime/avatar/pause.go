package avatar

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Pause makes the avatar quiet until Resume; the service gives up the media
// when it lasts too long. The error is invalid_state. A second call does
// nothing.
func (s *Session) Pause() error {
	if err := s.live(); err != nil {
		return err
	}
	s.base.Work.Do(func() {
		if s.state != Connected || s.life.paused {
			return
		}
		s.life.paused = true
		s.stall.Disarm()
		s.tell(control.PauseConversation, control.Empty{})
	})
	return nil
}

// pauseExpired notes that the service freed the media (wire-protocol §7.9).
func (s *Session) pauseExpired() {
	if s.link != nil {
		s.link.released = true
		s.link.approved = false
	}
}

// Resume ends a pause. After an expired pause the media are made again, within
// the overall limit; a failure of that ends the session with the same error
// (wire-protocol §7.9).
func (s *Session) Resume(ctx context.Context) error {
	if err := s.live(); err != nil {
		return err
	}
	done := make(chan error, 1)
	s.base.Work.Do(func() { s.resume(done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fault.From(context.Cause(ctx))
	}
}

func (s *Session) resume(done chan error) {
	if s.state != Connected || s.running != nil {
		done <- fault.New(fault.InvalidState, "the session is "+string(s.state))
		return
	}
	s.touch()
	l := s.link
	switch {
	case l.released:
		s.rebuildMedia(l, done)
	case s.life.paused && !l.approved && !s.gated():
		// A rebuild during the pause held the start back: only that is missing.
		s.life.paused = false
		s.approve(l)
		s.sendKickoff()
		done <- nil
	default:
		s.life.paused = false
		s.tell(control.ResumeConversation, control.Empty{})
		s.flush()
		done <- nil
	}
}

func (s *Session) rebuildMedia(l *link, done chan error) {
	s.setState(Resuming)
	s.stopWatching()
	l.closeMedia()
	media := s.newMedia(l)
	p := newProcedure(done).limit(s.opts.Limits.Overall)
	s.running = p
	s.tell(control.ResumeConversation, control.Empty{})
	s.base.Spawn(func() {
		err := s.establish(p.ctx, l, plan{peers: media})
		s.base.Work.Post(func() {
			if s.running != p {
				return
			}
			s.running = nil
			if err != nil {
				e := fault.From(err)
				if e.Code == fault.InternalError {
					e = fault.New(fault.ResumeFailed, "the session could not be resumed").Because(err)
				}
				p.finish(e)
				s.end(e, "resume_failed")
				return
			}
			l.released = false
			s.life.paused = false
			s.approve(l)
			s.setState(Connected)
			s.startWatching()
			p.finish(nil)
			s.checkSocket(l)
		})
	})
}
