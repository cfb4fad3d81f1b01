package media

import (
	"crypto/rand"
	"net/url"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/quota"
)

// maxCatchUp is how far a stream may be behind and still send all that is due. Beyond that, for example after a laptop slept, it
// continues where it was instead of sending a burst.
const maxCatchUp = time.Second

// Stream is an avatar's picture and voice for one session. A goroutine owns its state; the methods may be called concurrently.
type Stream struct {
	server   *Server
	by       quota.Client
	id, room string
	pictures NewPicture

	calls   chan func()
	closing sync.Once
	close   chan struct{} // asks the goroutine to end
	ended   chan struct{} // closed when the goroutine has ended

	// Owned by the goroutine.
	playout playout
	viewer  *viewer
	alone   time.Time // since when no viewer is connected; zero while one is
	frozen  bool      // set by StopVideo
	epoch   time.Time
	slot    int64 // next to be sent, due at epoch + slot * slotTime
	stats   Stats
	voice   [samplesPerSlot]int16
}

// Stats are counts since the stream was made. A frame is due every 40 ms while a viewer is connected; it is missed when it could not be
// sent before the next one was due.
type Stats struct {
	Connected         bool // a viewer is connected
	Viewers           int  // that have connected so far
	FramesDue         int
	FramesMissed      int
	VideoBytes        int64
	AudioPackets      int
	AudioBytes        int64
	KeyFramesDemanded int // by the viewers
}

// NewStream makes a stream that one viewer at a time can watch at its URL. Its viewers count for the client. It must be closed.
func (s *Server) NewStream(by quota.Client, room string, pictures NewPicture) *Stream {
	stream := &Stream{
		server: s, by: by, pictures: pictures, id: rand.Text(), room: room, epoch: time.Now(), alone: time.Now(),
		calls: make(chan func()), close: make(chan struct{}), ended: make(chan struct{}),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(stream.ended)
		return stream
	}
	s.streams[stream.id] = stream
	go stream.run()
	return stream
}

// stream returns the stream with the id, or nil.
func (s *Server) stream(id string) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

// ID returns the stream's unguessable session id.
func (s *Stream) ID() string {
	return s.id
}

// URL returns the address for the viewer's offer (protocol §6.1), below base, which is "scheme://host:port".
func (s *Stream) URL(base string) string {
	return base + sessionPath + url.PathEscape(s.room) + "/whep/session/" + s.id
}

// Play queues mono speech with rate samples a second, after a silence, behind the utterances that are playing. The speech takes the same
// time whether or not a viewer is connected.
func (s *Stream) Play(lead time.Duration, pcm []int16, rate int) {
	u := newUtterance(lead, pcm, rate)
	s.do(func() { s.playout.queue = append(s.playout.queue, u) })
}

// Stop cuts all utterances, within one slot of 20 ms.
func (s *Stream) Stop() {
	s.do(func() { s.playout.queue = nil })
}

// StopVideo stops or restarts the video bytes; the voice goes on. Tests of pages use it.
func (s *Stream) StopVideo(stop bool) {
	s.do(func() {
		s.frozen = stop
		s.demandKeyFrame()
	})
}

// Kill stops the viewer's transport without a close message, and frees its place. Tests of pages use it.
func (s *Stream) Kill() {
	var v *viewer
	s.do(func() {
		v = s.viewer
		s.lost()
	})
	if v != nil {
		v.kill()
	}
}

// Stats returns the counts so far; those of a closed stream are zero.
func (s *Stream) Stats() (stats Stats) {
	s.do(func() {
		stats = s.stats
		stats.Connected = s.viewer != nil && s.viewer.connected
	})
	return stats
}

// Unwatched is how long no viewer has been connected: since the last was lost, or since the stream was made.
func (s *Stream) Unwatched() (d time.Duration) {
	s.do(func() {
		if !s.alone.IsZero() {
			d = time.Since(s.alone)
		}
	})
	return d
}

// lost frees the viewer's place. It must run on the stream's goroutine.
func (s *Stream) lost() {
	s.viewer = nil
	s.unwatch()
}

// unwatch records since when no viewer is connected. It must run on the stream's goroutine.
func (s *Stream) unwatch() {
	if s.alone.IsZero() {
		s.alone = time.Now()
	}
}

// Close ends the stream and closes its viewer. Its URL is unknown from now on.
func (s *Stream) Close() {
	s.server.mu.Lock()
	delete(s.server.streams, s.id)
	s.server.mu.Unlock()
	s.closing.Do(func() { close(s.close) })
	<-s.ended
}

// do runs f on the stream's goroutine. It returns false if that goroutine has ended.
func (s *Stream) do(f func()) bool {
	done := make(chan struct{})
	select {
	case s.calls <- func() { f(); close(done) }:
		<-done
		return true
	case <-s.ended:
		return false
	}
}

func (s *Stream) run() {
	defer close(s.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	timer.Stop()
	for {
		if s.active() {
			timer.Reset(time.Until(s.due()))
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
			s.advance(time.Now())
		case f := <-s.calls:
			idle := !s.active()
			f()
			if idle && s.active() {
				s.skipTo(time.Now())
			}
		case <-s.close:
			if s.viewer != nil {
				s.viewer.close()
			}
			return
		}
	}
}

// active reports whether slots have to be sent or played.
func (s *Stream) active() bool {
	return len(s.playout.queue) > 0 || s.viewer != nil && s.viewer.connected
}

// showing reports whether frames are due.
func (s *Stream) showing() bool {
	return s.viewer != nil && s.viewer.connected && s.viewer.pictures != nil && !s.frozen
}

// due returns when the next slot is to be sent.
func (s *Stream) due() time.Time {
	return s.epoch.Add(time.Duration(s.slot) * slotTime)
}

// skipTo skips the slots of the time in which the stream was idle.
func (s *Stream) skipTo(now time.Time) {
	s.slot = max(s.slot, int64((now.Sub(s.epoch)+slotTime-1)/slotTime))
}

// advance sends what is due at now.
func (s *Stream) advance(now time.Time) {
	if late := now.Sub(s.due()); late > maxCatchUp {
		s.epoch = s.epoch.Add(late)
		if s.showing() {
			s.stats.FramesDue += int(late / frameTime)
			s.stats.FramesMissed += int(late / frameTime)
		}
	}
	for due := s.due(); !due.After(now); due = s.due() {
		s.send(now.Sub(due))
		s.slot++
	}
}

// send sends one slot; late is how long after its time that is.
func (s *Stream) send(late time.Duration) {
	loudness, speech := s.playout.next(s.voice[:])
	v := s.viewer
	if v == nil || !v.connected {
		return
	}
	if v.voice != nil {
		var pcm []int16
		if speech {
			pcm = s.voice[:]
		}
		n := int64(v.voice.speak(s.slot, pcm))
		s.stats.AudioBytes += n
		s.server.sentAudio.Add(n)
		s.stats.AudioPackets++
	}
	if !s.showing() || s.slot%slotsPerFrame != 0 {
		return
	}
	s.stats.FramesDue++
	if late >= frameTime {
		s.stats.FramesMissed++ // the picture continues where it was, because frames build on those before them
		return
	}
	n := int64(v.pictures.draw(s.slot, loudness))
	s.stats.VideoBytes += n
	s.server.sentVideo.Add(n)
}

// demandKeyFrame makes the next frame one that can be decoded alone.
func (s *Stream) demandKeyFrame() {
	if s.viewer != nil && s.viewer.pictures != nil {
		s.viewer.pictures.wantKey = true
	}
}

// reserve gives v the viewer's place, if it is free; ok is false when it is not, or the stream has ended.
func (s *Stream) reserve(v *viewer) (taken, ok bool) {
	ok = s.do(func() {
		if s.viewer != nil {
			taken = true
			return
		}
		s.viewer = v
	})
	return taken, ok && !taken
}

// release frees the place of v and reports whether v had it.
func (s *Stream) release(v *viewer) (had bool) {
	s.do(func() {
		if had = s.viewer == v; had {
			s.lost()
		}
	})
	return had
}

// releaseID frees the place of the viewer with the id and returns it, or nil.
func (s *Stream) releaseID(id string) (v *viewer) {
	s.do(func() {
		if s.viewer != nil && s.viewer.id == id {
			v = s.viewer
			s.lost()
		}
	})
	return v
}
