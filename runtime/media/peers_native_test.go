//go:build !js

package media

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pion/interceptor/pkg/stats"
	"github.com/pion/webrtc/v4"
	pionmedia "github.com/pion/webrtc/v4/pkg/media"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func newTestEngine(t *testing.T, change func(*Config)) *Engine {
	t.Helper()
	transport := fetch.New()
	cfg := Config{HTTPClient: fetch.As(transport), AllowPrivateHosts: true, ICEPolicy: "all"}
	if change != nil {
		change(&cfg)
	}
	p := New(cfg)
	t.Cleanup(func() {
		p.Close()
		transport.Close()
	})
	return p
}

func TestSubscriberThroughTheRelay(t *testing.T) {
	for codec, audio := range map[string]string{"H264": "", "VP8": "PCMU"} {
		t.Run(codec, func(t *testing.T) {
			s := newTestService(t)
			stream, url := s.stream()
			kinds := make(chan string, 2)
			p := newTestEngine(t, func(c *Config) {
				c.ICEPolicy, c.ICEServers, c.VideoCodec, c.AudioCodec = "relay", s.iceServers(), codec, audio
				c.OnTrack = func(track *webrtc.TrackRemote) { // reads one packet, and leaves the rest
					if _, _, err := track.ReadRTP(); err == nil {
						kinds <- track.Codec().MimeType
					}
				}
			})
			j := newJournal()
			d := p.NewSubscriber(j.notify)
			ctx := testContext(t)
			must.Do(t, d.Subscribe(ctx, url))
			size, err := d.Playable(ctx, false)
			if err != nil || size != (Picture{Width: 640, Height: 360}) {
				t.Fatalf("%+v, %v", size, err)
			}
			got := map[string]bool{<-kinds: true, <-kinds: true}
			if !got["video/"+codec] || !got["audio/"+cmp.Or(audio, "G722")] {
				t.Errorf("tracks %v", got)
			}
			for _, line := range []string{
				"stv mark whepSent", "stv mark whepAnswer", "stv mark firstTrack", "stv mark firstFrame",
				"stv track video", "stv track audio", "stv size 640x360", "stv ice connected", "stv peer connected",
			} {
				j.await(t, line)
				expect.Equal(t, j.count(line), 1, "how often %q was reported", line)
			}
			expect.Equal(t, j.count("stv candidate"), 0, "candidates of the downlink")
			must.Wait(t, "both kinds counted", func() bool {
				st, err := d.Stats(ctx)
				return err == nil && st.Known && st.HasVideo && st.Video.BytesReceived > 0 && st.Audio.BytesReceived > 0 && st.CandidateType == "relay"
			})
			if !stream.Stats().Connected {
				t.Error("the service has no viewer")
			}
			d.Close()
			d.Close()
			must.Wait(t, "the release", func() bool { return s.count("DELETE") == 1 })
			must.Wait(t, "the end of the viewer", func() bool { return !stream.Stats().Connected })
		})
	}
}

// TestTotalsOutliveAPeer: a viewer is released before the next, whose counts are added to its own; the end that
// was ours is not reported.
func TestTotalsOutliveAPeer(t *testing.T) {
	s := newTestService(t)
	_, url := s.stream()
	p := newTestEngine(t, nil)
	j := newJournal()
	d := p.NewSubscriber(j.notify)
	defer d.Close()
	ctx := testContext(t)
	total := func() Stats {
		t.Helper()
		return must.Get(p.Stats(ctx))(t)
	}
	expect.Equal(t, total(), (Stats{}), "before the first peer")
	for range 2 {
		before := total()
		must.Do(t, d.Subscribe(ctx, url))
		var own Stats
		must.Wait(t, "media", func() bool {
			own, _ = d.Stats(ctx)
			return own.Video.PacketsReceived > 10 && own.Audio.PacketsReceived > 10 && own.CandidateType != ""
		})
		d.Restart(ctx)
		after := total()
		if got, least := after.Video.BytesReceived, before.Video.BytesReceived+own.Video.BytesReceived; got < least {
			t.Errorf("%d bytes of the picture, at least %d were received", got, least)
		}
		if got, least := after.Audio.PacketsReceived, before.Audio.PacketsReceived+own.Audio.PacketsReceived; got < least {
			t.Errorf("%d packets of the voice, at least %d were received", got, least)
		}
		if after.CandidateType == "" || after.Audio.Jitter < 0 {
			t.Errorf("the latest values are missing: %+v", after)
		}
	}
	var methods []string
	for _, r := range s.seen() {
		method, _, _ := strings.Cut(r, " ")
		methods = append(methods, method)
	}
	expect.List(t, methods, []string{"POST", "DELETE", "POST", "DELETE"}, "requests")
	expect.Equal(t, j.count("stv peer closed")+j.count("stv ice closed"), 0, "reports of the ends that we made")
	before := total()
	d.Close()
	p.Close()
	if after := total(); after.Video.BytesReceived < before.Video.BytesReceived || after.Audio.BytesReceived == 0 {
		t.Errorf("%+v after the end, %+v before", after, before)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	expect.Fail(p.Stats(ended))(t, context.Canceled, "the error of an ended context is")
}

// noRecords are those of a connection that the other side has ended, in newer versions of pion.
type noRecords struct{}

func (noRecords) Get(uint32) *stats.Stats { return nil }

func TestTotalsOutliveTheRecordsOfAPeer(t *testing.T) {
	s := newTestService(t)
	_, url := s.stream()
	p := newTestEngine(t, nil)
	d := p.NewSubscriber(newJournal().notify)
	defer d.Close()
	ctx := testContext(t)
	must.Do(t, d.Subscribe(ctx, url))
	var before Stats
	must.Wait(t, "media", func() bool {
		before = must.Get(p.Stats(ctx))(t)
		return before.Video.PacketsReceived > 0 && before.Audio.PacketsReceived > 0
	})
	peer := p.totals.peers[0]
	peer.measuring <- struct{}{} // which no report overlaps
	peer.recorded = noRecords{}
	<-peer.measuring
	if after := must.Get(p.Stats(ctx))(t); after != before {
		t.Errorf("%+v, want %+v", after, before)
	}
}

func TestGoneSessions(t *testing.T) {
	s := newTestService(t)
	stream, url := s.stream()
	p := newTestEngine(t, nil)
	ctx := testContext(t)
	first := p.NewSubscriber(newJournal().notify)
	defer first.Close()
	must.Do(t, first.Subscribe(ctx, url))
	second := p.NewSubscriber(newJournal().notify)
	defer second.Close()
	var gone *Gone
	if err := second.Subscribe(ctx, url); !errors.As(err, &gone) || gone.Status != 409 {
		t.Errorf("second viewer: %v", err)
	}
	second.Restart(ctx)
	stream.Close()
	if err := second.Subscribe(ctx, url); !errors.As(err, &gone) || gone.Status != 404 {
		t.Errorf("ended session: %v", err)
	}
}

func TestUnusableAnswerIsReleased(t *testing.T) {
	s := newTestService(t)
	p := newTestEngine(t, nil)
	d := p.NewSubscriber(newJournal().notify)
	defer d.Close()
	err := d.Subscribe(testContext(t), s.http.URL+"/garbage")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.WHEPFailed || f.Retryable || f.Cause == nil {
		t.Errorf("error %v", err)
	}
	must.Wait(t, "the release", func() bool {
		return reflect.DeepEqual(s.seen(), []string{"POST /garbage", "DELETE /garbage/viewer/g"})
	})
}

// Closing without cancelling is what a page that goes away does.
func TestCloseDuringSubscribe(t *testing.T) {
	arrived, answer, released := make(chan struct{}), make(chan struct{}), make(chan string, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			released <- r.URL.Path
			return
		}
		close(arrived)
		<-answer
		w.Header().Set("Location", "/viewer/late")
		_, _ = w.Write([]byte(testAnswer))
	}))
	defer slow.Close()
	p := newTestEngine(t, nil)
	d := p.NewSubscriber(newJournal().notify)
	ended := make(chan error, 1)
	go func() { ended <- d.Subscribe(testContext(t), slow.URL+"/s") }()
	<-arrived
	d.Close()
	close(answer)
	expect.Error(t, <-ended, ErrClosed, "error")
	expect.Equal(t, <-released, "/s/viewer/late", "released")
}

func TestPeersClosedAtOnceLeaveNothing(t *testing.T) {
	p := newTestEngine(t, nil)
	for i := range 5 {
		d, u, v := p.NewSubscriber(newJournal().notify), p.NewPublisher(newJournal().notify), p.NewVoice(newJournal().notify)
		if i%2 == 0 {
			u.Prepare()
		}
		d.Close()
		u.Close()
		v.Close()
		expect.Error(t, d.Subscribe(testContext(t), "http://127.0.0.1:9/"), ErrClosed, "downlink")
		expect.Fail(u.Offer(testContext(t), false))(t, ErrClosed, "uplink")
		d.Restart(t.Context())
	}
}

func TestBadICEServersAreAnError(t *testing.T) {
	p := newTestEngine(t, func(c *Config) { c.ICEServers = []ICEServer{{URLs: []string{"http://no.turn"}}} })
	d := p.NewSubscriber(newJournal().notify)
	defer d.Close()
	expect.Error(t, d.Subscribe(testContext(t), "http://127.0.0.1:9/"), fault.ConnectFailed, "error")
	if _, err := d.Stats(t.Context()); err != nil {
		t.Errorf("statistics: %v", err)
	}
}

// speechFile is a spoken question as a browser's microphone would send it.
const speechFile = "../../internal/localservice/media/testdata/speech.opus"

func openSpeech() (Source, error) {
	f, err := os.Open(speechFile)
	if err != nil {
		return nil, err
	}
	return Ogg(f)
}

// withoutCandidates is a session description whose candidates come one by one.
func withoutCandidates(sdp string) string {
	var plain []string
	for line := range strings.Lines(sdp) {
		if !strings.HasPrefix(line, "a=candidate") && !strings.HasPrefix(line, "a=end-of-candidates") {
			plain = append(plain, line)
		}
	}
	return strings.Join(plain, "")
}

func TestMicrophoneReachesTheService(t *testing.T) {
	s := newTestService(t)
	opened := make(chan string, 8)
	j := newJournal()
	p := newTestEngine(t, func(c *Config) {
		c.OnMicrophone = j.notify
		c.OpenMicrophone = func(id string) (Source, error) {
			opened <- id
			return openSpeech()
		}
	})
	ctx := testContext(t)
	h := &hearing{loud: make(chan float64, 1)}
	mic := s.media.NewMicrophone(quota.Client{}, h.hear)
	defer mic.Close()
	u := p.NewPublisher(j.notify)
	defer u.Close()
	handshake := func(restart bool) string {
		t.Helper()
		offer, err := u.Offer(ctx, restart)
		if err != nil || offer.Type != "offer" {
			t.Fatalf("%+v, %v", offer, err)
		}
		answer, candidates, err := mic.Offer(offer.SDP, restart)
		must.Do(t, err)
		// Candidates that come before the answer are kept.
		for _, c := range append(candidates, "", "candidate:broken") {
			u.AddCandidate(signaling.ServerCandidate{UID: "x", Type: "ice_candidate", Candidate: c})
		}
		must.Do(t, u.Answer(ctx, signaling.Description{Type: "answer", SDP: withoutCandidates(answer)}))
		return offer.SDP
	}
	first := handshake(false)
	if !strings.Contains(first, "opus/48000/2") {
		t.Errorf("offer %s", first)
	}
	j.await(t, "asr ice connected")
	if p.MicStarted() || j.count("asr kind 9 false <nil>") != 0 {
		t.Error("the microphone is on before it is started")
	}
	must.Do(t, p.StartMic(ctx))
	if err := p.StartMic(ctx); err != nil || len(opened) != 1 || <-opened != "" {
		t.Errorf("a second start: %v", err)
	}
	if n := j.count(describe(Event{Kind: MicStarted, Channel: event.ChannelASR})); n != 1 || !p.MicStarted() {
		t.Errorf("started %d times", n)
	}
	select {
	case <-h.loud:
	case <-ctx.Done():
		t.Fatal("the service heard nothing")
	}
	must.Wait(t, "statistics", func() bool {
		st, err := u.Stats(ctx)
		return err == nil && st.Known && st.Microphone.BytesSent > 0 && st.Microphone.PacketsSent > 0 && st.CandidateType != ""
	})
	if err := u.SetBandwidth(ctx, 16); err != nil {
		t.Error(err)
	}
	second := handshake(true)
	if credentials(first) == credentials(second) || credentials(second) == "" {
		t.Error("the restart has the ICE credentials of before")
	}
	if err := p.SwitchMic(ctx, "other"); err != nil || <-opened != "other" {
		t.Errorf("switch: %v", err)
	}
	select {
	case <-h.loud: // from before the restart
	default:
	}
	select {
	case <-h.loud:
	case <-ctx.Done():
		t.Fatalf("the service heard nothing after the restart and the switch: %+v, %q", mic.Stats(), j.lines)
	}
	p.StopMic()
	if p.MicStarted() {
		t.Error("still started")
	}
}

func TestPublisherRefusesWhatIsNoAnswer(t *testing.T) {
	p := newTestEngine(t, nil)
	u := p.NewPublisher(newJournal().notify)
	defer u.Close()
	ctx := testContext(t)
	must.Get(u.Offer(ctx, false))(t)
	for _, sdp := range []string{"", "hello", "v=0\r\n", "v=0\r\nm=audio\r\n"} {
		if err := u.Answer(ctx, signaling.Description{Type: "answer", SDP: sdp}); err == nil {
			t.Errorf("%q was accepted", sdp)
		}
	}
}

// TestVoiceIsAnswered: the service gets none of the voice's candidates, so that it is found by means of its own alone.
func TestVoiceIsAnswered(t *testing.T) {
	service := must.Get(webrtc.NewPeerConnection(webrtc.Configuration{}))(t)
	defer func() { _ = service.GracefulClose() }()
	track := must.Get(webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "voice", "agent"))(t)
	must.Get(service.AddTrack(track))(t)
	p := newTestEngine(t, nil)
	j := newJournal()
	v := p.NewVoice(j.notify)
	defer v.Close()
	service.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c != nil {
			init := c.ToJSON()
			v.AddCandidate(signaling.Candidate{Candidate: init.Candidate, SDPMid: init.SDPMid, SDPMLineIndex: init.SDPMLineIndex})
		}
	})
	offer := must.Get(service.CreateOffer(nil))(t)
	must.Do(t, service.SetLocalDescription(offer))
	expect.Fail(v.Accept(testContext(t), signaling.Description{Type: "offer", SDP: "hello"}))(t, errNotSDP, "no offer")
	answer, err := v.Accept(testContext(t), signaling.Description{Type: "offer", SDP: offer.SDP})
	if err != nil || answer.Type != "answer" {
		t.Fatalf("%+v, %v", answer, err)
	}
	must.Do(t, service.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: withoutCandidates(answer.SDP)}))
	ctx := testContext(t)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-time.After(Silence().Duration):
				_ = track.WriteSample(pionmedia.Sample{Data: Silence().Data, Duration: Silence().Duration})
			case <-stop:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	j.await(t, "voice ice connected")
	j.await(t, "voice track audio")
	if j.count("voice candidate") == 0 {
		t.Error("the service would get no candidate")
	}
}

// FuzzAnswer feeds what a server may write to a peer that waits for an answer.
func FuzzAnswer(f *testing.F) {
	f.Add("v=0\r\n")
	f.Add(testAnswer + "s=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:1\r\n")
	f.Add(testAnswer + "s=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=ice-ufrag:a\r\na=ice-pwd:b\r\na=fingerprint:sha-256 AA\r\na=setup:passive\r\n" +
		"m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\na=sendonly\r\na=rtpmap:96 VP8/90000\r\na=candidate:1 1 udp 1 127.0.0.1 9 typ host\r\n")
	p := New(Config{HTTPClient: fetch.As(hanging{}), AllowPrivateHosts: true})
	f.Cleanup(p.Close)
	f.Fuzz(func(t *testing.T, sdp string) {
		d := p.NewSubscriber(func(Event) {})
		defer d.Close()
		peer := must.Get(d.current().wait(t.Context()))(t)
		_ = peer.answer(t.Context(), sdp)
	})
}
