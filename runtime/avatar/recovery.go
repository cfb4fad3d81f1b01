package avatar

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// This file decides what happens after a loss: of the socket, of a peer, of the network, of an
// attempt to make them again (protocol §8). All code that detects a loss calls [Session.lose].
// The decisions are data, which the diagram of docs/resilience.md shows. What they do about the
// socket and the session follows below, what they do about a peer is in mediahealth.go.

// What decisions are looked up by, besides the phases live, offline, rebuilding and resuming.
const (
	outside  = phase("outside")  // no session to repair: before connect, and after the end
	starting = phase("starting") // preparing or connecting
	paused   = phase("paused")   // live and paused, or announced
)

// situation returns the phase by which the decisions are looked up.
func (s *Session) situation() phase {
	switch s.phase {
	case preparing, connecting:
		return starting
	case offline, rebuilding, resuming:
		return s.phase
	case announced:
		return paused
	case live:
		if s.life.paused {
			return paused
		}
		return live
	}
	return outside
}

// loss is what happened to a session: something was lost, or a loss ended.
type loss string

const (
	socketDropped loss = "socket dropped"                // it reconnects by itself
	socketClosed  loss = "socket closed"                 // for good, by the service
	socketKept    loss = "socket recovered"              // it is back, and the service kept the session
	socketNew     loss = "session lost"                  // the socket is back, but the service no longer has the session
	socketSpent   loss = "no attempts left"              // to connect the socket
	tokenRefused  loss = "token refused"                 // and the application has a function for a new one
	socketRefused loss = "socket refused"                // the service refuses the connection
	windowCloses  loss = "window closing"                // the time without a socket is almost up
	windowOver    loss = "window over"                   // the time without a socket is up
	networkBack   loss = "network back"                  // the browser is online again
	peerLost      loss = "peer lost"                     // a peer has no network, or no bytes come
	repairFailed  loss = "repair failed"                 // a peer can't be mended in place
	repairVain    loss = "repair failed after a rebuild" // which did not mend the peer either
	mediaGone     loss = "no picture for too long"       // though it was rebuilt
	toolSpiral    loss = "tool spiral"                   // the brain calls tools and nothing else
	serviceFatal  loss = "fatal event"                   // the service ends the session with a reason
	pauseOver     loss = "pause expired"                 // the service released the media
	attemptFailed loss = "attempt failed"                // of a connect, rebuild or resume
	attemptFatal  loss = "attempt forbidden"             // by a fatal event, or a token that was refused
	attemptsSpent loss = "attempts failed"               // the last rebuild failed
	attemptDone   loss = "attempt succeeded"             // of a connect, rebuild or resume
)

// action is what the session does about it, in the words of the diagram.
type action string

const (
	awaitSocket   action = "wait for the socket" // at most the window
	hurry         action = "reconnect now"
	goOn          action = "go on"
	repairPeer    action = "repair the peer"
	repairPeers   action = "repair lost peers"
	remember      action = "repair it later" // when the session is live again
	rebuildOnSame action = "rebuild on this socket"
	rebuildAll    action = "rebuild"
	retryRebuild  action = "rebuild again"
	cutAttempt    action = "fail the attempt" // attemptFailed follows
	report        action = "report the error" // the service closes the socket
	noteReleased  action = "remember that the media are gone"
	renewToken    action = "ask for a new token, and once more"
	remakeMedia   action = "make the media again"
	endSession    action = "end"
)

// step is a decision: what is done about a loss in a situation, by which function, and the
// situation afterwards. If to has two, the second is that of a paused session.
type step struct {
	from phase
	what loss
	do   action
	to   targets
	by   func(*Session, detail)
}

type targets []phase

// decisions is the state machine. What is not listed changes nothing: a socket that drops
// during an attempt reconnects within the attempt's own limits, a peer that is lost
// while another attempt or a pause is under way is repaired afterwards.
//
// A list, because the compiler writes it as data; a map would be filled by code when the
// program starts.
var decisions = [...]step{
	{starting, socketClosed, cutAttempt, targets{starting}, (*Session).cutClosed},
	{starting, socketNew, cutAttempt, targets{starting}, (*Session).cutLost},
	{starting, socketSpent, cutAttempt, targets{starting}, (*Session).cutUnreachable},
	{starting, tokenRefused, renewToken, targets{starting}, (*Session).renewToken},
	{starting, socketRefused, cutAttempt, targets{starting}, (*Session).cutRefused},
	{starting, attemptFailed, endSession, targets{outside}, (*Session).connectFailed},
	{starting, attemptDone, goOn, targets{live}, (*Session).connectDone},

	{live, socketDropped, awaitSocket, targets{offline}, (*Session).awaitSocket},
	{live, socketClosed, endSession, targets{outside}, (*Session).endClosed},
	{live, networkBack, repairPeers, targets{live}, (*Session).repairPeers},
	{live, peerLost, repairPeer, targets{live}, (*Session).repairLost},
	{live, repairFailed, rebuildAll, targets{rebuilding}, (*Session).rebuildAll},
	{live, repairVain, remember, targets{live}, (*Session).rememberLost},
	{live, mediaGone, endSession, targets{outside}, (*Session).endDark},
	{live, toolSpiral, rebuildAll, targets{rebuilding}, (*Session).rebuildAll},
	{live, serviceFatal, report, targets{live}, (*Session).reportFatal},
	{live, pauseOver, remakeMedia, targets{resuming}, (*Session).remakeMedia}, // it crossed with resume()

	{paused, socketDropped, awaitSocket, targets{offline}, (*Session).awaitSocket},
	{paused, socketClosed, endSession, targets{outside}, (*Session).endClosed},
	{paused, repairFailed, remember, targets{paused}, (*Session).rememberLost},
	{paused, repairVain, remember, targets{paused}, (*Session).rememberLost},
	{paused, toolSpiral, rebuildAll, targets{rebuilding}, (*Session).rebuildAll},
	{paused, serviceFatal, report, targets{paused}, (*Session).reportFatal},
	{paused, pauseOver, noteReleased, targets{paused}, (*Session).noteReleased},

	{offline, socketDropped, awaitSocket, targets{offline}, (*Session).awaitSocket},
	{offline, socketClosed, endSession, targets{outside}, (*Session).endClosed},
	{offline, socketKept, goOn, targets{live, paused}, (*Session).socketRecovered},
	{offline, socketNew, rebuildOnSame, targets{rebuilding}, (*Session).rebuildOnSame},
	{offline, socketSpent, endSession, targets{outside}, (*Session).endUnreachable},
	{offline, tokenRefused, renewToken, targets{rebuilding}, (*Session).renewToken},
	{offline, socketRefused, endSession, targets{outside}, (*Session).endRefused},
	{offline, windowCloses, hurry, targets{offline}, (*Session).hurry},
	{offline, windowOver, endSession, targets{outside}, (*Session).endLate},
	{offline, networkBack, hurry, targets{offline}, (*Session).hurry},
	{offline, repairFailed, remember, targets{offline}, (*Session).rememberLost},
	{offline, repairVain, remember, targets{offline}, (*Session).rememberLost},
	{offline, serviceFatal, report, targets{offline}, (*Session).reportFatal},

	{rebuilding, socketClosed, cutAttempt, targets{rebuilding}, (*Session).cutClosed},
	{rebuilding, socketNew, cutAttempt, targets{rebuilding}, (*Session).cutLost},
	{rebuilding, socketSpent, cutAttempt, targets{rebuilding}, (*Session).cutUnreachable},
	{rebuilding, tokenRefused, renewToken, targets{rebuilding}, (*Session).renewToken},
	{rebuilding, socketRefused, cutAttempt, targets{rebuilding}, (*Session).cutRefused},
	{rebuilding, networkBack, hurry, targets{rebuilding}, (*Session).hurry},
	{rebuilding, attemptFailed, retryRebuild, targets{rebuilding}, (*Session).retryRebuild},
	{rebuilding, attemptFatal, endSession, targets{outside}, (*Session).endForbidden},
	{rebuilding, attemptsSpent, endSession, targets{outside}, (*Session).endUnbuilt},
	{rebuilding, attemptDone, goOn, targets{live, paused}, (*Session).rebuilt},

	{resuming, socketClosed, cutAttempt, targets{resuming}, (*Session).cutClosed},
	{resuming, socketNew, cutAttempt, targets{resuming}, (*Session).cutLost},
	{resuming, socketSpent, cutAttempt, targets{resuming}, (*Session).cutUnreachable},
	{resuming, tokenRefused, renewToken, targets{resuming}, (*Session).renewToken},
	{resuming, socketRefused, cutAttempt, targets{resuming}, (*Session).cutRefused},
	{resuming, attemptFailed, endSession, targets{outside}, (*Session).resumeFailed},
	{resuming, attemptDone, goOn, targets{live}, (*Session).mediaResumed},
}

// table is decisions. The functions of the rows reach [Session.lose], so that Go could not
// initialise a table that lose refers to.
var table []step

func init() { table = decisions[:] }

// decide returns the step for a loss, and whether there is one.
func decide(from phase, what loss) (step, bool) {
	for _, step := range table {
		if step.from == from && step.what == what {
			return step, true
		}
	}
	return step{}, false
}

// detail describes a loss. Which fields are set depends on the loss.
type detail struct {
	from   phase // always set
	conn   *connection
	reason string       // for events
	err    error        // why an attempt or a repair failed, or the socket was refused
	fatal  *fault.Error // serviceFatal

	channel event.Channel // peerLost, repairFailed
	state   string        // of the peer, repairFailed
}

// lose carries out the decision for what in the present situation, if there is one.
func (s *Session) lose(what loss, d detail) {
	d.from = s.situation()
	step, decided := decide(d.from, what)
	if decided {
		step.by(s, d)
	}
	if s.recovery.observe != nil {
		s.recovery.observe(d.from, what, s.situation())
	}
	if step.do == goOn && s.conn != nil && s.conn.downReason != "" {
		// The socket dropped during the attempt and is still down.
		s.lose(socketDropped, detail{reason: string(s.conn.downReason)})
	}
}

// rememberLost leaves a repair for the time when the session is live again.
func (s *Session) rememberLost(d detail) { s.peer(d.channel).repairReason = d.state }

// noteReleased notes that the service released the media of a paused session.
func (s *Session) noteReleased(detail) {
	s.conn.released = true
	s.conn.approved = false
}

// reportFatal reports why the service ends the session; it closes the socket next.
func (s *Session) reportFatal(d detail) { s.core.Emit(event.Failed{Error: d.fatal}) }

// cut ends the connect, rebuild or resume under way.
func (s *Session) cut(e *fault.Error) {
	if s.running != nil { // else between two attempts
		s.running.cancel(e)
	}
}

func (s *Session) cutLost(detail) {
	s.cut(fault.New(fault.ConnectFailed, "the connection was lost during the handshake").InPhase(fault.PhaseConnect).WithRetryable(true))
}

func (s *Session) cutClosed(d detail) {
	s.cut(fault.New(fault.ConnectFailed, "the connection was closed: "+d.reason).InPhase(fault.PhaseConnect).WithRetryable(true))
}

func (s *Session) cutUnreachable(d detail) {
	s.cut(fault.New(fault.ConnectFailed, "the service can't be reached").InPhase(fault.PhaseServerConnect).Wrap(d.err).WithRetryable(d.err == nil))
}

func (s *Session) cutRefused(d detail) { s.cut(refusal(d.err)) }

// endWith ends a session that can't go on, with the error that says why.
func (s *Session) endWith(e *fault.Error) { s.end(e, string(e.Code)) }

func (s *Session) endClosed(d detail) { s.end(nil, d.reason) }

func (s *Session) endRefused(d detail) { s.endWith(refusal(d.err)) }

func (s *Session) endForbidden(d detail) { s.endWith(fault.From(d.err)) }

func (s *Session) endUnreachable(d detail) {
	s.endWith(fault.New(fault.ReconnectFailed, "the connection could not be made again; connect again to go on").InPhase(fault.PhaseReconnect).Wrap(d.err))
}

func (s *Session) endLate(d detail) {
	s.endWith(fault.New(fault.ReconnectTimeout, "the connection did not come back in time; connect again to go on").InPhase(fault.PhaseReconnect).Wrap(d.err))
}

func (s *Session) endUnbuilt(d detail) {
	s.endWith(fault.New(fault.ReconnectFailed, "the session could not be rebuilt; connect again to go on").InPhase(fault.PhaseReconnect).Wrap(d.err))
}

func (s *Session) endDark(d detail) {
	s.endWith(fault.New(fault.MediaRecoverFailed, "the picture did not come back; connect again, on another network if it is still missing, or continue in text").InPhase(fault.PhaseReconnect).Wrap(d.err).WithRetryable(true))
}

// recoverable reports whether the socket reconnects by itself after reason
// (protocol §8.2).
func recoverable(reason socketio.Reason) bool {
	switch reason {
	case socketio.TransportError, socketio.TransportClose, socketio.ForcedClose, socketio.PingTimeout:
		return true
	}
	return false
}

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
