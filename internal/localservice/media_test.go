package localservice_test

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	runtimemedia "github.com/agentruntime/agentruntime/runtime/media"
)

// The tests in this file add plain pion peers to the official Socket.IO client.

// Levels in dB of full scale: speech is above the first, silence below the
// second. A tone that is cut may leave G.722's decoder between two neighbouring
// values, at -59.7 dB.
const (
	audible = -35.0
	silent  = -55.0
)

// post sends an offer and returns the status.
func post(t testing.TB, address, offer string) int {
	t.Helper()
	status, _ := whep(t, address, offer)
	return status
}

func whep(t testing.TB, address, offer string) (status int, answer string) {
	t.Helper()
	reply, text := send(t, http.MethodPost, address, http.Header{"Content-Type": {"application/sdp"}}, offer)
	return reply.StatusCode, text
}

// newPeer makes a peer as a browser would, that reaches the service through its
// relay alone.
func newPeer(t testing.TB, init appInit) *webrtc.PeerConnection {
	t.Helper()
	pc := must.Get(webrtc.NewPeerConnection(webrtc.Configuration{
		ICETransportPolicy: webrtc.ICETransportPolicyRelay,
		ICEServers: []webrtc.ICEServer{{
			URLs: []string{init.TURNServerURL + "?transport=udp"}, Username: init.TURNCredentials.Username,
			Credential: init.TURNCredentials.Credential,
		}},
	}))(t)
	t.Cleanup(func() {
		expect.Equal(t, pc.GracefulClose(), nil, "close peer")
	})
	return pc
}

// offer makes pc's offer with its candidates: pion, unlike a browser, does not
// check towards a server that it has no candidate for yet.
func offer(t testing.TB, pc *webrtc.PeerConnection) string {
	t.Helper()
	description := must.Get(pc.CreateOffer(nil))(t)
	return local(t, pc, description)
}

func local(t testing.TB, pc *webrtc.PeerConnection, description webrtc.SessionDescription) string {
	t.Helper()
	gathered := webrtc.GatheringCompletePromise(pc)
	must.Do(t, pc.SetLocalDescription(description))
	<-gathered
	return pc.LocalDescription().SDP
}

func remote(t testing.TB, pc *webrtc.PeerConnection, kind webrtc.SDPType, sdp string) {
	t.Helper()
	must.Do(t, pc.SetRemoteDescription(webrtc.SessionDescription{Type: kind, SDP: sdp}))
}

// received is what a peer got: how many pictures, and the voice as PCM.
type received struct {
	mu     sync.Mutex
	frames int
	pcm    []int16
}

func receive(pc *webrtc.PeerConnection) *received {
	r := &received{}
	pc.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		decoder := audio.NewG722Decoder()
		for {
			packet, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			r.mu.Lock()
			if track.Kind() == webrtc.RTPCodecTypeAudio {
				r.pcm = decoder.Decode(r.pcm, packet.Payload)
			} else if packet.Marker {
				r.frames++
			}
			r.mu.Unlock()
		}
	})
	return r
}

// wait returns when enough reports that what has been received suffices.
func (r *received) wait(t testing.TB, what string, enough func() bool) {
	t.Helper()
	must.Wait(t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return enough()
	})
}

// level is the loudest tenth of a second since the sample from.
func (r *received) level(from int) float64 {
	const window = 1600
	loudest := math.Inf(-1)
	for at := from; at+window <= len(r.pcm); at += window {
		loudest = max(loudest, audio.Level(r.pcm[at:at+window]))
	}
	return loudest
}

// watch subscribes to a picture and a voice.
func watch(t testing.TB, init appInit, address string) *received {
	t.Helper()
	pc := newPeer(t, init)
	r := receive(pc)
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio} {
		must.Get(pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}))(t)
	}
	status, answer := whep(t, address, offer(t, pc))
	if status != http.StatusCreated {
		t.Fatalf("subscribe: %d %s", status, answer)
	}
	remote(t, pc, webrtc.SDPTypeAnswer, answer)
	return r
}

// speakInto opens a microphone by the handshake of protocol §5.1 and returns
// a function that speaks into it.
func speakInto(t *testing.T, c *conversation) (speak func()) {
	t.Helper()
	c.emit("asr-webrtc-init", map[string]any{"sessionId": "x"})
	c.expect("asr-webrtc-ready")
	pc := newPeer(t, c.init)
	track := must.Get(webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}, "mic", "mic"))(t)
	must.Get(pc.AddTrack(track))(t)
	connected := make(chan struct{})
	var once sync.Once
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			once.Do(func() { close(connected) })
		}
	})
	c.emit("asr-webrtc-offer", map[string]any{"offer": map[string]any{"type": "offer", "sdp": offer(t, pc)}, "is_reconnect": false})
	got := c.until("asr-ice-candidate")
	var answer struct{ Answer struct{ SDP string } }
	must.Do(t, json.Unmarshal(got[0].Args[0], &answer))
	remote(t, pc, webrtc.SDPTypeAnswer, answer.Answer.SDP)
	select {
	case <-connected:
	case <-time.After(patience):
		t.Fatal("the microphone does not connect")
	}
	file := must.Get(os.ReadFile("media/testdata/speech.opus"))(t)
	return func() {
		speech := must.Get(runtimemedia.Ogg(bytes.NewReader(file)))(t)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for packet, err := speech.Next(t.Context()); err == nil; packet, err = speech.Next(t.Context()) {
			<-tick.C
			must.Do(t, track.WriteSample(media.Sample{Data: packet.Data, Duration: packet.Duration}))
		}
	}
}

// TestBargeInByVoice checks the order of protocol §7.8 for speech.
func TestBargeInByVoice(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{Script: append([]byte("hear: [good morning]\n"), script(longAnswer, fine)...)}, "silent")
	speak := speakInto(t, c)
	c.say("something long")
	c.until("stvStartedTalking")
	speak()
	got := c.until("stvFinishedTalking")
	at := []int{index(t, got, "userStartedTalking"), index(t, got, "agentInterrupted"), len(got) - 1}
	if at[0]+1 != at[1] || at[1]+1 != at[2] {
		t.Errorf("got %q", names(got))
	}
	next := c.until("agentTurnToTalk")
	if turn := next[len(next)-1]; turn.text("userTranscription") != "good morning" {
		t.Errorf("turn %s", turn.Args)
	}
	c.until("stvFinishedTalking")
}

func TestTapToTalk(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{Script: append([]byte("hear: [good morning]\n"), script(fine)...)}, "tap")
	speak := speakInto(t, c)
	speak() // no tap, so it is ignored
	c.emit("tapToTalkStart", map[string]any{})
	speak()
	c.emit("tapToTalkEnd", map[string]any{})
	got := c.until("agentTurnToTalk")
	if !strings.HasSuffix(got[0].text("speechId"), "-tap-to-talk") || got[len(got)-1].text("userTranscription") != "good morning" {
		t.Errorf("got %q %s", names(got), got[len(got)-1].Args)
	}
	c.until("stvFinishedTalking")
}

// TestPictureAndVoiceAreOneStream: a page that shows the stream of its last track
// sees and hears the agent. A test may ask for two streams.
func TestPictureAndVoiceAreOneStream(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{}, "silent")
	for _, want := range []int{1, 2, 1} {
		control(t, c.info, "/media", map[string]any{"separateStreams": want == 2})
		pc := must.Get(webrtc.NewPeerConnection(webrtc.Configuration{}))(t)
		for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio} {
			must.Get(pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}))(t)
		}
		offer := must.Get(pc.CreateOffer(nil))(t)
		if err := pc.Close(); err != nil {
			t.Error(err)
		}
		status, answer := whep(t, c.video(), offer.SDP)
		if status != http.StatusCreated {
			t.Fatalf("%d: %s", status, answer)
		}
		streams := map[string]bool{}
		lines := regexp.MustCompile(`(?m)^a=msid:(\S+)`).FindAllStringSubmatch(answer, -1)
		for _, line := range lines {
			streams[line[1]] = true
		}
		if len(lines) != 2 || len(streams) != want {
			t.Errorf("the tracks are in %v, want %d streams in:\n%s", streams, want, answer)
		}
	}
}
