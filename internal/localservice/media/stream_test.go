package media

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/webrtc/v4"
)

// loudPicture notes what it was asked for.
type loudPicture struct {
	loudness []float64
	keys     []bool
}

func (p *loudPicture) Next(loudness float64, keyFrame bool) []byte {
	p.loudness = append(p.loudness, loudness)
	p.keys = append(p.keys, keyFrame)
	return []byte{0, 0, 0, 1, 0x41, 1}
}

// bareStream is a stream of a server without sockets, for virtual time.
func bareStream(t *testing.T) *Stream {
	t.Helper()
	s := (&Server{streams: map[string]*Stream{}}).NewStream(quota.Client{}, "room", newPattern)
	t.Cleanup(s.Close)
	return s
}

// connectBare gives s a connected viewer that has no transport.
func connectBare(t *testing.T, s *Stream, picture Picture) *viewer {
	t.Helper()
	video := codec{RTPCodecParameters: offeredH264, kind: webrtc.RTPCodecTypeVideo}
	pictures := must.Get(newPictures(video, picture, false))(t)
	voice := must.Get(newVoice(codec{RTPCodecParameters: offeredG722, kind: webrtc.RTPCodecTypeAudio}, false))(t)
	v := &viewer{id: "v", stream: s, pictures: pictures, voice: voice}
	s.do(func() {
		v.connected = true
		s.viewer = v
	})
	return v
}

func TestPictureAndVoiceFlowInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareStream(t)
		picture := &loudPicture{}
		connectBare(t, s, picture)
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		want := Stats{
			Connected: true, FramesDue: 250, VideoBytes: 250 * 2, AudioPackets: 500, AudioBytes: 500 * 160,
		}
		expect.Equal(t, s.Stats(), want, "after 10 s")
		if !picture.keys[0] || slices.Contains(picture.keys[1:], true) {
			t.Error("want a key frame first and only then")
		}
		if slices.ContainsFunc(picture.loudness, func(l float64) bool { return l != 0 }) {
			t.Error("the mouth moves in silence")
		}
	})
}

func TestUtterancePlaysInItsTimeWithoutAViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareStream(t)
		time.Sleep(time.Hour + 7*time.Millisecond) // idle, off the grid of slots
		start := time.Now()
		s.Play(0, ramp(2*voiceRate), voiceRate)
		for active := true; active; time.Sleep(slotTime / 4) {
			s.do(func() { active = s.active() })
		}
		// The last slot is sent 20 ms before it has been played; the first waits for the next slot, up to 20 ms.
		if took := time.Since(start); took < 2*time.Second-slotTime || took > 2*time.Second+slotTime {
			t.Errorf("two seconds of speech were sent in %v", took)
		}
	})
}

func TestStopCutsWithinASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareStream(t)
		picture := &loudPicture{}
		connectBare(t, s, picture)
		s.Play(0, ramp(10*voiceRate), voiceRate)
		time.Sleep(time.Second)
		s.Stop()
		var drawn int
		s.do(func() { drawn = len(picture.loudness) })
		time.Sleep(60 * time.Millisecond)
		s.Close()
		if before, after := picture.loudness[:drawn], picture.loudness[drawn:]; before[drawn-1] == 0 || len(after) == 0 || after[0] != 0 {
			t.Errorf("loudness %v before and %v after the cut, want an open mouth, then a shut one", before, after)
		}
	})
}

func TestViewerGetsKeyFrameAndContinuousTimeAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareStream(t)
		v := connectBare(t, s, &loudPicture{})
		time.Sleep(time.Second)
		var before, after int64
		s.do(func() { before = s.slot; v.connected = false })
		time.Sleep(time.Hour)
		s.do(func() { v.connected = true })
		time.Sleep(time.Second)
		s.do(func() { after = s.slot })
		if passed := time.Duration(after-before) * slotTime; passed < time.Hour+time.Second || passed > time.Hour+time.Second+slotTime {
			t.Errorf("slots moved on by %v, want 1h0m1s", passed)
		}
		if due := s.Stats().FramesDue; due < 49 || due > 52 {
			t.Errorf("%d frames were due in two connected seconds, want 50", due)
		}
	})
}

func TestLateStreamSendsAllVoiceAndTheNewestPicture(t *testing.T) {
	s := &Stream{server: &Server{}, epoch: time.Now()}
	picture := &loudPicture{}
	s.ended = make(chan struct{})
	close(s.ended) // no goroutine: this test is it
	connect := func() {
		pictures := must.Get(newPictures(codec{RTPCodecParameters: offeredH264, kind: webrtc.RTPCodecTypeVideo}, picture, false))(t)
		voice := must.Get(newVoice(codec{RTPCodecParameters: offeredG722, kind: webrtc.RTPCodecTypeAudio}, false))(t)
		s.viewer = &viewer{stream: s, connected: true, pictures: pictures, voice: voice}
	}
	connect()
	s.advance(s.epoch.Add(190 * time.Millisecond)) // slots 0 to 9: frames at 0, 40, 80, 120, 160
	if s.stats.AudioPackets != 10 || len(picture.loudness) != 1 || s.stats.FramesDue != 5 || s.stats.FramesMissed != 4 {
		t.Errorf("190 ms late: %+v and %d frames, want 10 packets and 1 of 5 frames", s.stats, len(picture.loudness))
	}
	s.advance(s.epoch.Add(time.Minute)) // the machine slept
	if s.stats.AudioPackets != 11 {
		t.Errorf("%d packets after a minute's sleep, want no burst", s.stats.AudioPackets-10)
	}
	if missed := s.stats.FramesMissed - 4; missed < 1490 || missed > 1500 {
		t.Errorf("%d frames missed in a minute's sleep, want about 1495", missed)
	}
	s.viewer.pictures = nil // a viewer that takes the voice only
	before := s.stats.FramesDue
	s.advance(s.epoch.Add(2 * time.Minute))
	expect.Equal(t, s.stats.FramesDue-before, 0, "frames were due for a viewer without pictures")
}

func TestClosedStreamTakesNoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareStream(t)
		s.Play(0, ramp(voiceRate), voiceRate)
		s.Close()
		s.Close()
		s.Play(0, ramp(voiceRate), voiceRate)
		s.StopVideo(true)
		s.Kill()
		s.Stop()
		expect.Equal(t, s.Stats(), (Stats{}), "a closed stream has")
	})
}

func TestStreamOfAClosedServerIsClosed(t *testing.T) {
	s := must.Get(New(Config{}))(t)
	s.Close()
	stream := s.NewStream(quota.Client{}, "room", newPattern)
	stream.Play(0, ramp(10), voiceRate)
	stream.Close()
	if s.stream(stream.ID()) != nil {
		t.Error("the stream is known")
	}
}
