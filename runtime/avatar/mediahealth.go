package avatar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// The media ladder's waits (protocol §8.5).
const (
	iceGrace     = 1500 * time.Millisecond // ICE may come back from "disconnected"
	iceNewLimit  = 10 * time.Second        // "new" or "checking" this long after the peer began
	noCandidates = 3 * time.Second         // gathering without a candidate counts as failed no earlier than this
	steady       = 10 * time.Second        // a picture that lasts this long after a repair has recovered
	maxStalls    = 2                       // re-subscriptions before a rebuild
	repairPause  = 3 * time.Second         // from the start of a failed repair to the next
	maxDark      = 10 * time.Second        // at most this much of the time until a repair fails counts towards MediaLost
)

// peerHealth is the state of one peer's network and of its repairs.
type peerHealth struct {
	began        time.Time
	ice          string
	since        time.Time // of ice
	state        string    // of the connection
	grace        *session.Timer
	recovering   bool
	giveUp       context.CancelFunc // ends the repair under way
	repairReason string             // why tick repairs it again, without a new report; "" if it does not
	repaired     time.Time          // the start of the last repair
	proof        chan struct{}      // of the repair under way: receives when its network is connected
}

// dead reports whether the connection ended for good.
func (p *peerHealth) dead() bool { return p.state == "failed" || p.state == "closed" }

// linked reports whether the peer's network is connected.
func (p *peerHealth) linked() bool { return p.ice == "connected" || p.ice == "completed" }

// peerEvent handles what a peer or an element reports.
func (s *Session) peerEvent(conn *connection, ev media.Event) {
	if s.conn != conn {
		return
	}
	switch ev.Kind {
	case media.Milestone:
		s.mark(TimingPhase(ev.Phase))
	case media.TrackAdded:
		s.core.Emit(event.TrackAdded{Track: ev.Track.Native, Streams: ev.Track.Streams})
	case media.VideoSize:
		s.core.Emit(event.VideoMetadata{VideoWidth: ev.Picture.Width, VideoHeight: ev.Picture.Height})
	case media.PlaybackBlocked:
		s.core.Warning(event.Warning{Code: fault.PlaybackBlocked, Kind: ev.Media})
	case media.AttachFailed:
		s.core.Warning(event.Warning{Code: fault.MediaAttachFailed, Kind: ev.Media, Detail: fmt.Sprint(ev.Err)})
	case media.Candidate:
		s.sendCandidate(ev)
	case media.ICEState, media.PeerState, media.NoCandidates:
		s.peerState(ev)
	}
}

// peerState applies the media ladder to the state of a peer (protocol §8.5).
func (s *Session) peerState(ev media.Event) {
	if ev.Channel == event.ChannelVoice {
		return // the service repairs it, because it makes the offers
	}
	p := s.peer(ev.Channel)
	switch {
	case ev.Kind == media.ICEState:
		p.ice, p.since = ev.State, time.Now()
		p.grace.Stop()
		s.core.Emit(event.ConnectivityChanged{Channel: string(ev.Channel), State: ev.State})
		switch ev.State {
		case "disconnected":
			p.grace = s.core.After(iceGrace, func() {
				if p.ice == "disconnected" {
					s.peerLost(ev.Channel, p.ice)
				}
			})
		case "failed":
			s.peerLost(ev.Channel, ev.State)
		case "connected", "completed":
			p.connected()
			if ev.Channel == event.ChannelASR {
				s.mended(ev.Channel)
			}
			if ev.Channel == event.ChannelSTV {
				s.mark(phaseICEConnected)
			}
		}
	case ev.Kind == media.PeerState:
		p.state = ev.State
		if p.state == "connected" {
			p.connected()
		}
		if p.dead() {
			s.peerLost(ev.Channel, ev.State)
		}
	case ev.Kind == media.NoCandidates:
		wait := max(0, noCandidates-time.Since(p.began))
		p.grace = s.core.After(wait, func() { s.peerLost(ev.Channel, string(event.NoCandidates)) })
	}
}

// connected signals to the repair under way that the peer's network is connected.
func (p *peerHealth) connected() {
	p.repairReason = ""
	select {
	case p.proof <- struct{}{}:
	default: // no repair is under way, or it was signalled already
	}
}

func (s *Session) peer(c event.Channel) *peerHealth {
	p := s.recovery.peers[c]
	if p == nil {
		p = &peerHealth{began: time.Now(), ice: "new"}
		s.recovery.peers[c] = p
	}
	return p
}

func (s *Session) peerLost(c event.Channel, state string) {
	s.handle(peerLost, cause{channel: c, reason: state})
}

// repairLost mends a peer.
func (s *Session) repairLost(c cause) { s.repair(c.channel, c.reason) }

// repairPeers mends every peer that is down.
func (s *Session) repairPeers(cause) {
	for channel, p := range s.recovery.peers {
		switch {
		case p.repairReason != "":
			s.peerLost(channel, p.repairReason)
		case p.ice == "disconnected", p.ice == "failed":
			s.peerLost(channel, p.ice)
		}
	}
}

// repair mends one peer in place; one repair per channel at a time.
func (s *Session) repair(c event.Channel, state string) {
	p := s.peer(c)
	if p.recovering || s.conn.released || c == event.ChannelSTV && s.conn.subscriber == nil { // no picture in audio mode
		return
	}
	p.recovering, p.repaired, p.repairReason = true, time.Now(), ""
	p.proof = make(chan struct{}, 1)
	p.grace.Stop()
	conn := s.conn
	answers := !p.dead() && p.linked()
	subscriber, publisher, url, proof := conn.subscriber, conn.publisher, conn.subscribed, p.proof
	s.core.Emit(event.MediaRecovering{Channel: c, State: state})
	method, limit := "ice-restart", s.opts.Limits.ASR
	mend := func(ctx context.Context) error {
		if err := conn.hs.negotiate(ctx, s.opts.Limits, publisher, true); err != nil {
			return err
		}
		if answers {
			return nil // the state of a connected peer may not change at all
		}
		return connects(ctx, proof)
	}
	if c == event.ChannelSTV {
		method, limit = "re-subscribe", s.opts.Limits.Recover
		expired := s.loginExpired()
		mend = func(ctx context.Context) error {
			if expired {
				s.freshRelay(ctx)
			}
			subscriber.Restart(ctx)
			if err := s.subscribe(ctx, conn, subscriber, url); err != nil {
				return err
			}
			picture, err := subscriber.Playable(ctx, true)
			if err == nil && picture.Missing {
				err = fault.New(fault.MediaRecoverFailed, "no bytes came")
			}
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(conn.hs.ctx, limit, timeout("RecoverTimeout", fault.PhaseWHEP))
	p.giveUp = cancel
	s.core.Spawn(func() {
		defer cancel()
		err := mend(ctx)
		s.core.Work.Post(func() { s.peerRepaired(p, c, method, state, err) })
	})
}

// connects waits until the network of a peer is connected after a restart.
func connects(ctx context.Context, proof <-chan struct{}) error {
	limit := time.NewTimer(iceNewLimit)
	defer limit.Stop()
	select {
	case <-proof:
		return nil
	case <-limit.C:
		return fault.New(fault.MediaRecoverFailed, "the network did not connect")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// peerRepaired ends a repair. If a repair in place fails, the session is rebuilt, once: if
// that does not help, repairs in place continue, because another rebuild would only
// disturb the visitor more.
func (s *Session) peerRepaired(p *peerHealth, c event.Channel, method, state string, err error) {
	if !p.recovering {
		return // the peer was given up
	}
	p.recovering, p.proof = false, nil
	p.began, p.state = time.Now(), ""
	s.recovery.videoSeen = false
	delete(s.recovery.last, c)
	if err == nil {
		s.mended(c)
		s.core.Emit(event.MediaRecovered{Channel: c, Method: method})
		return
	}
	s.core.Emit(event.ConnectivityChanged{Channel: string(c), State: string(event.RecoverFailed), Detail: err.Error()})
	why := cause{channel: c, state: state, reason: fmt.Sprintf("media %s %s", c, state), err: err}
	if c == event.ChannelSTV {
		// With the pause since the repair before: a browser that finds no way ends a repair at once.
		r := &s.recovery
		since := r.darkUntil
		if since.IsZero() {
			since = p.repaired
		}
		r.dark += min(time.Since(since), maxDark)
		r.darkUntil = time.Now()
	}
	switch {
	case errors.Is(err, fault.STVSessionGone):
		why.reason = fmt.Sprintf("stv session gone (%d)", fault.From(err).Status)
		s.handle(repairFailed, why)
	case c == event.ChannelSTV && s.recovery.dark > s.opts.Limits.MediaLost:
		s.handle(mediaGone, why)
	case s.recovery.rebuilt[c]:
		s.handle(repairVain, why)
	default:
		s.recovery.rebuilt[c] = true
		s.handle(repairFailed, why)
	}
}

// mended records that a peer works: the next loss begins with a repair in place.
func (s *Session) mended(c event.Channel) {
	delete(s.recovery.rebuilt, c)
	if c == event.ChannelSTV {
		s.recovery.dark, s.recovery.darkUntil = 0, time.Time{}
	}
}

// noPicture warns if a rebuild or a resume brought no picture, and has it repaired.
func (s *Session) noPicture() {
	if !s.conn.missing {
		return
	}
	s.core.Warn(fault.MediaNoVideo, "the picture did not come back; the repair is repeated")
	s.recovery.rebuilt[event.ChannelSTV] = true
	s.peer(event.ChannelSTV).repairReason = string(event.NoBytes)
}

// startWatching begins the periodic checks of a connected session.
func (s *Session) startWatching() {
	s.recovery.stalls = 0
	s.tick()
	if s.opts.StatsInterval > 0 {
		s.measure()
	}
	s.noteActivity()
}

func (s *Session) stopWatching() {
	s.recovery.health.Stop()
	s.recovery.stats.Stop()
	for _, p := range s.recovery.peers {
		p.grace.Stop()
		if p.recovering {
			// The next peer may negotiate on the same socket, whose replies a repair would take.
			p.recovering = false
			p.giveUp()
		}
	}
	s.recovery.videoSeen = false
	clear(s.recovery.last)
}

// tick looks for peers that never connected and for a picture that stopped
// (protocol §8.5).
func (s *Session) tick() {
	s.recovery.health = s.core.After(s.opts.Limits.HealthTick, s.tick)
	if s.decisionPhase() != live {
		return
	}
	if s.conn.released { // while a resume was announced: the session is not paused, so no call of Resume follows
		s.handle(pauseOver, cause{})
		return
	}
	for channel, p := range s.recovery.peers {
		switch {
		case p.repairReason != "":
			if time.Since(p.repaired) >= repairPause {
				s.peerLost(channel, p.repairReason)
			}
		case p.dead():
			s.peerLost(channel, p.state)
		case p.ice == "failed",
			p.ice == "disconnected" && time.Since(p.since) > iceGrace,
			(p.ice == "new" || p.ice == "checking") && time.Since(p.began) > iceNewLimit:
			s.peerLost(channel, p.ice)
		}
	}
	conn := s.conn
	if s.mode == event.Video && conn.subscriber != nil && !s.peer(event.ChannelSTV).recovering {
		s.withStats(conn.subscriber, func(st media.Stats) { s.checkVideo(conn, st) })
	}
}

// checkVideo repairs a picture without new bytes, and rebuilds when repairs
// don't help. A peer that never had video is ignored.
func (s *Session) checkVideo(conn *connection, st media.Stats) {
	r := &s.recovery
	if s.conn != conn || s.phase != live || s.lifecycle.paused || !st.HasVideo && r.stalls == 0 {
		return
	}
	now := time.Now()
	if !r.videoSeen || st.Video.BytesReceived != r.videoBytes {
		if r.videoSeen && st.Video.BytesReceived > r.videoBytes {
			s.mended(event.ChannelSTV)
			if now.Sub(s.peer(event.ChannelSTV).repaired) > steady {
				r.stalls = 0
			}
		}
		r.videoSeen, r.videoBytes, r.videoSince = true, st.Video.BytesReceived, now
		return
	}
	if now.Sub(r.videoSince) < s.opts.Limits.VideoStall {
		return
	}
	r.stalls++
	r.videoSince = now
	if r.stalls > maxStalls {
		s.handle(repairFailed, cause{channel: event.ChannelSTV, reason: "video stalled"})
		return
	}
	s.peerLost(event.ChannelSTV, string(event.Stalled))
}
