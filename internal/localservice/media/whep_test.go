package media

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
)

func TestViewerReceivesThroughTheRelay(t *testing.T) {
	for _, transport := range []string{"udp", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			s, base := newServer(t, Config{})
			stream := newStream(t, s)
			pc := newClient(t, relayOnly(t, s, transport), browserCodecs...)
			got := watch(pc)
			answer, _ := subscribeAt(t, pc, stream.URL(base))

			must.Wait(t, "half a second of media", func() bool {
				return len(got.of(webrtc.MimeTypeG722)) >= 25 && len(got.of(webrtc.MimeTypeH264)) >= 20
			})
			units := accessUnits(t, got.of(webrtc.MimeTypeH264))
			want := pattern{mimeType: webrtc.MimeTypeH264}
			for i, unit := range units {
				if frame := want.Next(0, i == 0); !bytes.Equal(unit, frame) {
					t.Fatalf("frame %d arrived as %d bytes % x…, want %d bytes", i, len(unit), unit[:8], len(frame))
				}
			}
			voice := got.of(webrtc.MimeTypeG722)
			for i, p := range voice {
				if len(p.Payload) != 160 || p.Timestamp != voice[0].Timestamp+uint32(i)*160 {
					t.Fatalf("voice packet %d has %d bytes at %d, want 160 at %d", i, len(p.Payload), p.Timestamp, voice[0].Timestamp+uint32(i)*160)
				}
			}
			for _, line := range []string{
				"a=sendonly", "a=setup:passive", "a=rtpmap:109 H264/90000", "a=rtpmap:9 G722/8000", "a=end-of-candidates",
				"127.0.0.1 " + portOf(s) + " typ host",
			} {
				if !strings.Contains(answer, line) {
					t.Errorf("answer has no %q:\n%s", line, answer)
				}
			}
			pair, err := pc.SCTP().Transport().ICETransport().GetSelectedCandidatePair()
			if err != nil || pair == nil || pair.Local.Typ != webrtc.ICECandidateTypeRelay {
				t.Errorf("selected pair is %v, %v; want a relayed one", pair, err)
			}
		})
	}
}

// watched is a stream with a viewer.
func watched(t *testing.T) (stream *Stream, base string, pc *webrtc.PeerConnection, got *received) {
	t.Helper()
	s, base := newServer(t, Config{})
	stream = newStream(t, s)
	pc = newClient(t, webrtc.Configuration{}, browserCodecs...)
	got = watch(pc)
	subscribeAt(t, pc, stream.URL(base))
	return stream, base, pc, got
}

func portOf(s *Server) string {
	_, port, _ := strings.Cut(s.Addr().String(), ":")
	return port
}

func TestPictureAndVoiceShareOneClock(t *testing.T) {
	t.Parallel()
	_, _, _, got := watched(t)
	must.Wait(t, "sender reports of both", func() bool {
		return got.report(webrtc.MimeTypeH264) != nil && got.report(webrtc.MimeTypeG722) != nil
	})
	video, voice := got.of(webrtc.MimeTypeH264)[0], got.of(webrtc.MimeTypeG722)[0]
	// Slot of the first packet of each, by the wall clock that its sender report ties it to.
	at := func(report *rtcp.SenderReport, timestamp, rate uint32) time.Duration {
		seconds := float64(report.NTPTime>>32) + float64(report.NTPTime&0xffffffff)/(1<<32)
		seconds -= float64(int32(report.RTPTime-timestamp)) / float64(rate)
		return time.Duration(seconds * float64(time.Second))
	}
	pictureAt := at(got.report(webrtc.MimeTypeH264), video.Timestamp, 90000)
	voiceAt := at(got.report(webrtc.MimeTypeG722), voice.Timestamp, 8000)
	// The first frame and the first piece of voice are of the same slot, or the frame is of the next one.
	if apart := (pictureAt - voiceAt).Abs(); apart > 80*time.Millisecond {
		t.Errorf("picture and voice are %v apart, want at most 80ms", apart)
	}
}

func TestOneViewerPerStream(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{})
	stream := newStream(t, s)
	first := newClient(t, webrtc.Configuration{}, browserCodecs...)
	_, release := subscribeAt(t, first, stream.URL(base))

	second := newClient(t, webrtc.Configuration{}, browserCodecs...)
	offer := offerWHEP(t, second, webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio)
	wantStatus := func(method, url, contentType, body string, want int) {
		t.Helper()
		if resp, text := request(t, method, url, contentType, body); resp.StatusCode != want {
			t.Errorf("%s %s = %d %s, want %d", method, url, resp.StatusCode, text, want)
		}
	}
	wantStatus(http.MethodPost, stream.URL(base), sdpType, offer, http.StatusConflict)
	for range 2 { // twice is harmless
		wantStatus(http.MethodDelete, release, "", "", http.StatusOK)
	}
	wantStatus(http.MethodPost, stream.URL(base), sdpType, offer, http.StatusCreated)
}

func TestStatusCodes(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{})
	stream := newStream(t, s)
	gone := s.NewStream(quota.Client{}, "room9", newPattern)
	gone.Close()
	offer := offerWHEP(t, newClient(t, webrtc.Configuration{}, browserCodecs...), webrtc.RTPCodecTypeVideo)
	url := stream.URL(base)
	fallback := base + "/rtc/v1/whep/?app=app&stream="
	for name, tc := range map[string]struct {
		method, url, contentType, body string
		want                           int
	}{
		"wrong type":              {http.MethodPost, url, "application/json", offer, 415},
		"no type":                 {http.MethodPost, url, "", offer, 415},
		"unknown session":         {http.MethodPost, strings.Replace(url, stream.ID(), "nobody", 1), sdpType, offer, 404},
		"other room":              {http.MethodPost, strings.Replace(url, "room9", "room8", 1), sdpType, offer, 404},
		"closed session":          {http.MethodPost, gone.URL(base), sdpType, offer, 404},
		"unknown fallback":        {http.MethodPost, fallback + "nobody", sdpType, offer, 404},
		"fallback without stream": {http.MethodPost, base + "/rtc/v1/whep/", sdpType, offer, 404},
		"no description":          {http.MethodPost, url, sdpType, "", 400},
		"not a description":       {http.MethodPost, url, sdpType, "hello", 400},
		"no sections":             {http.MethodPost, url, sdpType, "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n", 400},
		"no ICE credentials":      {http.MethodPost, url, sdpType, regexp.MustCompile(`(?m)^a=ice-.*\r\n`).ReplaceAllString(offer, ""), 400},
		"no fingerprint":          {http.MethodPost, url, sdpType, regexp.MustCompile(`(?m)^a=fingerprint.*\r\n`).ReplaceAllString(offer, ""), 400},
		"an answer's end":         {http.MethodPost, url, sdpType, offer[:len(offer)/2], 400},
		"too large":               {http.MethodPost, url, sdpType, strings.Repeat("v", maxOffer+1), 413},
		"patch":                   {http.MethodPatch, url, "application/trickle-ice-sdpfrag", "", 405},
		"patch of a viewer":       {http.MethodPatch, url + "/viewer/v", "application/trickle-ice-sdpfrag", "", 405},
		"get":                     {http.MethodGet, url, "", "", 405},
		"get of the fallback":     {http.MethodGet, fallback + stream.ID(), "", "", 405},
		"delete of a session":     {http.MethodDelete, url, "", "", 405},
		"unknown viewer":          {http.MethodDelete, url + "/viewer/v", "", "", 200},
		"unknown path":            {http.MethodPost, base + "/rtc/v1/stv/room9", sdpType, offer, 404},
		"parameters of the type":  {http.MethodPost, url, "application/sdp; charset=utf-8", offer, 201},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := request(t, tc.method, tc.url, tc.contentType, tc.body)
			expect.Equal(t, resp.StatusCode, tc.want, "%s = %s %q", tc.method, resp.Status, body)
			if origin := resp.Header.Get("Access-Control-Allow-Origin"); origin != "https://page.example" {
				t.Errorf("allowed origin is %q: a page could not read the status", origin)
			}
			if resp.StatusCode == 201 {
				resp, body = request(t, http.MethodDelete, url+"/viewer/"+path.Base(resp.Header.Get("Location")), "", "")
				expect.Equal(t, resp.StatusCode, 200, "DELETE = %s %q", resp.Status, body)
			}
			if stats := stream.Stats(); stats.Connected {
				t.Error("the refused offer left a viewer")
			}
		})
	}
}

func TestLocationIsRelativeWithTheViewer(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{})
	stream := newStream(t, s)
	offer := offerWHEP(t, newClient(t, webrtc.Configuration{}, browserCodecs...), webrtc.RTPCodecTypeAudio)
	resp, _ := request(t, http.MethodPost, stream.URL(base), sdpType, offer)
	want := regexp.MustCompile("^/whep/session/" + stream.ID() + "/viewer/[A-Z2-7]{26}$")
	if location := resp.Header.Get("Location"); !want.MatchString(location) {
		t.Errorf("Location %q, want %v", location, want)
	}
	expect.Equal(t, resp.Header.Get("Access-Control-Expose-Headers"), "Location", "exposed headers")
	expect.Equal(t, resp.Header.Get("Content-Type"), "application/sdp", "content type")
}

func TestFallbackAddress(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{})
	stream := newStream(t, s)
	address := base + "/rtc/v1/whep/?app=app&stream=" + stream.ID()
	pc := newClient(t, webrtc.Configuration{}, browserCodecs...)
	offer := offerWHEP(t, pc, webrtc.RTPCodecTypeAudio)
	resp, body := request(t, http.MethodPost, address, sdpType, offer)
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("POST = %s %q", resp.Status, body)
	}
	release := must.Get(resp.Location())(t) // resolves as clients do
	for range 2 {
		if resp, body := request(t, http.MethodDelete, release.String(), "", ""); resp.StatusCode != http.StatusOK {
			t.Errorf("DELETE %s = %s %q, want 200", release, resp.Status, body)
		}
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{})
	stream := newStream(t, s)
	for _, url := range []string{stream.URL(base), stream.URL(base) + "/viewer/v", base + "/rtc/v1/whep/?app=app&stream=x"} {
		resp, _ := request(t, http.MethodOptions, url, "", "")
		got := map[string]string{}
		for _, name := range []string{"Allow-Origin", "Allow-Methods", "Allow-Headers", "Max-Age"} {
			got[name] = resp.Header.Get("Access-Control-" + name)
		}
		if resp.StatusCode != http.StatusNoContent || got["Allow-Origin"] != "https://page.example" ||
			got["Allow-Methods"] != "POST, DELETE, OPTIONS" || got["Allow-Headers"] != "Content-Type" || got["Max-Age"] != "600" {
			t.Errorf("OPTIONS %s = %s %v", url, resp.Status, got)
		}
	}
}

func TestViewerThatNeverConnectsIsFreed(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{ConnectTimeout: 500 * time.Millisecond})
	stream := newStream(t, s)
	offer := offerWHEP(t, newClient(t, webrtc.Configuration{}, browserCodecs...), webrtc.RTPCodecTypeAudio)
	post := func() int {
		resp, _ := request(t, http.MethodPost, stream.URL(base), sdpType, offer)
		return resp.StatusCode
	}
	if got := post(); got != http.StatusCreated {
		t.Fatalf("POST = %d", got)
	}
	must.Wait(t, "the place is free", func() bool { return post() == http.StatusCreated })
}

func TestSlowOfferIsRefused(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{ConnectTimeout: 50 * time.Millisecond})
	path := newStream(t, s).URL("")
	c := must.Get(net.Dial("tcp", strings.TrimPrefix(base, "http://")))(t)
	defer c.Close()
	must.Get(fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\nv=0", path, sdpType))(t)
	reply, err := io.ReadAll(c) // up to the end of the connection
	if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 408") {
		t.Errorf("%s, %v", reply, err)
	}
}

func TestViewerThatLeavesIsFreed(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{})
	stream := newStream(t, s)
	if stream.Unwatched() <= 0 {
		t.Error("a new stream counts as watched")
	}
	pc := newClient(t, webrtc.Configuration{}, browserCodecs...)
	subscribeAt(t, pc, stream.URL(base))
	waitConnected(t, pc)
	must.Wait(t, "connected", func() bool { return stream.Stats().Connected })
	expect.Equal(t, stream.Unwatched(), 0, "unwatched for with a viewer")
	must.Do(t, pc.Close())
	must.Wait(t, "freed", func() bool { return !stream.Stats().Connected })
	if stream.Unwatched() <= 0 {
		t.Error("a stream counts as watched whose viewer left")
	}
}

// TestUnwatchedSinceTheViewerWasLost: a viewer whose network is gone counts as lost before its
// place is free, and not any more when it comes back.
func TestUnwatchedSinceTheViewerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareStream(t)
		s.server.log = slog.New(slog.DiscardHandler)
		time.Sleep(time.Second)
		expect.Equal(t, s.Unwatched(), time.Second, "without a viewer")
		v := connectBare(t, s, &loudPicture{})
		v.stateChanged(webrtc.PeerConnectionStateConnected)
		time.Sleep(time.Second)
		expect.Equal(t, s.Unwatched(), 0, "with a viewer")
		v.stateChanged(webrtc.PeerConnectionStateDisconnected)
		time.Sleep(time.Second)
		expect.Equal(t, s.Unwatched(), time.Second, "without its network")
		v.stateChanged(webrtc.PeerConnectionStateConnected)
		expect.Equal(t, s.Unwatched(), 0, "with its network back")
		v.stateChanged(webrtc.PeerConnectionStateDisconnected)
		time.Sleep(time.Second)
		v.stateChanged(webrtc.PeerConnectionStateFailed)
		time.Sleep(time.Second)
		expect.Equal(t, s.Unwatched(), 2*time.Second, "lost for 2 s")
	})
}

func TestClosedStreamIsUnknownAndLeavesItsViewer(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{})
	stream := newStream(t, s)
	pc := newClient(t, webrtc.Configuration{}, browserCodecs...)
	left := make(chan struct{})
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateClosed || state == webrtc.PeerConnectionStateFailed {
			close(left)
		}
	})
	_, release := subscribeAt(t, pc, stream.URL(base))
	waitConnected(t, pc)
	must.Wait(t, "connected", func() bool { return stream.Stats().Connected })
	stream.Close()
	select {
	case <-left:
	case <-time.After(patience):
		t.Error("the viewer was not told")
	}
	if resp, _ := request(t, http.MethodDelete, release, "", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("DELETE after the stream's end = %s, want 200", resp.Status)
	}
}

func TestPeersAreBounded(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{Peers: quota.Limit{Total: 1}})
	subscribeAt(t, newClient(t, webrtc.Configuration{}, browserCodecs...), newStream(t, s).URL(base))
	offer := offerWHEP(t, newClient(t, webrtc.Configuration{}, browserCodecs...), webrtc.RTPCodecTypeAudio)
	resp, body := request(t, http.MethodPost, newStream(t, s).URL(base), sdpType, offer)
	expect.Equal(t, resp.StatusCode, http.StatusServiceUnavailable, "POST over the bound = %s %q", resp.Status, body)
}

func TestKeyFrameOnDemand(t *testing.T) {
	t.Parallel()
	stream, _, pc, got := watched(t)
	keyFrames := func() (n int) {
		for _, unit := range accessUnits(t, got.of(webrtc.MimeTypeH264)) {
			if len(unit) > keySize {
				n++
			}
		}
		return n
	}
	must.Wait(t, "the first frames", func() bool { return len(accessUnits(t, got.of(webrtc.MimeTypeH264))) >= 5 })
	if n := keyFrames(); n != 1 {
		t.Fatalf("%d key frames at the start, want 1", n)
	}
	ssrc := got.of(webrtc.MimeTypeH264)[0].SSRC
	must.Do(t, pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: ssrc}}))
	must.Wait(t, "a second key frame", func() bool { return keyFrames() == 2 })
	expect.Equal(t, stream.Stats().KeyFramesDemanded, 1, "key frames demanded")
}

func TestStopVideoLeavesTheVoice(t *testing.T) {
	t.Parallel()
	stream, _, _, got := watched(t)
	must.Wait(t, "video", func() bool { return len(got.of(webrtc.MimeTypeH264)) > 0 })
	stream.StopVideo(true)
	before := stream.Stats()
	must.Wait(t, "ten more pieces of voice", func() bool { return stream.Stats().AudioPackets >= before.AudioPackets+10 })
	if after := stream.Stats(); after.VideoBytes != before.VideoBytes || after.FramesDue != before.FramesDue {
		t.Errorf("%d video bytes were sent while stopped", after.VideoBytes-before.VideoBytes)
	}
	stream.StopVideo(false)
	must.Wait(t, "video again", func() bool { return stream.Stats().VideoBytes >= before.VideoBytes+keySize })
}

func TestKillSaysNoGoodbye(t *testing.T) {
	t.Parallel()
	stream, base, pc, got := watched(t)
	must.Wait(t, "video", func() bool { return len(got.of(webrtc.MimeTypeH264)) > 0 })
	stream.Kill()
	if stream.Stats().Connected {
		t.Error("the killed viewer still has its place")
	}
	time.Sleep(200 * time.Millisecond) // a goodbye would be there by now
	expect.Equal(t, pc.ConnectionState(), webrtc.PeerConnectionStateConnected, "client is")
	again := newClient(t, webrtc.Configuration{}, browserCodecs...)
	subscribeAt(t, again, stream.URL(base))
	must.Wait(t, "connected again", func() bool { return stream.Stats().Viewers == 2 })
}
