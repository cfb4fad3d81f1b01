package media

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/webrtc/v4"
)

// accept answers offer as a browser does and returns the answer.
func accept(t testing.TB, pc *webrtc.PeerConnection, offer string) string {
	t.Helper()
	must.Do(t, pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}))
	answer := must.Get(pc.CreateAnswer(nil))(t)
	must.Do(t, pc.SetLocalDescription(answer))
	return answer.SDP
}

func TestOfferedVoiceArrivesThroughTheRelay(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{})
	v := s.NewVoice(quota.Client{})
	defer v.Close()
	for range 2 { // the second offer replaces the first peer
		offer := must.Get(v.Offer())(t)
		if !strings.Contains(offer, "127.0.0.1 "+portOf(s)+" typ host") || strings.Contains(offer, "m=video") {
			t.Errorf("offer is not of a voice with its candidate:\n%s", offer)
		}
		pc := newClient(t, relayOnly(t, s, "udp"), offeredOpus, offeredG722, offeredPCMU)
		got := watch(pc)
		must.Do(t, v.Answer(accept(t, pc, offer)))
		must.Wait(t, "connected", func() bool { return v.Stats().Connected })
		v.Play(0, ramp(voiceRate/10), voiceRate)
		must.Wait(t, "voice", func() bool { return len(got.of(webrtc.MimeTypeG722)) >= 10 })
	}
	if stats := v.Stats(); stats.Viewers != 2 || stats.FramesDue != 0 {
		t.Errorf("%+v, want two listeners and no pictures", stats)
	}
}

func TestOfferedVoiceRefuses(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{ConnectTimeout: 500 * time.Millisecond})
	v := s.NewVoice(quota.Client{})
	expect.Error(t, v.Answer("v=0"), errNotOffered, "answer before the offer")
	offer := must.Get(v.Offer())(t)
	good := accept(t, newClient(t, webrtc.Configuration{}, offeredG722), offer)
	for name, sdp := range map[string]string{
		"nothing": "", "no description": "hello", "no credentials": strings.ReplaceAll(good, "a=ice-", "a=ixe-"),
	} {
		if err := v.Answer(sdp); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	must.Wait(t, "the unanswered peer is gone", func() bool {
		return s.peers.Total() == 0
	})
	v.Close()
	expect.Fail(v.Offer())(t, errGone, "offer of a closed voice")
}

func TestOfferedVoicesAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, Config{Peers: quota.Limit{Total: 1}})
	first, second := s.NewVoice(quota.Client{}), s.NewVoice(quota.Client{})
	defer first.Close()
	defer second.Close()
	offer := must.Get(first.Offer())(t)
	expect.Fail(second.Offer())(t, errBusy, "offer over the bound of peers")
	answer := accept(t, newClient(t, webrtc.Configuration{}, offeredG722), offer)
	expect.Error(t, second.Answer(answer), errNotOffered, "answer to an offer that failed")
}

// Whatever a client answers, the server stays up and forgets the peer.
func FuzzVoiceAnswer(f *testing.F) {
	s := must.Get(New(Config{}))(f)
	f.Cleanup(s.Close)
	v := s.NewVoice(quota.Client{})
	offer, err := v.Offer()
	v.Close()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(offer)
	f.Add(strings.ReplaceAll(offer, "a=setup:actpass", "a=setup:active"))
	f.Add(strings.ReplaceAll(offer, "m=audio 9", "m=audio 0"))
	f.Add("v=0")
	f.Fuzz(func(t *testing.T, answer string) {
		v := s.NewVoice(quota.Client{})
		must.Get(v.Offer())(t)
		_ = v.Answer(answer)
		_ = v.Answer(answer)
		v.Close()
		must.Wait(t, "the peers are gone", func() bool {
			return s.peers.Total() == 0
		})
	})
}
