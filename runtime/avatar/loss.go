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
