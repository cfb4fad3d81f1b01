package media

import (
	"errors"
	"math"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
)

// recording collects what a microphone hears.
type recording struct {
	mu  sync.Mutex
	pcm []int16
}

func (r *recording) hear(pcm []int16) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pcm = append(r.pcm, pcm...)
}

func (r *recording) heard() []int16 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.pcm)
}

// speaker is a client with a microphone.
type speaker struct {
	pc    *webrtc.PeerConnection
	track *webrtc.TrackLocalStaticSample
}

func newSpeaker(t testing.TB, cfg webrtc.Configuration) *speaker {
	t.Helper()
	pc := newClient(t, cfg, offeredOpus, offeredG722, offeredPCMU)
	track := must.Get(webrtc.NewTrackLocalStaticSample(offeredOpus.RTPCodecCapability, "mic", "user"))(t)
	must.Get(pc.AddTrack(track))(t)
	return &speaker{pc, track}
}

// offer makes an offer without waiting for candidates, as browsers do here.
func (s *speaker) offer(t testing.TB, options *webrtc.OfferOptions) string {
	t.Helper()
	offer := must.Get(s.pc.CreateOffer(options))(t)
	must.Do(t, s.pc.SetLocalDescription(offer))
	return offer.SDP
}

// connect offers to m and applies the answer, which it returns.
func (s *speaker) connect(t testing.TB, m *Microphone, restart bool) string {
	t.Helper()
	answer, _, err := m.Offer(s.offer(t, &webrtc.OfferOptions{ICERestart: restart}), restart)
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, s.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
	return answer
}

// speak sends packets, faster than time so that tests are quick but slower than a microphone would refuse.
func (s *speaker) speak(t testing.TB, packets [][]byte) {
	t.Helper()
	for _, p := range packets {
		must.Do(t, s.track.WriteSample(media.Sample{Data: p, Duration: 20 * time.Millisecond}))
		time.Sleep(5 * time.Millisecond)
	}
}

func TestMicrophoneSurvivesAnICERestart(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	var r recording
	m := s.NewMicrophone(quota.Client{}, r.hear)
	defer m.Close()
	client := newSpeaker(t, webrtc.Configuration{})
	first := client.connect(t, m, false)
	speech := opusPackets(t, "testdata/speech.opus")
	must.Wait(t, "connected", func() bool { return m.Stats().Connected })
	waitConnected(t, client.pc)
	client.speak(t, speech[:10])
	must.Wait(t, "sound", func() bool { return m.Stats().Packets > 0 })

	dtls := client.pc.SCTP().Transport()
	second := client.connect(t, m, true)
	if ufrag(t, first) == ufrag(t, second) {
		t.Error("the answer to a restart has the old credentials")
	}
	expect.Equal(t, fingerprint(t, first), fingerprint(t, second), "the restart changed the certificate")
	before := m.Stats().Packets
	must.Wait(t, "sound after the restart", func() bool {
		client.speak(t, speech[10:12])
		return m.Stats().Packets > before+20
	})
	if client.pc.SCTP().Transport() != dtls || dtls.State() != webrtc.DTLSTransportStateConnected {
		t.Errorf("DTLS is %v, want it untouched", dtls.State())
	}
}

func ufrag(t testing.TB, sdp string) string       { return attribute(t, sdp, "a=ice-ufrag:") }
func fingerprint(t testing.TB, sdp string) string { return attribute(t, sdp, "a=fingerprint:") }

func attribute(t testing.TB, sdp, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(sdp, name)
	if !ok {
		t.Fatalf("no %s in\n%s", name, sdp)
	}
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func TestNewOfferReplacesTheOldPeer(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{Peers: quota.Limit{Total: 4}}) // of which microphones have 2
	m := s.NewMicrophone(quota.Client{}, func([]int16) {})
	defer m.Close()
	for range 4 {
		client := newSpeaker(t, webrtc.Configuration{})
		must.Wait(t, "room for a peer", func() bool {
			return s.peers.Total() < 2
		})
		client.connect(t, m, false)
		must.Wait(t, "connected", func() bool { return m.Stats().Connected })
	}
}

func TestMicrophoneWithoutATrackIsAccepted(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	m := s.NewMicrophone(quota.Client{}, func([]int16) {})
	defer m.Close()
	client := newSpeaker(t, webrtc.Configuration{})
	// What a browser offers for a sendonly transceiver before it has a microphone.
	bare := regexp.MustCompile(`a=(msid|ssrc)[^\r]*\r\n`).ReplaceAllString(client.offer(t, nil), "")
	bare = strings.Replace(bare, "a=sendrecv", "a=sendonly", 1)
	answer, _, err := m.Offer(bare, false)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(answer, "a=recvonly") {
		t.Errorf("answer is not recvonly:\n%s", answer)
	}
	must.Do(t, client.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
	must.Wait(t, "connected", func() bool { return m.Stats().Connected })
	expect.Equal(t, m.Stats().Packets, 0, "packets were received of a track that sends none")
}

func TestMicrophoneAnswersWithOpusAndItsSocketAlone(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	m := s.NewMicrophone(quota.Client{}, func([]int16) {})
	defer m.Close()
	answer, candidates, err := m.Offer(newSpeaker(t, webrtc.Configuration{}).offer(t, nil), false)
	if err != nil || len(candidates) != 1 || !strings.HasPrefix(candidates[0], "candidate:") ||
		!strings.Contains(candidates[0], " 127.0.0.1 "+portOf(s)+" typ host") {
		t.Errorf("candidates of the answer: %q, %v; want the socket's", candidates, err)
	}
	for line, want := range map[string]bool{
		"a=recvonly": true, "a=setup:active": true, "a=rtpmap:111 opus/48000/2": true, " typ host": true, "G722": false, "PCMU": false,
	} {
		if strings.Contains(answer, line) != want {
			t.Errorf("%q is in the answer: %t, want %t:\n%s", line, !want, want, answer)
		}
	}
}

func TestMicrophoneRefuses(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	m := s.NewMicrophone(quota.Client{}, func([]int16) {})
	good := newSpeaker(t, webrtc.Configuration{}).offer(t, nil)
	for name, sdp := range map[string]string{
		"nothing": "", "no description": "hello",
		"no Opus":        offerWHEP(t, newClient(t, webrtc.Configuration{}, offeredG722), webrtc.RTPCodecTypeAudio),
		"no credentials": strings.ReplaceAll(good, "a=ice-", "a=ixe-"),
	} {
		if _, _, err := m.Offer(sdp, false); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	m.Close()
	m.Close()
	if _, _, err := m.Offer(good, false); !errors.Is(err, errClosed) {
		t.Errorf("offer to a closed microphone: %v", err)
	}
}

// packetAt returns the packet of 20 ms with that index in its stream.
func packetAt(place int, payload []byte) *rtp.Packet {
	slot := microphoneSlot * timestampStep
	return &rtp.Packet{Header: rtp.Header{SequenceNumber: uint16(place), Timestamp: uint32(place * slot)}, Payload: payload}
}

func decoderOf(t testing.TB, hear func([]int16)) *trackDecoder {
	t.Helper()
	return must.Get(newTrackDecoder(hear))(t)
}

func TestLostPacketsBecomeSilence(t *testing.T) {
	payload := opusPackets(t, "testdata/speech.opus")[20]
	for name, tc := range map[string]struct {
		places        []int
		slots, losses int
	}{
		"none":             {[]int{7, 8, 9}, 3, 0},
		"over the wrap":    {[]int{65534, 65535, 65536}, 3, 0},
		"two lost":         {[]int{7, 10}, 4, 2},
		"one late":         {[]int{7, 9, 8, 10}, 4, 1},
		"one repeated":     {[]int{7, 7, 8}, 2, 0},
		"almost a new one": {[]int{7, 107}, 101, 99},
		"a new beginning":  {[]int{7, 1000}, 2, 992},
	} {
		var r recording
		e := decoderOf(t, r.hear)
		for _, place := range tc.places {
			e.take(packetAt(place, payload))
		}
		if heard := r.heard(); len(heard) != tc.slots*microphoneSlot || e.stats.Lost != tc.losses {
			t.Errorf("%s: heard %d samples and lost %d, want %d and %d", name, len(heard), e.stats.Lost, tc.slots*microphoneSlot, tc.losses)
		}
	}
}

// An encoder that sends nothing in pauses goes on counting time.
func TestWhatWasNotSentBecomesSilence(t *testing.T) {
	payload := opusPackets(t, "testdata/speech.opus")[20]
	var r recording
	e := decoderOf(t, r.hear)
	e.take(packetAt(7, payload))
	after := packetAt(27, payload)
	after.SequenceNumber = 8
	e.take(after)
	if heard := len(r.heard()); heard != 21*microphoneSlot || e.stats.Lost != 0 {
		t.Errorf("heard %d samples and lost %d packets, want %d and 0", heard, e.stats.Lost, 21*microphoneSlot)
	}
	e.silence(50 * microphoneSlot) // while nothing came for a second
	e.take(packetAt(30, payload))  // which was late by most of it
	e.take(packetAt(31, payload))
	expect.Equal(t, len(r.heard()), (21+50+2)*microphoneSlot, "heard samples after a second without packets")
}

// A machine that is too busy sends late, and then all at once: its sound has no pause. That of a sender that stopped goes on as silence.
func TestASenderThatIsLateIsNoneThatStopped(t *testing.T) {
	payload := opusPackets(t, "testdata/speech.opus")[20]
	synctest.Test(t, func(t *testing.T) {
		var r recording
		e := decoderOf(t, r.hear)
		sender, track := net.Pipe()
		go e.read(pipedTrack{track}, func(int) {})
		place := 0
		speak := func(packets int) {
			for range packets {
				raw := must.Get(packetAt(place, payload).Marshal())(t)
				must.Get(sender.Write(raw))(t)
				place++
			}
			synctest.Wait()
		}
		speak(10)
		time.Sleep(900 * time.Millisecond)
		speak(10)
		expect.Equal(t, len(r.heard()), 20*microphoneSlot, "heard samples of a sender that was late")
		const stopped = 10 * time.Second
		time.Sleep(stopped + time.Millisecond)
		if heard, want := len(r.heard()), 20*microphoneSlot+audio.Samples(stopped, MicrophoneRate); heard != want {
			t.Errorf("heard %d samples of a sender that stopped %v ago, want %d", heard, stopped, want)
		}
		// Over TCP nothing is lost, however late it is.
		before := len(r.heard())
		speak(500)
		expect.Equal(t, len(r.heard())-before, 500*microphoneSlot, "heard samples of the packets after a pause of %v", stopped)
		sender.Close()
	})
}

// pipedTrack is a track whose packets are what is written to a pipe.
type pipedTrack struct{ net.Conn }

func (p pipedTrack) Read(b []byte) (int, interceptor.Attributes, error) {
	n, err := p.Conn.Read(b)
	return n, nil, err
}

func TestEarDecodesNoFasterThanTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard int
		e := decoderOf(t, func(pcm []int16) { heard += len(pcm) })
		payload := opusPackets(t, "testdata/speech.opus")[20]
		flood := func(packets uint16) {
			for range packets {
				e.take(&rtp.Packet{Header: rtp.Header{SequenceNumber: e.next, Timestamp: e.due}, Payload: payload})
			}
		}
		flood(1000)
		expect.Equal(t, heard, 2*MicrophoneRate+microphoneSlot, "samples were decoded at once")
		time.Sleep(8 * time.Second)
		flood(1000)
		expect.Equal(t, heard, 12*MicrophoneRate+microphoneSlot, "samples were decoded in 8 s")
	})
}

func TestDecodedSpeechIsTheSpeechThatWasSent(t *testing.T) {
	var r recording
	e := decoderOf(t, r.hear)
	e.started = time.Now().Add(-time.Hour) // no limit
	for _, payload := range opusPackets(t, "testdata/speech.opus") {
		e.take(&rtp.Packet{Header: rtp.Header{SequenceNumber: e.next, Timestamp: e.due}, Payload: payload})
	}
	raw := must.Get(os.ReadFile("../../audio/testdata/speech.s16"))(t)
	sent := make([]int16, len(raw)/2)
	for i := range sent {
		sent[i] = int16(raw[2*i]) | int16(raw[2*i+1])<<8
	}
	// The codec delays by some milliseconds; at the best shift the signals must be alike.
	heard, best := r.heard(), 0.0
	for shift := range 400 {
		best = max(best, correlation(sent, heard[shift:]))
	}
	if best < 0.9 {
		t.Errorf("correlation of heard and sent speech is %.2f, want at least 0.9", best)
	}
}

func correlation(a, b []int16) float64 {
	n := min(len(a), len(b))
	var ab, aa, bb float64
	for i := range n {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// Whatever a client says on the control plane, the server stays up and forgets the peer.
func FuzzMicrophone(f *testing.F) {
	s := must.Get(New(Config{}))(f)
	f.Cleanup(s.Close)
	offer := newSpeaker(f, webrtc.Configuration{}).offer(f, nil)
	again := newSpeaker(f, webrtc.Configuration{}).offer(f, nil)
	f.Add(offer, again, true)
	f.Add(offer, offer, false)
	f.Add(offer, strings.ReplaceAll(again, "a=mid:0", "a=mid:1"), true)
	f.Add(strings.Replace(offer, "sendrecv", "inactive", 1), again, true)
	f.Fuzz(func(t *testing.T, first, second string, restart bool) {
		m := s.NewMicrophone(quota.Client{}, func([]int16) {})
		_, _, _ = m.Offer(first, false)
		_, _, _ = m.Offer(second, restart)
		m.Close()
		must.Wait(t, "the peers are gone", func() bool {
			return s.peers.Total() == 0
		})
	})
}

func FuzzMicrophoneDecoder(f *testing.F) {
	for _, p := range opusPackets(f, "testdata/speech.opus")[:5] {
		f.Add(uint16(1), p)
	}
	f.Fuzz(func(t *testing.T, number uint16, payload []byte) {
		heard := 0
		e := decoderOf(t, func(pcm []int16) { heard += len(pcm) })
		e.take(packetAt(0, payload))
		e.take(packetAt(int(number), payload))
		if most := 2*longestPacket + audio.Samples(longestGap, MicrophoneRate); heard > most {
			t.Errorf("two packets were decoded as %d samples, want at most %d", heard, most)
		}
	})
}
