package avatar

import (
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// reconnectRetry is the state of connectivityChanged before another attempt.
const reconnectRetry = "reconnect_retry"

// recoveryState is what is being repaired.
type recoveryState struct {
	window   *session.Timer // bounds the time without a socket
	question string         // to ask again after a spiral

	peers map[media.Channel]*peerHealth

	health     *session.Timer
	stats      *session.Timer
	videoBytes uint64
	videoSince time.Time
	videoSeen  bool // the peer has reported video once
	stalls     int
	last       map[media.Channel]media.Stats // for connectionQuality
}

// socketDown handles a lost socket (wire-protocol §8.2).
func (s *Session) socketDown(l *connection, reason socketio.Reason) {
	l.lost = reason
	back := recoverable(reason) && s.reconnects()
	s.base.Emit(ConnectivityChanged{
		Channel: "socket", State: "disconnected", Reason: string(reason), Recoverable: &back,
		Attempt: 1, MaxAttempts: *s.opts.MaxReconnectAttempts,
	})
	switch {
	case !back && s.running != nil:
		s.running.cancel(fault.New(fault.ConnectFailed, "the connection was closed: "+string(reason)).InPhase(fault.PhaseConnect).WithRetryable(true))
	case !back:
		s.end(nil, string(reason))
	default:
		s.checkSocket(l)
	}
}

// checkSocket waits for a socket that is down to come back. A procedure under
// way waits for itself, bounded by its own limits.
func (s *Session) checkSocket(l *connection) {
	if s.conn != l || l.lost == "" || s.running != nil {
		return
	}
	reason := l.lost
	s.setState(ReconnectingState)
	s.base.Emit(Reconnecting{Reason: string(reason), Attempt: 1, MaxAttempts: *s.opts.MaxReconnectAttempts})
	s.recovery.window.Stop()
	s.recovery.window = s.base.After(s.opts.ReconnectWindow, func() {
		s.end(fault.New(fault.ReconnectTimeout, "the connection did not come back in time").InPhase(fault.PhaseReconnect), "reconnect_timeout")
	})
}

// reconnects reports whether a socket that is lost is made again.
func (s *Session) reconnects() bool { return *s.opts.MaxReconnectAttempts != 0 }

// connectError reports an attempt that failed; the socket tries again, unless
// the service refused it.
func (s *Session) connectError(err error) {
	refused := refusal(err)
	detail := "the service can't be reached"
	if refused != nil {
		detail = "the service refused the connection"
	}
	s.base.Emit(Failed{Error: fault.New(fault.SocketError, detail).Because(err)})
	switch {
	case refused != nil && s.state == Connecting:
		s.running.cancel(refused)
	case refused != nil || !s.reconnects():
		s.socketOver(err)
	}
}

// refusedToken is the service's message for a token that it refuses
// (wire-protocol §1.9.2).
const refusedToken = "unauthorized"

// refusal returns the error of a connect that the service refused, nil if err is
// none: the socket does not try again, so that nothing is there to wait for
// (wire-protocol §4.3).
func refusal(err error) *fault.Error {
	var refused *socketio.RefusedError
	if !errors.As(err, &refused) {
		return nil
	}
	e := fault.New(fault.ConnectFailed, "the service refused the connection").WithRetryable(false)
	if refused.Message == refusedToken {
		e = fault.New(fault.Unauthorized, "the service refused the token")
	}
	return e.InPhase(fault.PhaseServerConnect).Because(err)
}

// socketOver handles a socket that will not come back.
func (s *Session) socketOver(cause error) {
	if s.running != nil {
		s.running.cancel(fault.New(fault.ConnectFailed, "the service can't be reached").InPhase(fault.PhaseServerConnect).Because(cause).WithRetryable(cause == nil))
		return
	}
	s.end(fault.New(fault.ReconnectFailed, "the connection could not be made again").InPhase(fault.PhaseReconnect).Because(cause), "reconnect_failed")
}

// recoverable reports whether the socket comes back by itself after reason
// (wire-protocol §8.2).
func recoverable(reason socketio.Reason) bool {
	switch reason {
	case socketio.TransportError, socketio.TransportClose, socketio.ForcedClose, socketio.PingTimeout:
		return true
	}
	return false
}

// socketUp handles a socket that is connected (wire-protocol §8.3).
func (s *Session) socketUp(l *connection, recovered bool) {
	first := !l.opened
	l.opened, l.lost = true, ""
	s.mark("socketOpen")
	s.base.Emit(ConnectivityChanged{Channel: "socket", State: "connected"})
	if s.running != nil {
		if !first && !recovered {
			// The new session at the service has no join request.
			s.running.cancel(fault.New(fault.ConnectFailed, "the connection was lost during the handshake").InPhase(fault.PhaseConnect).WithRetryable(true))
		}
		return
	}
	if first || s.state != ReconnectingState {
		return
	}
	s.recovery.window.Stop()
	if !recovered {
		s.rebuild("socket recovery not available", true)
		return
	}
	s.setState(Connected)
	s.flush()
	s.base.Emit(Reconnected{Recovered: true})
	for channel, p := range s.recovery.peers {
		if p.ice == "disconnected" || p.ice == "failed" {
			s.repair(channel, p.ice)
		}
	}
}

// rebuild makes the whole session again on the same thread, keeping what the
// application knows of it (wire-protocol §8.4). reuse continues on the socket
// that has just reconnected by itself.
func (s *Session) rebuild(reason string, reuse bool) {
	if s.running != nil {
		return
	}
	s.recovery.window.Stop()
	s.stopWatching()
	s.tools.Forget()
	s.dropSegments()
	s.resetTurn()
	if s.state != ReconnectingState {
		s.setState(ReconnectingState)
		s.base.Emit(Reconnecting{Reason: reason, Attempt: 1, MaxAttempts: s.opts.Limits.ColdAttempts, Cold: true})
	}
	s.rebuildAttempt(1, reuse)
}

func (s *Session) rebuildAttempt(n int, reuse bool) {
	old := s.conn
	l := old
	if reuse {
		// The service sees a new session: the old room and peers are gone.
		old.closeMedia()
		old.hs.reset()
		l = &connection{socket: old.socket, hs: old.hs, room: session.RandomID(roomIDLength), opened: true, announced: true, shown: true}
		s.conn = l
	} else {
		s.drop()
		var err error
		if l, err = s.open(); err != nil {
			s.rebuilt(nil, nil, n, err)
			return
		}
		l.announced, l.shown = true, true
		s.conn = l
	}
	media := s.newMedia(l)
	p := newProcedure(nil).limit(s.opts.Limits.Overall)
	s.running = p
	request := s.joinRequest(l.room)
	s.base.Spawn(func() {
		err := s.establish(p.ctx, l, plan{peers: media, join: &request, reuse: reuse, agent: true})
		s.base.Work.Post(func() {
			if s.running == p {
				s.rebuilt(p, l, n, err)
			}
		})
	})
}

func (s *Session) rebuilt(p *procedure, l *connection, n int, err error) {
	s.running = nil
	if p != nil {
		p.finish(nil)
	}
	if err == nil {
		s.approve(l)
		s.setState(Connected)
		s.base.Emit(Reconnected{Recovered: false})
		s.startWatching()
		s.sendKickoff() // if the disclosure held it until now
		s.askAgain()
		s.flush()
		s.checkSocket(l)
		return
	}
	s.drop() // late events of the failed attempt must not have an effect
	if n >= s.opts.Limits.ColdAttempts {
		s.end(fault.New(fault.ReconnectFailed, "the session could not be rebuilt").InPhase(fault.PhaseReconnect).Because(err), "reconnect_failed")
		return
	}
	s.base.Emit(ConnectivityChanged{Channel: "socket", State: reconnectRetry, Detail: err.Error()})
	s.recovery.window = s.base.After(s.opts.Limits.ColdBackoff, func() { s.rebuildAttempt(n+1, false) })
}

// askAgain repeats the question that a spiral swallowed, behind the opening.
func (s *Session) askAgain() {
	question := s.recovery.question
	s.recovery.question = ""
	if question == "" {
		return
	}
	ctx := s.life.ctx
	s.base.Spawn(func() {
		text, err := s.guard(ctx, spiralPrefix+question, "spiralRecovery")
		s.base.Work.Post(func() {
			switch {
			case ctx.Err() != nil: // with its life
			case err != nil:
				s.base.Log("warn", "the lost question is not asked again: "+err.Error(), nil)
			default:
				s.first(&heldText{text, func(left bool) {
					if left {
						s.base.Emit(SpiralRecovered{Text: question})
					}
				}})
			}
		})
	})
}
