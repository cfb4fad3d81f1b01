package avatar

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// lifeState is the state of the conversation's life cycle.
type lifeState struct {
	disclosure   *event.Disclosure
	acknowledged bool // stays valid for the session's life

	paused bool
	// ctx lasts from a connect to the end of that conversation; functions of the
	// application are called with it.
	ctx    context.Context
	cancel context.CancelFunc

	idle        *session.Timer
	warnedEmpty bool
	endEmitted  bool
}

// Disconnect ends the session and sends the completion signal. It may be called at any
// time and more than once; it does not block. The token is cleared. A connect under way
// fails with connect_failed.
func (s *Session) Disconnect(o session.DisconnectOptions) {
	s.base.Work.Do(func() { s.disconnect(o) })
}

// Stop is Disconnect with the reason "stop", for a stop button.
func (s *Session) Stop() { s.Disconnect(session.DisconnectOptions{Reason: "stop"}) }

// Close disconnects and closes the media engine, for good. It blocks until the sockets
// are closed, the completion signal was sent or failed within Options.CompleteTimeout,
// and the listener has received every event; a listener must therefore not call it.
func (s *Session) Close() {
	s.Disconnect(session.DisconnectOptions{})
	s.base.Work.Call(s.media.Close)
	s.readers.Wait()
	s.free()
	s.base.WaitDelivered()
	s.base.Finish()
}

// Events yields every event from the beginning of the loop on; see [session.Base.Events].
func (s *Session) Events(ctx context.Context) iter.Seq[event.Event] { return s.base.Events(ctx) }

// Settle blocks until a disconnected session emits nothing more: the completion signal
// was sent or failed, and the listener has received the outcome. A listener must
// therefore not call it.
func (s *Session) Settle() { s.base.Settle(&s.lastNotifier) }

func (s *Session) disconnect(o session.DisconnectOptions) {
	if s.state == Disconnected || s.state == Disconnecting {
		s.dropPrepared(nil)
		s.token = "" // only an end that the application asked for clears it (protocol §8.11)
		return
	}
	o.Reason = cmp.Or(o.Reason, "disconnect")
	alive := s.state != Idle && s.state != Broken
	s.setState(Disconnecting)
	s.base.Audit("session.disconnect", "ended", o.Reason)
	// The completion request is sent first: while a page unloads, nothing
	// after it is sure to be sent (protocol §8.8).
	if s.notifier != nil && !o.Keep {
		s.notifier.Notify(o.Reason)
	}
	s.resetTurn()
	s.turns.Close()
	s.settleAllTurns()
	s.tearDown(cutShort(nil))
	s.token = ""
	s.base.Audit("token.revoke", "ended", "forgotten")
	s.setState(Disconnected)
	if alive {
		s.emitEnded(o.Reason)
	}
}

// end ends a session that can't go on; err is nil when the reason alone is enough
// (session §O8).
func (s *Session) end(err *fault.Error, reason string) {
	if s.state == Disconnected || s.state == Disconnecting {
		return
	}
	s.resetTurn()
	s.turns.Close()
	s.settleAllTurns()
	if err != nil {
		s.base.Emit(event.Failed{Error: err})
	}
	s.setState(Disconnected)
	s.emitEnded(reason)
	s.tearDown(err)
}

// endedByService handles conversationEnded (protocol §4.8).
func (s *Session) endedByService() {
	s.emitEnded("conversation_ended")
	s.disconnect(session.DisconnectOptions{Reason: "conversation_ended", Keep: !s.opts.CompleteOnServerEnd})
}

func (s *Session) emitEnded(reason string) {
	if s.life.endEmitted {
		return
	}
	s.life.endEmitted = true
	s.base.Emit(event.Ended{Reason: reason})
}

// tearDown releases everything. The state stays as it is.
func (s *Session) tearDown(cause *fault.Error) {
	s.stopWatching()
	s.life.idle.Stop()
	s.stall.Disarm()
	s.stopWaiting()
	s.tokens.Stop()
	s.recovery.attempt, s.recovery.renewed = 0, false
	if p := s.running; p != nil {
		s.running = nil
		p.finish(cutShort(causeOf(cause)))
	}
	s.dropPrepared(nil)
	s.drop()
	if s.life.cancel != nil {
		s.life.cancel() // before StopMic, so that no call opens a device after it
	}
	s.media.StopMic()
	s.media.ClearTracks()
	s.resetTurn()
	s.failHeld()
	s.turn.ended = nil
	s.recovery.question = ""
	s.tools.Forget()
	s.dropSegments()
	s.life.paused = false
	s.dropNotifier()
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
	s.life.endEmitted = false
	s.life.ctx, s.life.cancel = context.WithCancel(context.Background())
	s.turn.kickoffTaken = false
	s.config = nil
	s.dropNotifier()
	s.notifier = s.newNotifier(s.opts.Page)
	s.updateNotifier()
	s.base.Audit("session.connect", "started", "")
	s.tokens.Watch()
	s.base.Audit("token.mint", "accepted", "taken into use")
}

// newNotifier returns the sender of the completion signal; page is nil for a session
// that is not connected, which must not announce itself to other tabs.
func (s *Session) newNotifier(page sessionend.Page) *sessionend.Notifier {
	settings := s.opts.Settings
	settings.Page = page
	return sessionend.New(sessionend.Options{
		URL:        *s.opts.GenieURL,
		HTTPClient: s.opts.HTTPClient,
		Trace:      s.opts.TraceContext,
		Settings:   settings,
		// The page unloads: every request must be under way when this returns.
		Leave: func(reason string) {
			s.Disconnect(session.DisconnectOptions{Reason: reason})
		},
		Network: func(online bool) { s.base.Work.Post(func() { s.network(online) }) },
		Attempt: s.base.Completed,
		Renew:   s.tokens.Once(),
	})
}

// completingNotifier returns the sender of the completion signal. A session that never
// connected gets one; a disconnected session has none.
func (s *Session) completingNotifier() *sessionend.Notifier {
	if s.notifier == nil && (s.state == Idle || s.state == Broken) {
		s.notifier = s.newNotifier(nil)
		s.updateNotifier()
	}
	return s.notifier
}

// dropNotifier closes the notifier, and keeps it for Settle, which waits for its request.
func (s *Session) dropNotifier() {
	if c := s.notifier; c != nil {
		s.notifier, s.lastNotifier = nil, c
		c.Close()
		s.readers.Go(c.Wait)
	}
}

// updateNotifier sets the contents of the notifier's request, so that it can be sent
// without waiting for the queue.
func (s *Session) updateNotifier() {
	if s.notifier != nil {
		s.notifier.SetThread(s.thread, s.token)
	}
}

// network reacts to the browser's events online and offline (protocol §8.5).
func (s *Session) network(online bool) {
	if !*s.opts.NetworkAware || s.situation() == outside {
		return
	}
	state := event.NetworkOffline
	if online {
		state = event.NetworkOnline
	}
	s.base.Emit(event.ConnectivityChanged{Channel: "network", State: string(state)})
	if online {
		s.lose(networkBack, detail{})
	}
}

// disclose emits, before any speech, the notice that a machine talks
// (session §O3).
func (s *Session) disclose(l *connection) {
	s.life.disclosure = &event.Disclosure{
		Type:           "ai_disclosure",
		DisclosureText: s.opts.DisclosureText,
		FiredAt:        time.Now().UTC().Format(time.RFC3339Nano),
		Synthetic:      true,
		Provenance:     event.Provenance{GeneratedBy: "agentruntime", Voice: "synthetic", SessionID: l.room},
		Scope:          "session",
	}
	s.base.Emit(event.DisclosureShown{Disclosure: *s.life.disclosure})
}

// gated reports whether the start waits for the acknowledgement of the disclosure.
func (s *Session) gated() bool { return s.opts.RequireDisclosureAck && !s.life.acknowledged }

// AcknowledgeDisclosure starts a conversation that waits for it, and sends the kickoff.
func (s *Session) AcknowledgeDisclosure() {
	s.base.Work.Do(func() {
		if s.life.acknowledged {
			return
		}
		s.life.acknowledged = true
		if s.state == Connected && s.conn != nil {
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
	s.base.Work.Do(func() {
		if s.state != Connected || s.life.paused {
			return
		}
		if s.turn.tap {
			s.closeTap()
		}
		s.life.paused, s.conn.paused = true, true
		s.stall.Disarm()
		s.sendCommand(control.PauseConversation, control.Empty{})
	})
	return nil
}

// pauseExpired notes that the service freed the media (protocol §7.9).
func (s *Session) pauseExpired() {
	s.lose(pauseOver, detail{})
}

// Resume ends a pause. After an expired pause the media are made again, within
// the overall limit; if that fails, the session ends with the same error
// (protocol §7.9).
func (s *Session) Resume(ctx context.Context) error {
	if err := s.Live(); err != nil {
		return err
	}
	done := make(chan error, 1)
	s.base.Work.Do(func() { s.resume(done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return session.EndOf(ctx)
	}
}

func (s *Session) resume(done chan error) {
	if s.state != Connected || s.running != nil {
		done <- fault.New(fault.InvalidState, "the session is "+string(s.state))
		return
	}
	s.noteActivity()
	l := s.conn
	switch {
	case l.released:
		s.rebuildMedia(l, done)
	default:
		// After a rebuild during the pause, the service has no pause to end; only the
		// approval is missing (protocol §7.9).
		s.life.paused = false
		if l.paused || l.approved || s.gated() {
			s.sendCommand(control.ResumeConversation, control.Empty{})
		}
		l.paused = false
		s.approve(l)
		s.sendKickoff()
		s.flush()
		done <- nil
	}
}

func (s *Session) rebuildMedia(l *connection, done chan error) {
	s.setState(Resuming)
	s.stopWatching()
	l.closeMedia()
	l.approved = false
	p := newProcedure(done).limit(s.opts.Limits.Overall)
	s.running = p
	l.paused = false
	s.sendCommand(control.ResumeConversation, control.Empty{})
	s.base.Spawn(func() {
		s.freshRelay(p.ctx)
		media, err := session.Ask(p.ctx, &s.base, func(reply chan<- peers) {
			if s.running == p {
				reply <- s.newMedia(l)
			}
		})
		if err == nil {
			err = s.establish(p.ctx, l, plan{peers: media})
		}
		s.base.Work.Post(func() { s.attemptEnds(p, l, err) })
	})
}

func (s *Session) resumeFailed(err error) {
	p := s.running
	s.running = nil
	e := fault.From(err)
	if e.Code == fault.InternalError {
		e = fault.New(fault.ResumeFailed, "the session could not be resumed").Because(err)
	}
	p.finish(e)
	s.end(e, "resume_failed")
}

func (s *Session) mediaResumed(l *connection) {
	p := s.running
	s.running = nil
	l.released = false
	s.life.paused, s.recovery.renewed = false, false
	s.approve(l)
	s.setState(Connected)
	s.startWatching()
	s.noPicture(l)
	s.sendKickoff()
	s.flush()
	p.finish(nil)
}
