package avatar

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/runtime/media"
)

// startWatching begins the periodic checks of a connected session.
func (s *Session) startWatching() {
	s.stopWatching()
	s.recovery.stalls = 0
	s.tick()
	if s.opts.StatsInterval > 0 {
		s.measure()
	}
	s.touch()
}

func (s *Session) stopWatching() {
	s.recovery.health.Stop()
	s.recovery.stats.Stop()
	for _, p := range s.recovery.peers {
		p.grace.Stop()
	}
	s.recovery.videoSeen = false
}

// tick looks for peers that never connected and for a picture that stopped
// (wire-protocol §8.5).
func (s *Session) tick() {
	s.recovery.health = s.base.After(s.opts.Limits.HealthTick, s.tick)
	if s.state != Connected || s.life.paused || s.running != nil || s.link.released {
		return
	}
	for channel, p := range s.recovery.peers {
		switch {
		case p.dead():
			s.repair(channel, p.state)
		case p.ice == "failed",
			p.ice == "disconnected" && time.Since(p.since) > iceGrace,
			(p.ice == "new" || p.ice == "checking") && time.Since(p.began) > iceNewLimit:
			s.repair(channel, p.ice)
		}
	}
	l := s.link
	if s.mode == Video && l.down != nil && !s.peer(media.ChannelSTV).recovering {
		s.withStats(l.down, func(st media.Stats) { s.checkVideo(l, st) })
	}
}

// withStats asks a peer for its statistics and hands them to f on the queue.
func (s *Session) withStats(p interface {
	Stats(context.Context) (media.Stats, error)
}, f func(media.Stats),
) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Limits.HealthTick)
	s.base.Spawn(func() {
		defer cancel()
		st, err := p.Stats(ctx)
		if err == nil && st.Known {
			s.base.Work.Post(func() { f(st) })
		}
	})
}

// checkVideo repairs a picture without new bytes, and rebuilds when repairs
// don't help. A peer that never had video is not judged.
func (s *Session) checkVideo(l *link, st media.Stats) {
	r := &s.recovery
	if s.link != l || s.state != Connected || s.life.paused || !st.HasVideo && r.stalls == 0 {
		return
	}
	now := time.Now()
	if !r.videoSeen || st.VideoBytes != r.videoBytes {
		if r.videoSeen && st.VideoBytes > r.videoBytes {
			r.stalls = 0
		}
		r.videoSeen, r.videoBytes, r.videoSince = true, st.VideoBytes, now
		return
	}
	if now.Sub(r.videoSince) < s.opts.Limits.VideoStall {
		return
	}
	r.stalls++
	r.videoSince = now
	if r.stalls > maxStalls {
		s.rebuild("video stalled", false)
		return
	}
	s.repair(media.ChannelSTV, "stalled")
}

// measure emits connectionQuality for both peers.
func (s *Session) measure() {
	s.recovery.stats = s.base.After(s.opts.StatsInterval, s.measure)
	l := s.link
	if s.state != Connected || l == nil {
		return
	}
	if l.down != nil {
		s.withStats(l.down, func(st media.Stats) { s.quality(l, media.ChannelSTV, st) })
	}
	if l.up != nil {
		s.withStats(l.up, func(st media.Stats) { s.quality(l, media.ChannelASR, st) })
	}
}

func (s *Session) quality(l *link, c media.Channel, st media.Stats) {
	if s.link != l {
		return
	}
	if s.recovery.last == nil {
		s.recovery.last = map[media.Channel]media.Stats{}
	}
	before := s.recovery.last[c]
	s.recovery.last[c] = st
	q := ConnectionQuality{Channel: c, RTTMs: st.RTTMs, JitterMs: st.JitterMs}
	bytes := st.VideoBytes + st.AudioBytes
	if had := before.VideoBytes + before.AudioBytes; bytes >= had {
		q.BitrateKbps = float64(bytes-had) * 8 / float64(s.opts.StatsInterval.Milliseconds())
	}
	lost, got := st.PacketsLost-before.PacketsLost, int64(st.Packets)-int64(before.Packets)
	if lost > 0 && got >= 0 {
		q.PacketLossPct = 100 * float64(lost) / float64(lost+got)
	}
	s.base.Emit(q)
}
