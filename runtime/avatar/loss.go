package avatar

import (
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// This file is the one place that decides what happens after a loss: of the socket,
// of a peer, of the network, of an attempt to make them again (protocol §8).
// All code that detects a loss calls [Session.lose]. The decisions are data, which
// the diagram of docs/resilience.md shows.

// situation is the state of a session as far as losses are concerned. It is derived from
// the session's State and other fields, and never stored.
type situation string

const (
	outside    situation = "outside" // no session to repair: before connect, and after the end
	starting   situation = "starting"
	live       situation = "live"
	paused     situation = "paused"
	offline    situation = "offline" // the socket is down, and reconnects by itself
	rebuilding situation = "rebuilding"
	resuming   situation = "resuming" // the media of an expired pause are made again
)

func (s *Session) situation() situation {
	switch s.state {
	case Preparing, Connecting:
		return starting
	case ReconnectingState:
		if s.recovery.attempt > 0 {
			return rebuilding
		}
		return offline
	case Resuming:
		if s.running != nil {
			return resuming
		}
		return paused // the service announced it
	case Connected:
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

// action is what the session does about it.
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

// step is a decision: what is done about a loss in a situation, and the situation
// afterwards. If to has two, the second is that of a paused session.
type step struct {
	from situation
	what loss
	do   action
	to   targets
}

type targets []situation

// decisions is the state machine. What is not listed changes nothing: a socket that drops
// during an attempt reconnects within the attempt's own limits, a peer that is lost
// while another attempt or a pause is under way is repaired afterwards.
//
// A list, because the compiler writes it as data; a map would be filled by code when the
// program starts.
var decisions = [...]step{
	{starting, socketClosed, cutAttempt, targets{starting}},
	{starting, socketNew, cutAttempt, targets{starting}},
	{starting, socketSpent, cutAttempt, targets{starting}},
	{starting, tokenRefused, renewToken, targets{starting}},
	{starting, socketRefused, cutAttempt, targets{starting}},
	{starting, attemptFailed, endSession, targets{outside}},
	{starting, attemptDone, goOn, targets{live}},

	{live, socketDropped, awaitSocket, targets{offline}},
	{live, socketClosed, endSession, targets{outside}},
	{live, networkBack, repairPeers, targets{live}},
	{live, peerLost, repairPeer, targets{live}},
	{live, repairFailed, rebuildAll, targets{rebuilding}},
	{live, repairVain, remember, targets{live}},
	{live, mediaGone, endSession, targets{outside}},
	{live, toolSpiral, rebuildAll, targets{rebuilding}},
	{live, serviceFatal, report, targets{live}},
	{live, pauseOver, remakeMedia, targets{resuming}}, // it crossed with resume()

	{paused, socketDropped, awaitSocket, targets{offline}},
	{paused, socketClosed, endSession, targets{outside}},
	{paused, repairFailed, remember, targets{paused}},
	{paused, repairVain, remember, targets{paused}},
	{paused, toolSpiral, rebuildAll, targets{rebuilding}},
	{paused, serviceFatal, report, targets{paused}},
	{paused, pauseOver, noteReleased, targets{paused}},

	{offline, socketDropped, awaitSocket, targets{offline}},
	{offline, socketClosed, endSession, targets{outside}},
	{offline, socketKept, goOn, targets{live, paused}},
	{offline, socketNew, rebuildOnSame, targets{rebuilding}},
	{offline, socketSpent, endSession, targets{outside}},
	{offline, tokenRefused, renewToken, targets{rebuilding}},
	{offline, socketRefused, endSession, targets{outside}},
	{offline, windowCloses, hurry, targets{offline}},
	{offline, windowOver, endSession, targets{outside}},
	{offline, networkBack, hurry, targets{offline}},
	{offline, repairFailed, remember, targets{offline}},
	{offline, repairVain, remember, targets{offline}},
	{offline, serviceFatal, report, targets{offline}},

	{rebuilding, socketClosed, cutAttempt, targets{rebuilding}},
	{rebuilding, socketNew, cutAttempt, targets{rebuilding}},
	{rebuilding, socketSpent, cutAttempt, targets{rebuilding}},
	{rebuilding, tokenRefused, renewToken, targets{rebuilding}},
	{rebuilding, socketRefused, cutAttempt, targets{rebuilding}},
	{rebuilding, networkBack, hurry, targets{rebuilding}},
	{rebuilding, attemptFailed, retryRebuild, targets{rebuilding}},
	{rebuilding, attemptFatal, endSession, targets{outside}},
	{rebuilding, attemptsSpent, endSession, targets{outside}},
	{rebuilding, attemptDone, goOn, targets{live, paused}},

	{resuming, socketClosed, cutAttempt, targets{resuming}},
	{resuming, socketNew, cutAttempt, targets{resuming}},
	{resuming, socketSpent, cutAttempt, targets{resuming}},
	{resuming, tokenRefused, renewToken, targets{resuming}},
	{resuming, socketRefused, cutAttempt, targets{resuming}},
	{resuming, attemptFailed, endSession, targets{outside}},
	{resuming, attemptDone, goOn, targets{live}},
}

// decide returns the step for a loss, and whether there is one.
func decide(from situation, what loss) (step, bool) {
	for _, step := range decisions {
		if step.from == from && step.what == what {
			return step, true
		}
	}
	return step{}, false
}

// detail describes a loss. Which fields are set depends on the loss.
type detail struct {
	conn   *connection
	reason string       // for events
	err    error        // why an attempt or a repair failed, or the socket was refused
	fatal  *fault.Error // serviceFatal

	channel event.Channel // peerLost, repairFailed
	state   string        // of the peer, repairFailed
}

// lose carries out the decision for what in the present situation, if there is one.
func (s *Session) lose(what loss, d detail) {
	from := s.situation()
	step, decided := decide(from, what)
	if decided {
		s.act(step.do, from, what, d)
	}
	if s.recovery.observe != nil {
		s.recovery.observe(from, what, s.situation())
	}
	if step.do == goOn && s.conn != nil && s.conn.downReason != "" {
		// The socket dropped during the attempt and is still down.
		s.lose(socketDropped, detail{reason: string(s.conn.downReason)})
	}
}

func (s *Session) act(do action, from situation, what loss, d detail) {
	switch do {
	case awaitSocket:
		s.awaitSocket(d.reason)
	case hurry:
		s.hurry()
	case goOn:
		s.goOn(from, d.conn)
	case repairPeer:
		s.repair(d.channel, d.reason)
	case repairPeers:
		s.repairPeers()
	case remember:
		s.peer(d.channel).repairReason = d.state
	case rebuildOnSame:
		s.rebuild("socket recovery not available", true)
	case rebuildAll:
		s.rebuild(d.reason, false)
	case retryRebuild:
		s.retryRebuild(d.err)
	case cutAttempt:
		s.cutAttempt(what, d)
	case noteReleased:
		s.conn.released = true
		s.conn.approved = false
	case renewToken:
		s.renewToken(from)
	case remakeMedia:
		s.rebuildMedia(s.conn, nil)
	case report:
		s.core.Emit(event.Failed{Error: d.fatal})
	case endSession:
		s.endAfter(from, what, d)
	}
}

// cutAttempt ends the connect, rebuild or resume under way with the error of a lost
// socket.
func (s *Session) cutAttempt(what loss, d detail) {
	if s.running == nil {
		return // between two attempts
	}
	e := fault.New(fault.ConnectFailed, "the connection was lost during the handshake").InPhase(fault.PhaseConnect).WithRetryable(true)
	switch what {
	case socketClosed:
		e = fault.New(fault.ConnectFailed, "the connection was closed: "+d.reason).InPhase(fault.PhaseConnect).WithRetryable(true)
	case socketSpent:
		e = fault.New(fault.ConnectFailed, "the service can't be reached").InPhase(fault.PhaseServerConnect).Because(d.err).WithRetryable(d.err == nil)
	case socketRefused:
		e = refusal(d.err)
	}
	s.running.cancel(e)
}

// endAfter ends a session that can't go on, with the error that says why.
func (s *Session) endAfter(from situation, what loss, d detail) {
	failed := func(code fault.Code, detail string) {
		s.end(fault.New(code, detail).InPhase(fault.PhaseReconnect).Because(d.err), string(code))
	}
	switch what {
	case socketClosed:
		s.end(nil, d.reason)
	case socketRefused:
		e := refusal(d.err)
		s.end(e, string(e.Code))
	case socketSpent:
		failed(fault.ReconnectFailed, "the connection could not be made again; connect again to go on")
	case windowOver:
		failed(fault.ReconnectTimeout, "the connection did not come back in time; connect again to go on")
	case attemptsSpent:
		failed(fault.ReconnectFailed, "the session could not be rebuilt; connect again to go on")
	case mediaGone:
		s.end(fault.New(fault.MediaRecoverFailed, "the picture did not come back; connect again, on another network if it is still missing, or continue in text").InPhase(fault.PhaseReconnect).Because(d.err).WithRetryable(true), string(fault.MediaRecoverFailed))
	case attemptFatal:
		e := fault.From(d.err)
		s.end(e, string(e.Code))
	case attemptFailed:
		if from == starting {
			s.connectFailed(d.err)
		} else {
			s.resumeFailed(d.err)
		}
	}
}

// goOn continues a session whose loss is over.
func (s *Session) goOn(from situation, l *connection) {
	switch from {
	case starting:
		s.connectDone(l)
	case offline:
		s.socketRecovered()
	case rebuilding:
		s.rebuilt(l)
	case resuming:
		s.mediaResumed(l)
	}
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
