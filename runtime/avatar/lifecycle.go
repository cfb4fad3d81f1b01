package avatar

import (
	"cmp"
	"context"
	"time"

	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// lifecycleState is the state of the conversation's lifecycle.
type lifecycleState struct {
	disclosure   *event.Disclosure
	acknowledged bool // stays valid for the session's life

	paused     bool
	confirm    *session.Timer // the limit for the confirmation of the newest resume that the service announced
	idle       *session.Timer
	endEmitted bool
}

// Disconnect ends the session and sends the completion signal. It may be called at any
// time and more than once; it does not block. The token is cleared. A connect under way
// fails with connect_failed.
func (s *Session) Disconnect(o session.DisconnectOptions) {
	s.core.Work.Do(func() { s.disconnect(o) })
}

// Stop is Disconnect with the reason "stop", for a stop button.
func (s *Session) Stop() { s.Disconnect(session.DisconnectOptions{Reason: "stop"}) }

// Close disconnects and closes the media engine, for good: a wait for capacity ends, and the
// session takes no token any more. It blocks until the sockets are closed, a viewer is released
// that a rebuild has given up, within Limits.WHEPRelease, the completion signal was sent or
// failed within Options.CompleteTimeout, and the listener has received every event; a listener
// must therefore not call it.
func (s *Session) Close() {
	s.close()
	s.Disconnect(session.DisconnectOptions{})
	s.core.Work.Call(s.media.Close)
	s.core.Close()
}

func (s *Session) disconnect(o session.DisconnectOptions) { s.leave(o, canceled(nil)) }

// leave is disconnect; a connect or a resume under way fails with why.
func (s *Session) leave(o session.DisconnectOptions, why *fault.Error) {
	if s.phase == disconnected || s.phase == disconnecting {
		s.dropPrepared(nil)
		s.core.Token = "" // only an end that the application asked for clears it (protocol §8.11)
		return
	}
	o.Reason = cmp.Or(o.Reason, "disconnect")
	alive := s.phase != idle && s.phase != broken
	s.setPhase(disconnecting)
	s.core.Audit("session.disconnect", "ended", o.Reason)
	// The completion request is sent first: while a page unloads, nothing
	// after it is sure to be sent (protocol §8.8).
	if s.core.Notifier != nil && !o.Keep {
		s.core.Notifier.Notify(o.Reason)
	}
	s.resetTurn()
	s.core.Turns.Close()
	s.outbox.ended()
	s.tearDown(why)
	s.core.Token = ""
	s.core.Audit("token.revoke", "ended", "forgotten")
	s.setPhase(disconnected)
	if alive {
		s.emitEnded(o.Reason)
	}
}

// end ends a session that can't go on; err is nil when the reason alone is enough
// (session §O8).
func (s *Session) end(err *fault.Error, reason string) {
	if s.phase == disconnected || s.phase == disconnecting {
		return
	}
	s.resetTurn()
	s.core.Turns.Close()
	s.outbox.ended()
	if err != nil {
		s.core.Emit(event.Failed{Error: err})
	}
	s.setPhase(disconnected)
	s.emitEnded(reason)
	s.tearDown(canceled(causeOf(err)))
}

// endedByService handles conversationEnded (protocol §4.8).
func (s *Session) endedByService() {
	s.outbox.ended()
	s.emitEnded("conversation_ended")
	why := fault.New(fault.ConnectFailed, "the service ended the conversation; call setToken and connect for another").InPhase(fault.PhaseConnect).WithRetryable(true)
	s.leave(session.DisconnectOptions{Reason: "conversation_ended", Keep: !s.opts.CompleteOnServerEnd}, why)
}

func (s *Session) emitEnded(reason string) {
	if s.lifecycle.endEmitted {
		return
	}
	s.lifecycle.endEmitted = true
	s.localSpeaking(false)
	s.core.Emit(event.Ended{Reason: reason})
}

// tearDown releases everything. The state stays as it is. An attempt under way fails with why,
// which is nil where there is none.
func (s *Session) tearDown(why *fault.Error) {
	s.stopWatching()
	s.lifecycle.idle.Stop()
	s.core.Stall.Disarm()
	s.stopWaiting()
	s.core.Tokens.Stop()
	s.recovery.renewed = false
	if a := s.running; a != nil {
		s.running = nil
		a.finish(why)
	}
	s.dropPrepared(nil)
	s.drop()
	s.core.Die() // before StopMic, so that no call opens a device after it
	s.media.StopMic()
	s.media.ClearTracks()
	s.resetTurn()
	s.turn.kickoffText, s.turn.echo, s.turn.uninterruptible = nil, "", false
	s.outbox.discard()
	s.recovery.question = ""
	s.core.Tools.Forget()
	s.dropSegments()
	s.lifecycle.paused = false
	s.core.DropNotifier()
}

func causeOf(e *fault.Error) error {
	if e == nil {
		return nil // not a nil *fault.Error in an interface
	}
	return e
}

// begin starts a conversation: the page is watched from the start of connect on
// (protocol §8.8).
func (s *Session) begin() {
	s.lifecycle.endEmitted = false
	s.core.Begin()
	s.mended(event.ChannelASR)
	s.mended(event.ChannelSTV)
	s.answer.silentTools, s.turn.lastText = 0, ""
	s.turn.kickoffTaken = false
	s.config = nil
	s.core.DropNotifier()
	s.core.Notify(s.opts.Page, s.onNetwork)
	s.core.Audit("session.connect", "started", "")
	s.core.Tokens.Watch()
	s.core.Audit("token.mint", "accepted", "taken into use")
}

// completing returns the sender of the completion signal. A session that never connected gets
// one; a disconnected session has none.
func (s *Session) completing() *completion.Notifier {
	if s.core.Notifier == nil && (s.phase == idle || s.phase == broken) {
		s.core.Notify(nil, s.onNetwork)
	}
	return s.core.Notifier
}

func (s *Session) onNetwork(online bool) { s.core.Work.Post(func() { s.network(online) }) }

// network reacts to the browser's events online and offline (protocol §8.5).
func (s *Session) network(online bool) {
	if !*s.opts.NetworkAware || s.decisionPhase() == outside {
		return
	}
	state := event.NetworkOffline
	if online {
		state = event.NetworkOnline
	}
	s.core.Emit(event.ConnectivityChanged{Channel: "network", State: string(state)})
	if online {
		s.handle(networkBack, cause{})
	}
}

// disclose emits, before any speech, the notice that a machine talks
// (session §O3).
func (s *Session) disclose(conn *connection) {
	s.lifecycle.disclosure = &event.Disclosure{
		Type:           "ai_disclosure",
		DisclosureText: s.opts.DisclosureText,
		FiredAt:        session.Stamp(time.Now()),
		Synthetic:      true,
		Provenance:     event.Provenance{GeneratedBy: "agentruntime", Voice: "synthetic", SessionID: conn.room},
		Scope:          "session",
	}
	s.core.Emit(event.DisclosureShown{Disclosure: *s.lifecycle.disclosure})
}

// gated reports whether the start waits for the acknowledgement of the disclosure.
func (s *Session) gated() bool { return s.opts.RequireDisclosureAck && !s.lifecycle.acknowledged }

// AcknowledgeDisclosure starts a conversation that waits for it, and sends the kickoff.
func (s *Session) AcknowledgeDisclosure() {
	s.core.Work.Do(func() {
		if s.lifecycle.acknowledged {
			return
		}
		s.lifecycle.acknowledged = true
		if s.phase == live || s.phase == announced { // otherwise what ends the phase approves
			s.approve(s.conn)
			s.sendKickoff()
		}
	})
}

// Pause silences the avatar until Resume, and closes a tap-to-talk window; the service
// releases the media when the pause lasts too long. The error is invalid_state. A second
// call does nothing.
func (s *Session) Pause() error {
	if err := s.Live(); err != nil {
		return err
	}
	s.core.Work.Do(func() {
		if s.phase != live || s.lifecycle.paused {
			return
		}
		if s.turn.tap {
			s.closeTap()
		}
		s.lifecycle.paused, s.conn.paused = true, true
		s.core.Stall.Disarm()
		s.outbox.command(signaling.PauseConversation, signaling.Empty{})
		s.core.Emit(event.ControlsChanged{})
	})
	return nil
}

// Resume ends a pause. After an expired pause the media are made again, within
// the overall limit; if that fails, the session ends with the same error
// (protocol §7.9).
func (s *Session) Resume(ctx context.Context) error {
	if err := s.Live(); err != nil {
		return err
	}
	return s.outcome(ctx, s.resume)
}

func (s *Session) resume(done chan error) {
	if s.phase != live || s.running != nil {
		done <- fault.New(fault.InvalidState, "the session is "+string(s.phase.state()))
		return
	}
	s.noteActivity()
	conn := s.conn
	if conn.released {
		s.rebuildMedia(done)
		return
	}
	// After a rebuild during the pause, the service has no pause to end; only the
	// approval is missing (protocol §7.9).
	s.lifecycle.paused = false
	if conn.paused || conn.approved || s.gated() {
		s.outbox.command(signaling.ResumeConversation, signaling.Empty{})
	}
	s.approve(conn)
	s.sendKickoff()
	s.outbox.flush()
	done <- nil
}

// remakeMedia resumes a session without a call that waits for it.
func (s *Session) remakeMedia(cause) { s.rebuildMedia() }

func (s *Session) rebuildMedia(calls ...chan error) {
	s.setPhase(resuming)
	s.stopWatching()
	s.conn.closeMedia()
	s.conn.approved = false
	s.outbox.command(signaling.ResumeConversation, signaling.Empty{})
	s.running = newAttempt(plan{relay: true, media: true}, func() (*connection, error) { return s.conn, nil })
	s.running.calls = calls
	s.launch(s.running, nil)
}

func (s *Session) resumeFailed(c cause) {
	e := fault.From(c.err)
	if e.Code == fault.InternalError {
		e = fault.New(fault.ResumeFailed, "the session could not be resumed").Wrap(c.err)
	}
	c.attempt.finish(e)
	s.end(e, "resume_failed")
}

func (s *Session) mediaResumed(cause) {
	s.conn.released = false
	s.lifecycle.paused, s.recovery.renewed = false, false
	s.approve(s.conn)
	s.setPhase(live)
	s.startWatching()
	s.noPicture()
	s.sendKickoff()
	s.outbox.flush()
}

// noteActivity restarts the idle limit and the grace period of a hidden page.
func (s *Session) noteActivity() {
	if s.core.Notifier != nil {
		s.core.Notifier.Activity()
	}
	s.lifecycle.idle.Stop()
	limit := *s.opts.IdleTimeout
	if limit <= 0 || s.phase != live && s.phase != announced { // startWatching begins it again
		return
	}
	lead := min(idleWarningLead, limit)
	s.lifecycle.idle = s.core.After(limit-lead, func() {
		s.core.Emit(event.IdleWarning{InMs: lead.Milliseconds()})
		s.lifecycle.idle = s.core.After(lead, func() {
			s.core.Audit("session.timeout", "ended", "idle_timeout")
			s.core.Emit(event.TimeExpired{Type: "idle_timeout"})
			s.disconnect(session.DisconnectOptions{Reason: "idle_timeout"})
		})
	})
}

// idleWarningLead is how long before the end of an idle session idleWarning is emitted.
const idleWarningLead = time.Minute
