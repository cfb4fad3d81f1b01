package avatar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// The media ladder's waits (wire-protocol §8.5).
const (
	iceGrace     = 1500 * time.Millisecond // ICE may come back from "disconnected"
	iceNewLimit  = 10 * time.Second        // "new" or "checking" this long after the peer began
	noCandidates = 3 * time.Second         // gathering found nothing, judged no earlier than this
	maxStalls    = 2                       // re-subscriptions before a rebuild
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

// peerHealth is what is known of one peer's network.
type peerHealth struct {
	began      time.Time
	ice        string
	since      time.Time // of ice
	state      string    // of the connection
	grace      *session.Timer
	recovering bool
}

// dead reports whether the connection ended for good.
func (p *peerHealth) dead() bool { return p.state == "failed" || p.state == "closed" }

// socketDown handles a lost socket (wire-protocol §8.2).
func (s *Session) socketDown(l *link, reason socketio.Reason) {
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
func (s *Session) checkSocket(l *link) {
	if s.link != l || l.lost == "" || s.running != nil {
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

// refusedToken is what the service says to a token that it does not take
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
func (s *Session) socketUp(l *link, recovered bool) {
	first := !l.opened
	l.opened, l.lost = true, ""
	s.mark("socketOpen")
	s.base.Emit(ConnectivityChanged{Channel: "socket", State: "connected"})
	if s.running != nil {
		if !first && !recovered {
			// The service has forgotten the join that is waited on.
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
	s.forgetPieces()
	s.forgetTurn()
	if s.state != ReconnectingState {
		s.setState(ReconnectingState)
		s.base.Emit(Reconnecting{Reason: reason, Attempt: 1, MaxAttempts: s.opts.Limits.ColdAttempts, Cold: true})
	}
	s.rebuildAttempt(1, reuse)
}

func (s *Session) rebuildAttempt(n int, reuse bool) {
	old := s.link
	l := old
	if reuse {
		// The service sees a new session: the old room and peers are gone.
		old.closeMedia()
		old.hs.reset()
		l = &link{socket: old.socket, hs: old.hs, room: session.RandomID(roomIDLength), opened: true, greeted: true, shown: true}
		s.link = l
	} else {
		s.drop()
		var err error
		if l, err = s.open(); err != nil {
			s.rebuilt(nil, nil, n, err)
			return
		}
		l.greeted, l.shown = true, true
		s.link = l
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

func (s *Session) rebuilt(p *procedure, l *link, n int, err error) {
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
	s.drop() // what a failed attempt left must not be heard any more
	if n >= s.opts.Limits.ColdAttempts {
		s.end(fault.New(fault.ReconnectFailed, "the session could not be rebuilt").InPhase(fault.PhaseReconnect).Because(err), "reconnect_failed")
		return
	}
	s.base.Emit(ConnectivityChanged{Channel: "socket", State: reconnectRetry, Detail: fault.Redact(err.Error())})
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

// peerEvent handles what a peer, the microphone or an element reports.
func (s *Session) peerEvent(l *link, ev media.Event) {
	if s.link != l {
		return
	}
	switch ev.Kind {
	case media.Milestone:
		s.mark(ev.Mark)
	case media.TrackAdded:
		s.base.Emit(TrackAdded{Track: ev.Track.Native, Streams: ev.Track.Streams})
	case media.VideoSize:
		s.base.Emit(VideoMetadata{ev.Picture})
	case media.PlaybackBlocked:
		s.base.Warning(Warning{Code: fault.PlaybackBlocked, Kind: ev.Media})
	case media.AttachFailed:
		s.base.Warning(Warning{Code: fault.MediaAttachFailed, Kind: ev.Media, Detail: fmt.Sprint(ev.Err)})
	case media.Candidate:
		s.sendCandidate(ev)
	case media.ICEState, media.PeerState, media.NoCandidates:
		s.peerState(ev)
	default:
		s.micEvent(ev)
	}
}

// peerState climbs the media ladder (wire-protocol §8.5).
func (s *Session) peerState(ev media.Event) {
	if ev.Channel == media.ChannelVoice {
		return // the service's to repair: it offers
	}
	p := s.peer(ev.Channel)
	switch {
	case ev.Kind == media.ICEState:
		p.ice, p.since = ev.State, time.Now()
		p.grace.Stop()
		s.base.Emit(ConnectivityChanged{Channel: string(ev.Channel), State: ev.State})
		switch ev.State {
		case "disconnected":
			p.grace = s.base.After(iceGrace, func() {
				if p.ice == "disconnected" {
					s.repair(ev.Channel, p.ice)
				}
			})
		case "failed":
			s.repair(ev.Channel, ev.State)
		case "connected", "completed":
			if ev.Channel == media.ChannelSTV {
				s.mark("iceConnectedStv")
			}
		}
	case ev.Kind == media.PeerState:
		p.state = ev.State
		if p.dead() {
			s.repair(ev.Channel, ev.State)
		}
	case ev.Kind == media.NoCandidates:
		wait := max(0, noCandidates-time.Since(p.began))
		p.grace = s.base.After(wait, func() { s.repair(ev.Channel, "no candidates") })
	}
}

func (s *Session) peer(c media.Channel) *peerHealth {
	if s.recovery.peers == nil {
		s.recovery.peers = map[media.Channel]*peerHealth{}
	}
	p := s.recovery.peers[c]
	if p == nil {
		p = &peerHealth{began: time.Now(), ice: "new"}
		s.recovery.peers[c] = p
	}
	return p
}

// repair mends one peer in place; one repair per channel at a time. What can't
// be mended is rebuilt.
func (s *Session) repair(c media.Channel, state string) {
	p := s.peer(c)
	if s.state != Connected || s.running != nil || p.recovering || s.link.released {
		return
	}
	p.recovering = true
	p.grace.Stop()
	l := s.link
	down, up, url := l.down, l.up, l.subscribed
	s.base.Emit(MediaRecovering{Channel: c, State: state})
	method, mend := "ice-restart", func(ctx context.Context) error { return l.hs.restartASR(ctx, s.opts.Limits, up) }
	limit := s.opts.Limits.ASR
	if c == media.ChannelSTV {
		method, limit = "re-subscribe", s.opts.Limits.Recover
		mend = func(ctx context.Context) error {
			down.Renew(ctx)
			if err := s.subscribe(ctx, l, down, url); err != nil {
				return err
			}
			_, err := down.Playable(ctx, true)
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, timeout("RecoverTimeout", fault.PhaseWHEP))
	go func() {
		defer cancel()
		err := mend(ctx)
		s.base.Work.Post(func() { s.mended(l, c, method, state, err) })
	}()
}

func (s *Session) mended(l *link, c media.Channel, method, state string, err error) {
	if s.link != l {
		return
	}
	p := s.peer(c)
	p.recovering = false
	p.began, p.state = time.Now(), ""
	s.recovery.videoSeen = false
	if err == nil {
		s.base.Emit(MediaRecovered{Channel: c, Method: method})
		return
	}
	s.base.Emit(ConnectivityChanged{Channel: string(c), State: "recover_failed", Detail: fault.Redact(err.Error())})
	switch {
	case s.state != Connected:
		p.ice = "failed" // looked at again when the socket is back
	case errors.Is(err, fault.STVSessionGone):
		s.rebuild(fmt.Sprintf("stv session gone (%d)", fault.From(err).Status), false)
	default:
		s.rebuild(fmt.Sprintf("media %s %s", c, state), false)
	}
}
