package avatar

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// peerEvent handles what a peer or an element reports.
func (s *Session) peerEvent(l *link, ev media.Event) {
	if s.link != l {
		return
	}
	switch ev.Kind {
	case media.Milestone:
		s.mark(ev.Phase)
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
	s.base.Spawn(func() {
		defer cancel()
		err := mend(ctx)
		s.base.Work.Post(func() { s.mended(l, c, method, state, err) })
	})
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
	s.base.Emit(ConnectivityChanged{Channel: string(c), State: "recover_failed", Detail: err.Error()})
	switch {
	case s.state != Connected:
		p.ice = "failed" // looked at again when the socket is back
	case errors.Is(err, fault.STVSessionGone):
		s.rebuild(fmt.Sprintf("stv session gone (%d)", fault.From(err).Status), false)
	default:
		s.rebuild(fmt.Sprintf("media %s %s", c, state), false)
	}
}
