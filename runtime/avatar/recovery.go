package avatar

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// recoveryState is the state of the repairs and rebuilds under way.
type recoveryState struct {
	window        *session.Timer  // bounds the time without a socket, and is the wait between rebuilds
	closing       *session.Timer  // shortly before the end of window
	attempt       int             // of the rebuild under way, from 1
	mediaReleased <-chan struct{} // closed when the peers of the previous attempt are released
	loginExpiry   int64           // when the login to the relay expires, in seconds since 1970; 0 if unknown
	renewed       bool            // the token was renewed because the service refused it, and nothing has worked since
	question      string          // to ask again after a spiral

	peers map[event.Channel]*peerHealth

	health     *session.Timer
	stats      *session.Timer
	videoBytes uint64
	videoSince time.Time
	videoSeen  bool // the peer has reported video once
	stalls     int
	dark       time.Duration                 // of repairs in a row that brought no picture, with the pauses between them
	darkUntil  time.Time                     // when the last of them failed; zero without one
	rebuilt    map[event.Channel]bool        // the session was rebuilt for it, and it has not worked since
	last       map[event.Channel]media.Stats // for connectionQuality

	observe func(from phase, what loss, to phase) // set by tests
}

// socketDown handles a lost socket (protocol §8.2).
func (s *Session) socketDown(l *connection, reason socketio.Reason) {
	l.downReason, l.attempt = reason, 0
	back := recoverable(reason) && s.reconnects()
	change := event.ConnectivityChanged{Channel: "socket", State: string(event.ICEDisconnected), Reason: string(reason), Recoverable: &back}
	if back {
		change.Attempt, change.MaxAttempts = 1, s.maxAttempts(1)
	}
	s.core.Emit(change)
	if !back {
		s.lose(socketClosed, detail{reason: string(reason)})
		return
	}
	s.lose(socketDropped, detail{reason: string(reason)})
}

// lastCall, spread to 1 to 2 s, is how long before the end of the window one more attempt
// begins at once: the wait between attempts, or an attempt without a reply, must not use up the
// rest of the window. It is spread because after a failure of the service the windows of all
// its clients end at the same moment.
const (
	lastCall       = 1500 * time.Millisecond
	lastCallSpread = 1.0 / 3
)

// awaitSocket waits for a socket that is down to come back.
func (s *Session) awaitSocket(d detail) {
	s.setPhase(offline)
	attempt := max(1, s.conn.attempt)
	s.core.Emit(event.Reconnecting{Reason: d.reason, Attempt: attempt, MaxAttempts: s.maxAttempts(attempt)})
	s.stopWaiting()
	s.recovery.window = s.core.After(s.opts.ReconnectWindow, func() { s.lose(windowOver, detail{}) })
	if early := s.opts.ReconnectWindow - s.spread.recovery.Around(lastCall, lastCallSpread); early > 0 {
		s.recovery.closing = s.core.After(early, func() { s.lose(windowCloses, detail{}) })
	}
}

// stopWaiting ends the wait for a socket or for the next rebuild.
func (s *Session) stopWaiting() {
	s.recovery.window.Stop()
	s.recovery.closing.Stop()
}

// maxAttempts returns the bound of attempts for the event about one of them: the option, or
// how many the window has time for. It is never less than the attempt, because the browser's
// event online and the end of the window begin attempts besides (session §A.1.5).
func (s *Session) maxAttempts(attempt int) int {
	limit := *s.opts.MaxReconnectAttempts
	if limit < 0 {
		limit = s.socketOptions().AttemptsWithin(s.opts.ReconnectWindow)
	}
	return max(attempt, limit)
}

// connectAttempts bounds the attempts to reach the service for the first time
// (protocol §1.6).
const connectAttempts = 5

// reconnects reports whether a lost socket is reconnected.
func (s *Session) reconnects() bool { return *s.opts.MaxReconnectAttempts != 0 }

// hurry reconnects a socket that is down, or begins the next rebuild, without waiting.
func (s *Session) hurry(detail) {
	switch {
	case s.conn != nil:
		if s.conn.downReason != "" || !s.conn.opened {
			s.conn.socket.Reconnect()
		}
	case s.running == nil:
		s.stopWaiting()
		s.rebuildAttempt(false)
	}
}

// connectError reports an attempt that failed; the socket tries again, unless
// the service refused it.
func (s *Session) connectError(l *connection, err error) {
	refused := refusal(err)
	told := "the service can't be reached"
	if refused != nil {
		told = "the service refused the connection"
		s.core.AuditFailure(refused)
	}
	s.core.Emit(event.Failed{Error: fault.New(fault.SocketError, told).Wrap(err)})
	switch {
	case refused != nil && s.mayRenew(refused) && s.phase == offline:
		s.lose(tokenRefused, detail{err: refused})
	case refused != nil: // during an attempt, attemptEnds handles the error
		s.lose(socketRefused, detail{err: err})
	case !s.reconnects(), !l.opened && s.situation() == starting && l.attempt >= connectAttempts:
		s.lose(socketSpent, detail{err: err})
	}
}

// mayRenew reports whether err is a refused token for which the application is asked for
// another; it is asked again only after a token has worked.
func (s *Session) mayRenew(err error) bool {
	return errors.Is(err, fault.Unauthorized) && s.opts.OnTokenNeeded != nil && !s.recovery.renewed
}

// renewToken asks for a new token and begins the connect, the rebuild or the resume again.
func (s *Session) renewToken(d detail) {
	s.recovery.renewed = true
	p := newProcedure(nil)
	if before := s.running; before != nil {
		p.done, before.done = before.done, nil
		p.joiners, before.joiners = before.joiners, nil
		before.finish(nil)
	}
	s.running = p
	switch d.from {
	case offline:
		s.beginRebuild("the token was refused")
	case resuming:
		s.forgetTurns() // their connection is given up
	}
	s.releaseMedia()
	s.drop()
	s.core.Tokens.Renew(func(err error) {
		switch {
		case s.running != p:
		case err != nil:
			s.attemptEnds(p, nil, fault.New(fault.Unauthorized, "the service refused the token, and there is no new one; connect again with a new token").InPhase(fault.PhaseServerConnect).Wrap(err))
		case p.ctx.Err() != nil:
			s.attemptEnds(p, nil, context.Cause(p.ctx))
		case d.from == starting:
			released := s.recovery.mediaReleased
			s.core.Spawn(func() {
				<-released
				s.core.Work.Post(func() { s.connectNow(p) })
			})
		case d.from == resuming:
			s.remake(p.limit(s.opts.Limits.Overall), false)
		default:
			p.finish(nil)
			s.rebuildAttempt(false)
		}
	})
}

// freshRelay gives the media engine a new login to the relay, for later peers. It runs
// outside the queue.
func (s *Session) freshRelay(ctx context.Context) {
	if s.opts.OnRelayNeeded == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, relayLimit)
	defer cancel()
	login, err := session.Guarded(func() (any, error) { return s.opts.OnRelayNeeded(ctx) })
	switch c, _ := login.(*appinit.TURNCredentials); {
	case err != nil:
		s.core.Log("warn", "onRelayNeeded failed: "+err.Error(), nil)
	case c != nil:
		s.core.Secrets.Add(c.Credential)
		s.engine.SetRelayLogin(*c)
		s.core.Work.Post(func() { s.recovery.loginExpiry = c.Expiry })
	}
}

// loginExpired reports whether the login to the relay has expired for new peers.
func (s *Session) loginExpired() bool {
	return s.recovery.loginExpiry != 0 && time.Now().Unix() >= s.recovery.loginExpiry
}

// relayLimit bounds one call of OnRelayNeeded.
const relayLimit = 5 * time.Second

// refusedToken is the service's message for a token that it refuses
// (protocol §1.9.2).
const refusedToken = "unauthorized"

// refusal returns the error of a connection that the service refused, nil if err is
// another error. After a refusal the socket does not try again, so waiting would be in
// vain (protocol §4.3).
func refusal(err error) *fault.Error {
	var refused *socketio.RefusedError
	if !errors.As(err, &refused) {
		return nil
	}
	e := fault.New(fault.ConnectFailed, "the service refused the connection").WithRetryable(false)
	if refused.Message == refusedToken {
		e = fault.New(fault.Unauthorized, "the service refused the token; connect again with a new one")
	}
	return e.InPhase(fault.PhaseServerConnect).Wrap(err)
}

// socketUp handles a socket that is connected (protocol §8.3).
func (s *Session) socketUp(l *connection, recovered bool) {
	first := !l.opened
	l.opened, l.downReason = true, ""
	s.mark(phaseSocketOpen)
	s.core.Emit(event.ConnectivityChanged{Channel: "socket", State: string(event.ICEConnected)})
	if recovered {
		s.outbox.recovered()
	}
	switch {
	case first:
	case recovered:
		s.lose(socketKept, detail{conn: l})
	default:
		s.lose(socketNew, detail{conn: l})
	}
}

// socketRecovered continues the session that the service has kept.
func (s *Session) socketRecovered(detail) {
	s.stopWaiting()
	s.setPhase(live)
	s.outbox.flush()
	s.core.Emit(event.Reconnected{Recovered: true})
	s.repairPeers(detail{})
}

// rebuildAll makes the whole session again on the same thread, keeping what the application
// knows of it (protocol §8.4).
func (s *Session) rebuildAll(d detail) { s.rebuild(d.reason, false) }

// rebuildOnSame does the same on the socket that has just reconnected by itself.
func (s *Session) rebuildOnSame(detail) { s.rebuild("socket recovery not available", true) }

func (s *Session) rebuild(reason string, reuse bool) {
	s.beginRebuild(reason)
	s.releaseMedia()
	s.rebuildAttempt(reuse)
}

func (s *Session) beginRebuild(reason string) {
	s.stopWaiting()
	s.stopWatching()
	s.forgetTurns()
	first := s.phase.state() != ReconnectingState // else the loss of the socket was reported
	s.setPhase(rebuilding)
	if first {
		s.core.Emit(event.Reconnecting{Reason: reason, Attempt: 1, MaxAttempts: s.opts.Limits.ColdAttempts, Cold: true})
	}
	s.recovery.attempt = 1
}

// forgetTurns drops what was under way on a connection that is given up.
func (s *Session) forgetTurns() {
	s.core.Tools.Forget()
	s.dropSegments()
	s.resetTurn()
	s.outbox.abandoned()
}

// releaseMedia closes the peers. The next attempt waits until the service has released the
// viewer, because the picture may have only one (protocol §8.4, step 2).
func (s *Session) releaseMedia() {
	released := make(chan struct{})
	s.recovery.mediaReleased = released
	if s.conn == nil || s.conn.down == nil {
		close(released)
		return
	}
	down := s.conn.down
	s.conn.down = nil
	s.conn.closeMedia()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.WHEPRelease)
	s.core.Spawn(func() {
		defer close(released)
		defer cancel()
		down.Release(ctx)
	})
}

func (s *Session) rebuildAttempt(reuse bool) {
	p := newProcedure(nil).limit(s.opts.Limits.Overall)
	s.running = p
	if !reuse {
		s.drop()
	}
	s.remake(p, reuse)
}

// remake makes the session for p, once the viewer of the previous attempt is released.
func (s *Session) remake(p *procedure, reuse bool) {
	released := s.recovery.mediaReleased
	s.core.Spawn(func() {
		<-released
		s.freshRelay(p.ctx)
		s.core.Work.Post(func() {
			if s.running == p {
				s.remakeOn(p, reuse)
			}
		})
	})
}

// remakeOn makes the session on its present socket, or on a new one.
func (s *Session) remakeOn(p *procedure, reuse bool) {
	if p.ctx.Err() != nil {
		s.attemptEnds(p, nil, context.Cause(p.ctx))
		return
	}
	var l *connection
	if reuse {
		// The service sees a new session: the old room and peers are gone.
		old := s.conn
		old.hs.reset()
		l = &connection{socket: old.socket, hs: old.hs, room: session.RandomID(roomIDLength), opened: true}
	} else {
		var err error
		if l, err = s.open(); err != nil {
			s.attemptEnds(p, nil, err)
			return
		}
	}
	l.announced, l.shown = true, true
	s.use(l)
	media := s.newMedia(l)
	request := s.joinRequest(l.room)
	s.core.Spawn(func() {
		err := s.establish(p.ctx, l, plan{peers: media, join: &request, reuse: reuse, agent: true})
		s.core.Work.Post(func() { s.attemptEnds(p, l, err) })
	})
}

// rebuildEnds ends one attempt of a rebuild.
func (s *Session) rebuildEnds(p *procedure, l *connection, err error) {
	if err != nil && s.mayRenew(err) {
		s.lose(tokenRefused, detail{err: err})
		return
	}
	s.running = nil
	p.finish(nil)
	switch {
	case err == nil:
		s.lose(attemptDone, detail{conn: l})
	case fault.From(err).Code.Fatal(), errors.Is(err, fault.Unauthorized):
		s.lose(attemptFatal, detail{err: err})
	case s.recovery.attempt < s.opts.Limits.ColdAttempts:
		s.lose(attemptFailed, detail{err: err})
	default:
		s.lose(attemptsSpent, detail{err: err})
	}
}

func (s *Session) rebuilt(d detail) {
	l := d.conn
	s.recovery.renewed = false
	s.approve(l)
	s.setPhase(live)
	s.core.Emit(event.Reconnected{Recovered: false})
	s.startWatching()
	s.noPicture(l)
	s.sendKickoff() // if the disclosure held it until now
	s.askAgain()
	s.outbox.flush()
}

func (s *Session) retryRebuild(d detail) {
	s.releaseMedia()
	s.drop() // late events of the failed attempt must not have an effect
	s.recovery.attempt++
	s.core.Emit(event.ConnectivityChanged{
		Channel: "socket", State: string(event.ReconnectRetry), Detail: d.err.Error(),
		Attempt: s.recovery.attempt, MaxAttempts: s.opts.Limits.ColdAttempts,
	})
	s.recovery.window = s.core.After(s.spread.recovery.Around(s.opts.Limits.ColdBackoff, 0.5), func() { s.rebuildAttempt(false) })
}

// askAgain sends the question that a tool spiral left unanswered again, after the opening.
func (s *Session) askAgain() {
	question := s.recovery.question
	s.recovery.question = ""
	if question == "" {
		return
	}
	ctx := s.core.Life
	s.core.Spawn(func() {
		text, err := s.guard(ctx, spiralPrefix+question, "spiralRecovery")
		s.core.Work.Post(func() {
			switch {
			case ctx.Err() != nil: // the session ended
			case err != nil:
				s.core.Log("warn", "the lost question is not asked again: "+err.Error(), nil)
			default:
				s.outbox.addFirst(&waitingText{text, func(sent bool) {
					if sent {
						s.core.Emit(event.SpiralRecovered{Text: question})
					}
				}})
			}
		})
	})
}
