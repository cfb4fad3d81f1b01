package avatar

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// This file decides what happens after a loss: of the socket, of a peer, of the network, of an
// attempt to make them again (protocol §8). All code that detects a loss calls [Session.handle].
// The decisions are data, which the diagram of docs/resilience.md shows. What they do about the
// socket and the session follows below, what they do about a peer is in mediahealth.go.

// What decisions are looked up by, besides the phases live, offline, rebuilding and resuming.
const (
	outside  = phase("outside")  // no session to repair: before connect, and after the end
	starting = phase("starting") // preparing or connecting
	paused   = phase("paused")   // live and paused, or announced
)

// decisionPhase returns the phase by which the decisions are looked up.
func (s *Session) decisionPhase() phase {
	switch s.phase {
	case preparing, connecting:
		return starting
	case offline, rebuilding, resuming:
		return s.phase
	case announced:
		return paused
	case live:
		if s.lifecycle.paused {
			return paused
		}
		return live
	}
	return outside
}

// trigger is what happened to a session: something was lost, or a loss ended.
type trigger string

const (
	socketDropped trigger = "socket dropped"                // it reconnects by itself
	socketClosed  trigger = "socket closed"                 // for good, by the service
	socketKept    trigger = "socket recovered"              // it is back, and the service kept the session
	socketNew     trigger = "session lost"                  // the socket is back, but the service no longer has the session
	socketSpent   trigger = "no attempts left"              // to connect the socket
	tokenRefused  trigger = "token refused"                 // and the application has a function for a new one
	socketRefused trigger = "socket refused"                // the service refuses the connection
	windowCloses  trigger = "window closing"                // the time without a socket is almost up
	windowOver    trigger = "window over"                   // the time without a socket is up
	networkBack   trigger = "network back"                  // the browser is online again
	peerLost      trigger = "peer lost"                     // a peer has no network, or no bytes come
	repairFailed  trigger = "repair failed"                 // a peer can't be mended in place
	repairVain    trigger = "repair failed after a rebuild" // which did not mend the peer either
	mediaGone     trigger = "no picture for too long"       // though it was rebuilt
	toolSpiral    trigger = "tool spiral"                   // the brain calls tools and nothing else
	serviceFatal  trigger = "fatal event"                   // the service ends the session with a reason
	pauseOver     trigger = "pause expired"                 // the service released the media
	attemptFailed trigger = "attempt failed"                // of a connect, rebuild or resume
	attemptFatal  trigger = "attempt forbidden"             // by a fatal event, or a token that was refused
	attemptsSpent trigger = "attempts failed"               // the last rebuild failed
	attemptDone   trigger = "attempt succeeded"             // of a connect, rebuild or resume
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

// step is a decision: what is done about a trigger in any of some phases, by which function, and
// the phase afterwards. If to has two, the second is that of a paused session; without any the
// phase stays.
type step struct {
	from  phases
	on    trigger
	do    action
	to    phases
	apply func(*Session, cause)
}

type phases []phase

// decisions is the state machine. What is not listed changes nothing: a socket that drops
// during an attempt reconnects within the attempt's own limits, a peer that is lost
// while another attempt or a pause is under way is repaired afterwards.
//
// A list, because the compiler writes it as data; a map would be filled by code when the
// program starts.
var decisions = [...]step{
	{phases{live, paused, offline}, socketDropped, awaitSocket, phases{offline}, (*Session).awaitSocket},
	{phases{live, paused, offline}, socketClosed, endSession, phases{outside}, (*Session).endClosed},
	{phases{live, paused, offline}, serviceFatal, report, nil, (*Session).reportFatal},

	{phases{live}, networkBack, repairPeers, nil, (*Session).repairPeers},
	{phases{live}, peerLost, repairPeer, nil, (*Session).repairLost},
	{phases{live}, repairFailed, rebuildAll, phases{rebuilding}, (*Session).rebuildAll},
	{phases{paused, offline}, repairFailed, remember, nil, (*Session).rememberLost},
	{phases{live, paused, offline}, repairVain, remember, nil, (*Session).rememberLost},
	{phases{live}, mediaGone, endSession, phases{outside}, (*Session).endDark},
	{phases{live, paused}, toolSpiral, rebuildAll, phases{rebuilding}, (*Session).rebuildAll},
	{phases{live}, pauseOver, remakeMedia, phases{resuming}, (*Session).remakeMedia}, // it crossed with resume()
	{phases{paused}, pauseOver, noteReleased, nil, (*Session).noteReleased},

	{phases{offline}, socketKept, goOn, phases{live, paused}, (*Session).socketRecovered},
	{phases{offline}, socketNew, rebuildOnSame, phases{rebuilding}, (*Session).rebuildOnSame},
	{phases{offline}, socketSpent, endSession, phases{outside}, (*Session).endUnreachable},
	{phases{offline}, tokenRefused, renewToken, phases{rebuilding}, (*Session).renewToken},
	{phases{offline}, socketRefused, endSession, phases{outside}, (*Session).endRefused},
	{phases{offline}, windowCloses, hurry, nil, (*Session).hurry},
	{phases{offline}, windowOver, endSession, phases{outside}, (*Session).endLate},
	{phases{offline, rebuilding}, networkBack, hurry, nil, (*Session).hurry},

	{phases{starting, rebuilding, resuming}, socketClosed, cutAttempt, nil, (*Session).cutClosed},
	{phases{starting, rebuilding, resuming}, socketNew, cutAttempt, nil, (*Session).cutLost},
	{phases{starting, rebuilding, resuming}, socketSpent, cutAttempt, nil, (*Session).cutUnreachable},
	{phases{starting, rebuilding, resuming}, socketRefused, cutAttempt, nil, (*Session).cutRefused},
	{phases{starting, rebuilding, resuming}, tokenRefused, renewToken, nil, (*Session).renewToken},

	{phases{starting}, attemptFailed, endSession, phases{outside}, (*Session).connectFailed},
	{phases{starting}, attemptDone, goOn, phases{live}, (*Session).connectDone},
	{phases{rebuilding}, attemptFailed, retryRebuild, nil, (*Session).retryRebuild},
	{phases{rebuilding}, attemptFatal, endSession, phases{outside}, (*Session).endForbidden},
	{phases{rebuilding}, attemptsSpent, endSession, phases{outside}, (*Session).endUnbuilt},
	{phases{rebuilding}, attemptDone, goOn, phases{live, paused}, (*Session).rebuilt},
	{phases{resuming}, attemptFailed, endSession, phases{outside}, (*Session).resumeFailed},
	{phases{resuming}, attemptDone, goOn, phases{live}, (*Session).mediaResumed},
}

// table is decisions. The functions of the rows reach [Session.handle], so that Go could not
// initialise a table that handle refers to.
var table []step

func init() { table = decisions[:] }

// decide returns the step for a trigger, and whether there is one.
func decide(from phase, on trigger) (step, bool) {
	for _, step := range table {
		if step.on == on && slices.Contains(step.from, from) {
			return step, true
		}
	}
	return step{}, false
}

// cause describes what happened. Which fields are set depends on the trigger.
type cause struct {
	from    phase        // always set
	attempt *attempt     // that ended
	reason  string       // for events
	err     error        // why an attempt or a repair failed, or the socket was refused
	fatal   *fault.Error // serviceFatal

	channel event.Channel // peerLost, repairFailed
	state   string        // of the peer, repairFailed
}

// handle carries out the decision for a trigger in the present phase, if there is one.
func (s *Session) handle(on trigger, c cause) {
	c.from = s.decisionPhase()
	step, decided := decide(c.from, on)
	if decided {
		step.apply(s, c)
	}
	if s.recovery.observe != nil {
		s.recovery.observe(c.from, on, s.decisionPhase())
	}
	if step.do == goOn && s.conn != nil && s.conn.downReason != "" {
		// The socket dropped during the attempt and is still down.
		s.handle(socketDropped, cause{reason: string(s.conn.downReason)})
	}
}

// rememberLost leaves a repair for the time when the session is live again.
func (s *Session) rememberLost(c cause) { s.peer(c.channel).repairReason = c.state }

// noteReleased notes that the service released the media of a paused session.
func (s *Session) noteReleased(cause) {
	s.conn.released = true
	s.conn.approved = false
}

// reportFatal reports why the service ends the session; it closes the socket next.
func (s *Session) reportFatal(c cause) { s.core.Emit(event.Failed{Error: c.fatal}) }

// cut ends the connect, rebuild or resume under way. When the service refuses a client, it says why
// before it closes the socket; a step that does not wait for events has not seen that yet.
func (s *Session) cut(e *fault.Error) {
	if s.running == nil { // between two attempts
		return
	}
	if s.conn != nil {
		if why := fault.From(context.Cause(s.conn.hs.ctx)); why != nil && why.Code.Fatal() {
			e = why
		}
	}
	s.running.cancel(e)
}

func (s *Session) cutLost(cause) {
	s.cut(fault.New(fault.ConnectFailed, "the connection was lost during the handshake").InPhase(fault.PhaseConnect).WithRetryable(true))
}

func (s *Session) cutClosed(c cause) {
	s.cut(fault.New(fault.ConnectFailed, "the connection was closed: "+c.reason).InPhase(fault.PhaseConnect).WithRetryable(true))
}

func (s *Session) cutUnreachable(c cause) {
	s.cut(fault.New(fault.ConnectFailed, "the service can't be reached").InPhase(fault.PhaseServerConnect).Wrap(c.err).WithRetryable(c.err == nil))
}

func (s *Session) cutRefused(c cause) { s.cut(refusal(c.err)) }

// endWith ends a session that can't go on, with the error that says why.
func (s *Session) endWith(e *fault.Error) { s.end(e, string(e.Code)) }

func (s *Session) endClosed(c cause) { s.end(nil, c.reason) }

func (s *Session) endRefused(c cause) { s.endWith(refusal(c.err)) }

func (s *Session) endForbidden(c cause) { s.endWith(fault.From(c.err)) }

func (s *Session) endUnreachable(c cause) {
	s.endWith(fault.New(fault.ReconnectFailed, "the connection could not be made again; connect again to go on").InPhase(fault.PhaseReconnect).Wrap(s.conn.lastErr))
}

func (s *Session) endLate(c cause) {
	s.endWith(fault.New(fault.ReconnectTimeout, "the connection did not come back in time; connect again to go on").InPhase(fault.PhaseReconnect).Wrap(s.conn.lastErr))
}

func (s *Session) endUnbuilt(c cause) {
	s.endWith(fault.New(fault.ReconnectFailed, "the session could not be rebuilt; connect again to go on").InPhase(fault.PhaseReconnect).Wrap(c.err))
}

func (s *Session) endDark(c cause) {
	s.endWith(fault.New(fault.MediaRecoverFailed, "the picture did not come back; connect again, on another network if it is still missing, or continue in text").InPhase(fault.PhaseReconnect).Wrap(c.err).WithRetryable(true))
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
	loginExpiry   float64         // when the login to the relay expires, in seconds since 1970; 0 if unknown
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
	last       map[event.Channel]media.Stats // of the present peers, for connectionQuality

	observe func(from phase, on trigger, to phase) // set by tests
}

// socketDown handles a lost socket (protocol §8.2).
func (s *Session) socketDown(conn *connection, reason socketio.Reason) {
	conn.downReason, conn.attempt, conn.lastErr = reason, 0, nil
	back := recoverable(reason) && s.reconnects()
	change := event.ConnectivityChanged{Channel: "socket", State: string(event.ICEDisconnected), Reason: string(reason), Recoverable: &back}
	on := socketClosed
	if back {
		on = socketDropped
		change.Attempt, change.MaxAttempts = 1, s.maxAttempts(1)
	}
	s.core.Emit(change)
	s.handle(on, cause{reason: string(reason)})
}

// lastCall, with jitter 1 to 2 s, is how long before the end of the window one more attempt
// begins at once: the wait between attempts, or an attempt without a reply, must not use up the
// rest of the window. It has jitter because after a failure of the service the windows of all
// its clients end at the same moment.
const (
	lastCall       = 1500 * time.Millisecond
	lastCallJitter = 1.0 / 3
)

// awaitSocket waits for a socket that is down to come back.
func (s *Session) awaitSocket(c cause) {
	s.setPhase(offline)
	attempt := max(1, s.conn.attempt)
	s.core.Emit(event.Reconnecting{Reason: c.reason, Attempt: attempt, MaxAttempts: s.maxAttempts(attempt)})
	s.stopWaiting()
	s.recovery.window = s.core.After(s.opts.ReconnectWindow, func() { s.handle(windowOver, cause{}) })
	if early := s.opts.ReconnectWindow - s.around(lastCall, lastCallJitter); early > 0 {
		s.recovery.closing = s.core.After(early, func() { s.handle(windowCloses, cause{}) })
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

// connectAttempts bounds the attempts to reach the service that follow the first one, as long
// as none has succeeded (protocol §1.6).
const connectAttempts = 5

// reconnects reports whether a lost socket is reconnected.
func (s *Session) reconnects() bool { return *s.opts.MaxReconnectAttempts != 0 }

// hurry reconnects a socket that is down, or begins the next rebuild, without waiting.
func (s *Session) hurry(cause) {
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

// connectError handles an attempt of the socket that failed. It emits no error: the socket
// tries again, or else the error that ends the session or its attempt has err as its cause.
func (s *Session) connectError(conn *connection, err error) {
	conn.lastErr = err
	s.core.Log("warn", "an attempt to reach the service failed: "+err.Error(), nil)
	refused := refusal(err)
	if refused != nil {
		s.core.AuditFailure(refused)
	}
	switch {
	case refused != nil && s.mayRenew(refused) && s.phase == offline:
		s.handle(tokenRefused, cause{err: refused})
	case refused != nil: // during an attempt, attemptEnds handles the error
		s.handle(socketRefused, cause{err: err})
	case !s.reconnects(), !conn.opened && s.decisionPhase() == starting && conn.attempt >= connectAttempts:
		s.handle(socketSpent, cause{err: err})
	}
}

// mayRenew reports whether err is a refused token for which the application is asked for
// another; it is asked again only after a token has worked.
func (s *Session) mayRenew(err error) bool {
	return errors.Is(err, fault.Unauthorized) && s.opts.OnTokenNeeded != nil && !s.recovery.renewed
}

// renewToken asks for a new token and begins the connect, the rebuild or the resume again.
func (s *Session) renewToken(c cause) {
	s.recovery.renewed = true
	again := s.newRemake(false)
	if c.from == starting {
		again = s.newConnect()
	}
	if c.attempt != nil {
		again.calls, c.attempt.calls = c.attempt.calls, nil
		c.attempt.finish(nil)
	}
	s.running = again
	switch c.from {
	case offline:
		s.beginRebuild("the token was refused")
	case resuming:
		s.forgetTurns() // their connection is given up
	}
	s.releaseMedia()
	s.drop()
	// The application's function has ten seconds, but the call that waits may end before.
	stop := context.AfterFunc(again.ctx, func() {
		s.core.Work.Post(func() { s.attemptEnds(again, context.Cause(again.ctx)) })
	})
	s.core.Tokens.Renew(func(err error) {
		if !stop() {
			return
		}
		if err != nil {
			s.attemptEnds(again, fault.New(fault.Unauthorized, "the service refused the token, and there is no new one; connect again with a new token").InPhase(fault.PhaseServerConnect).Wrap(err))
			return
		}
		s.launch(again, s.recovery.mediaReleased)
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
func (s *Session) socketUp(conn *connection, recovered bool) {
	first := !conn.opened
	conn.opened, conn.downReason = true, ""
	s.mark(phaseSocketOpen)
	s.core.Emit(event.ConnectivityChanged{Channel: "socket", State: string(event.ICEConnected)})
	if recovered {
		s.outbox.recovered()
	}
	switch {
	case first:
	case recovered:
		s.handle(socketKept, cause{})
	default:
		s.handle(socketNew, cause{})
	}
}

// socketRecovered continues the session that the service has kept.
func (s *Session) socketRecovered(cause) {
	s.stopWaiting()
	s.setPhase(live)
	s.approve(s.conn) // if the disclosure held it until now
	s.outbox.flush()
	s.core.Emit(event.Reconnected{Recovered: true})
	s.sendKickoff()
	s.repairPeers(cause{})
}

// rebuildAll makes the whole session again on the same thread, keeping what the application
// knows of it (protocol §8.4).
func (s *Session) rebuildAll(c cause) { s.rebuild(c.reason, false) }

// rebuildOnSame does the same on the socket that has just reconnected by itself.
func (s *Session) rebuildOnSame(cause) { s.rebuild("socket recovery not available", true) }

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
	if len(s.outbox.turns) == 0 { // else the kickoff may be among those that are sent again
		s.turn.echo = ""
	}
}

// releaseMedia closes the peers. The next attempt waits until the service has released the
// viewer, because the picture may have only one (protocol §8.4, step 2).
func (s *Session) releaseMedia() {
	released := make(chan struct{})
	s.recovery.mediaReleased = released
	var subscriber Subscriber // none in audio mode
	if s.conn != nil {
		subscriber, s.conn.subscriber = s.conn.subscriber, nil
		s.conn.closeMedia()
	}
	if subscriber == nil {
		close(released)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.WHEPRelease)
	s.core.Running.Add(1)
	s.core.Spawn(func() {
		defer s.core.Running.Done()
		defer close(released)
		defer cancel()
		subscriber.Release(ctx)
	})
}

func (s *Session) rebuildAttempt(reuse bool) {
	s.running = s.newRemake(reuse)
	if !reuse {
		s.drop()
	}
	s.launch(s.running, s.recovery.mediaReleased)
}

// newRemake returns an attempt that makes the session again, on its present socket or on a
// new one.
func (s *Session) newRemake(reuse bool) *attempt {
	return newAttempt(plan{relay: true, reuse: reuse, agent: true, media: true}, func() (*connection, error) { return s.remakeOn(reuse) })
}

func (s *Session) remakeOn(reuse bool) (*connection, error) {
	var conn *connection
	if reuse {
		// The service sees a new session: the old room and peers are gone.
		old := s.conn
		old.hs.reset()
		conn = &connection{socket: old.socket, hs: old.hs, room: session.RandomID(roomIDLength), opened: true}
	} else {
		var err error
		if conn, err = s.open(); err != nil {
			return nil, err
		}
	}
	conn.announced, conn.ready = true, true
	s.use(conn)
	return conn, nil
}

func (s *Session) rebuilt(cause) {
	s.recovery.renewed = false
	s.approve(s.conn)
	s.setPhase(live)
	s.core.Emit(event.Reconnected{Recovered: false})
	s.startWatching()
	s.noPicture()
	s.sendKickoff() // if the disclosure held it until now
	s.askAgain()
	s.outbox.flush()
}

func (s *Session) retryRebuild(c cause) {
	s.releaseMedia()
	s.drop() // late events of the failed attempt must not have an effect
	s.recovery.attempt++
	s.core.Emit(event.ConnectivityChanged{
		Channel: "socket", State: string(event.ReconnectRetry), Detail: c.err.Error(),
		Attempt: s.recovery.attempt, MaxAttempts: s.opts.Limits.ColdAttempts,
	})
	s.recovery.window = s.core.After(s.around(s.opts.Limits.ColdBackoff, 0.5), func() { s.rebuildAttempt(false) })
}
