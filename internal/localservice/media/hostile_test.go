package media

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
)

// processorTime returns how much of the processor the process has used.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// hostileOffers are offers of up to 62 KB that are made to cost much.
func hostileOffers() map[string]string {
	const size = 62_000
	fill := func(head, line, end string) string {
		return head + strings.Repeat(line, max(0, (size-len(head)-len(end))/len(line))) + end
	}
	head := sdpHead + "a=fingerprint:sha-256 " + strings.Repeat("AB:", 31) + "AB\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\n"
	half := strings.Repeat(" 96", size/2/3)
	var different []string
	for i := range 128 {
		different = append(different, fmt.Sprint(i))
	}
	video := "m=video 9 UDP/TLS/RTP/SAVPF"
	rest := "\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendrecv\r\na=setup:actpass\r\n"
	return map[string]string{
		"a format again and again, with as many attributes": fill(head+video+half+rest, "a=rtpmap:96 VP8/90000\r\n", ""),
		"short attributes":          fill(head+video+half+rest, "a=rtpmap:96 V/9\r\n", ""),
		"all formats":               fill(head+video+" "+strings.Join(different, " ")+rest, "a=rtcp-fb:96 nack\r\n", ""),
		"all formats in 8 sections": fill(head+strings.Repeat(video+" "+strings.Join(different, " ")+rest, 8), "a=fmtp:96 x\r\n", ""),
		"parameters":                fill(head+video+" 96"+rest+"a=rtpmap:96 H264/90000\r\na=fmtp:96 ", "a=1;", "\r\n"),
		"extensions":                fill(head+video+" 96"+rest+"a=rtpmap:96 VP8/90000\r\n", "a=extmap:1 urn:x\r\n", ""),
		"streams":                   fill(head+video+" 96"+rest+"a=rtpmap:96 VP8/90000\r\n", "a=ssrc:1 msid:a b\r\n", ""),
		"simulcast":                 fill(head+video+" 96"+rest+"a=rtpmap:96 VP8/90000\r\n", "a=rid:1 send\r\n", ""),
		"candidates":                fill(head+video+" 96"+rest+"a=rtpmap:96 VP8/90000\r\n", "a=candidate:1 1 udp 1 1.1.1.1 9 typ host\r\n", ""),
		"groups":                    fill(head, "a=group:BUNDLE 0 0 0 0 0 0 0 0\r\n", video+" 96"+rest+"a=rtpmap:96 VP8/90000\r\n"),
		"one line":                  fill(head+"a=", "x", "\r\n"+video+" 96"+rest+"a=rtpmap:96 VP8/90000\r\n"),
		"time zones":                fill(head, "t=0 0\r\nr=1 1 1 1 1\r\n", video+" 96"+rest+"a=rtpmap:96 VP8/90000\r\n"),
		"tiny sections":             fill(head, "m=video 9 A 9\r\n", ""),
	}
}

// TestHostileOffersCostLittle: an offer is refused or answered for little processor time, whatever is in it.
func TestHostileOffersCostLittle(t *testing.T) {
	s, base := newServer(t, Config{})
	honest := offerWHEP(t, newClient(t, webrtc.Configuration{}, browserCodecs...), webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio)
	post := func(offer string) (int, time.Duration) {
		stream := s.NewStream(quota.Client{}, "room", newPattern)
		defer stream.Close()
		before := processorTime(t)
		resp, _ := request(t, http.MethodPost, stream.URL(base), sdpType, offer)
		return resp.StatusCode, processorTime(t) - before
	}
	bound := 50 * time.Millisecond
	for range 5 {
		status, took := post(honest)
		if status != http.StatusCreated {
			t.Fatalf("an honest offer: status %d", status)
		}
		bound = max(bound, 10*took) // with the race detector
	}
	for name, offer := range hostileOffers() {
		for _, offer := range []string{offer, offer[:min(len(offer), maxOffer)]} {
			status, took := post(offer)
			t.Logf("%s (%d bytes): status %d, %v", name, len(offer), status, took)
			if took > bound {
				t.Errorf("%s: an offer of %d bytes took %v of the processor, want at most %v", name, len(offer), took, bound)
			}
		}
	}
}

// TestOfferOfAClientThatLeft: it is not answered, and leaves no peer.
func TestOfferOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	stream := newStream(t, s)
	offer := offerWHEP(t, newClient(t, webrtc.Configuration{}, browserCodecs...), webrtc.RTPCodecTypeVideo)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, stream.URL(""), strings.NewReader(offer))
	r.Header.Set("Content-Type", sdpType)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code == http.StatusCreated {
		t.Error("the offer was answered")
	}
	must.Wait(t, "the peer is gone", func() bool { return s.peers.Total() == 0 })
	if v := newViewer(stream); !reserved(stream, v) {
		t.Error("the place is taken")
	}
}

func reserved(s *Stream, v *viewer) bool {
	_, ok := s.reserve(v)
	return ok
}

// TestMicrophonesLeaveRoomForViewers: those of one token, of one address, and all together.
func TestMicrophonesLeaveRoomForViewers(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{Peers: quota.Limit{Token: 1, Address: 2, Total: 10}})
	offer := newSpeaker(t, webrtc.Configuration{}).offer(t, nil)
	open := func(token, addr string) error {
		m := s.NewMicrophone(quota.Client{Token: token, Addr: netip.MustParseAddr(addr)}, func([]int16) {})
		t.Cleanup(m.Close)
		_, _, err := m.Offer(offer, false)
		return err
	}
	for i, tc := range []struct {
		token, addr string
		want        error
	}{
		{"a", "192.0.2.1", nil},
		{"a", "192.0.2.1", errBusy}, // the token's limit
		{"b", "192.0.2.1", nil},
		{"c", "192.0.2.1", errBusy}, // the address's
		{"d", "192.0.2.2", nil},
		{"e", "192.0.2.2", nil},
		{"f", "192.0.2.3", nil},
		{"g", "192.0.2.4", errBusy}, // half of the total
	} {
		expect.Error(t, open(tc.token, tc.addr), tc.want, "number %d", i)
	}
	for range 5 {
		subscribeAt(t, newClient(t, webrtc.Configuration{}, browserCodecs...), newStream(t, s).URL(base))
	}
}

// TestMicrophoneThatNeverConnectsIsFreed, and may then be offered again.
func TestMicrophoneThatNeverConnectsIsFreed(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{ConnectTimeout: 50 * time.Millisecond})
	m := s.NewMicrophone(quota.Client{}, func([]int16) {})
	defer m.Close()
	if _, _, err := m.Offer(newSpeaker(t, webrtc.Configuration{}).offer(t, nil), false); err != nil {
		t.Fatal(err)
	}
	must.Wait(t, "the peer is gone", func() bool { return s.peers.Total() == 0 && s.talking.Total() == 0 })
	client := newSpeaker(t, webrtc.Configuration{})
	if _, _, err := m.Offer(client.offer(t, nil), true); err != nil {
		t.Errorf("another offer: %v", err)
	}
}

// TestOffersAreCounted: those of a token within a minute, answered or not.
func TestOffersAreCounted(t *testing.T) {
	t.Parallel()
	s, base := newServer(t, Config{Offers: quota.Limit{Token: 3}})
	by := quota.Client{Token: "a"}
	stream := s.NewStream(by, "room9", newPattern)
	defer stream.Close()
	for i, want := range []int{400, 400, 400, 503} {
		resp, _ := request(t, http.MethodPost, stream.URL(base), sdpType, "v=0")
		if resp.StatusCode != want || (resp.Header.Get("Retry-After") != "") != (want == 503) {
			t.Errorf("offer %d: status %d, want %d", i, resp.StatusCode, want)
		}
	}
	m := s.NewMicrophone(by, func([]int16) {})
	defer m.Close()
	if _, _, err := m.Offer("v=0", false); !errors.Is(err, errBusy) {
		t.Errorf("offer of a microphone: %v", err)
	}
}

// TestRenegotiationsDoNotGrowAPeer: each may add sections, up to a bound.
func TestRenegotiationsDoNotGrowAPeer(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	m := s.NewMicrophone(quota.Client{}, func([]int16) {})
	defer m.Close()
	offer := newSpeaker(t, webrtc.Configuration{}).offer(t, nil)
	var err error
	restarts := 0
	for ; err == nil && restarts < 100; restarts++ {
		name := fmt.Sprint("x", restarts)
		_, _, err = m.Offer(strings.NewReplacer("a=mid:0", "a=mid:"+name, "BUNDLE 0", "BUNDLE "+name).Replace(offer), true)
	}
	if err == nil {
		t.Error("100 offers with a section of its own were all accepted")
	}
	must.Wait(t, "the peer is gone", func() bool { return s.peers.Total() == 0 })
}

// TestSourcesOfAClientAreBounded: a client whose packets are from ever more sources is disconnected, before they fill the memory.
func TestSourcesOfAClientAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	m := s.NewMicrophone(quota.Client{}, func([]int16) {})
	defer m.Close()
	client := newSpeaker(t, webrtc.Configuration{})
	client.connect(t, m, false)
	must.Wait(t, "connected", func() bool { return m.Stats().Connected })
	waitConnected(t, client.pc)
	for source := uint32(1); s.peers.Total() > 0 && source < 100_000; source++ {
		if err := client.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{SenderSSRC: source, MediaSSRC: source}}); err != nil {
			break
		}
		if source > 10*maxSources {
			time.Sleep(time.Millisecond) // the service closes the peer in its own time
		}
	}
	must.Wait(t, "the peer is gone", func() bool { return s.peers.Total() == 0 })
}

// TestResentPacketsAreBounded: a viewer that asks for everything again and again.
func TestResentPacketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &nackLimiter{left: resendBurst, filled: time.Now()}
		resent := func() (count int) {
			request := &rtcp.TransportLayerNack{}
			for range 300 {
				request.Nacks = append(request.Nacks, rtcp.NackPair{PacketID: 1, LostPackets: 0xffff})
			}
			n.shorten(request)
			for _, pair := range request.Nacks {
				count += len(pair.PacketList())
			}
			return count
		}
		if got := resent(); got > resendBurst || got < resendBurst-17 {
			t.Errorf("%d packets at once, want %d", got, resendBurst)
		}
		total := 0
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			total += resent()
		}
		if total > 10*resendRate {
			t.Errorf("%d packets in 10 s, want at most %d", total, 10*resendRate)
		}
		time.Sleep(time.Second)
		request := &rtcp.TransportLayerNack{Nacks: []rtcp.NackPair{{PacketID: 1, LostPackets: 0xf}}}
		if n.shorten(request); len(request.Nacks) != 1 {
			t.Error("an honest request is not granted")
		}
	})
}

// TestKeyFramesOnDemandAreBounded: one at most in 300 ms, and none is forgotten.
func TestKeyFramesOnDemandAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareStream(t)
		picture := &loudPicture{}
		v := connectBare(t, s, picture)
		for range 100 {
			s.do(func() { v.pictures.wantKey = true })
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		keys, last := 0, 0
		for i, key := range picture.keys {
			if key {
				keys, last = keys+1, i
			}
		}
		if keys < 5 || keys > 8 || last < 50 {
			t.Errorf("%d key frames in 2 s, the last is frame %d", keys, last)
		}
	})
}
