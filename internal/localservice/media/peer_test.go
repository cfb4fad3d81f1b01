package media

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/relay"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/interceptor"
	"github.com/pion/logging"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience bounds waits for things that do happen.
const patience = time.Minute

// pattern is a picture whose frames tell their number, size and kind, but can't be decoded.
type pattern struct {
	mimeType string
	frames   uint32
}

// Sizes of the pattern's frames: a key frame needs several packets.
const (
	keySize   = 5000
	deltaSize = 300
)

func (p *pattern) Next(_ float64, keyFrame bool) []byte {
	p.frames++
	if p.mimeType == webrtc.MimeTypeVP8 {
		return patternBody(0x10, deltaSize, p.frames)
	}
	if !keyFrame {
		return append([]byte{0, 0, 0, 1}, patternBody(0x41, deltaSize, p.frames)...)
	}
	unit := []byte("\x00\x00\x00\x01\x67\x42\xe0\x1f\x99\x00\x00\x00\x01\x68\xce\x99\x00\x00\x00\x01")
	return append(unit, patternBody(0x65, keySize, p.frames)...)
}

// patternBody is header, the number, and filling that has no start code in it.
func patternBody(header byte, size int, number uint32) []byte {
	body := bytes.Repeat([]byte{0xAB}, size)
	body[0] = header
	binary.BigEndian.PutUint32(body[1:], number|0x80808080)
	return body
}

func newPattern(mimeType string) Picture { return &pattern{mimeType: mimeType} }

// newServer starts a server of patterns and its HTTP side, and returns the latter's base address.
func newServer(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	s := must.Get(New(cfg))(t)
	t.Cleanup(s.Close)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	return s, web.URL
}

func newStream(t testing.TB, s *Server) *Stream {
	t.Helper()
	stream := s.NewStream(quota.Client{}, "room9", newPattern)
	t.Cleanup(stream.Close)
	return stream
}

// relayOnly is a client's configuration that reaches s only through a relay.
func relayOnly(t testing.TB, s *Server, transport string) webrtc.Configuration {
	t.Helper()
	r := must.Get(relay.New(relay.Config{Peers: []netip.AddrPort{s.Addr()}}))(t)
	t.Cleanup(func() { _ = r.Close() })
	cred := must.Get(r.Credentials("tester", time.Minute))(t)
	urls := []string{"turn:" + r.Addrs()[0].String() + "?transport=" + transport}
	return webrtc.Configuration{
		ICETransportPolicy: webrtc.ICETransportPolicyRelay,
		ICEServers:         []webrtc.ICEServer{{URLs: urls, Username: cred.Username, Credential: cred.Credential}},
	}
}

// Codecs that a client may offer, with payload types as browsers choose them.
var (
	offeredH264 = webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{
			MimeType: webrtc.MimeTypeH264, ClockRate: 90000,
			SDPFmtpLine:  "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
			RTCPFeedback: []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}},
		}, PayloadType: 109,
	}
	offeredVP8 = webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}, PayloadType: 96,
	}
	offeredVP9 = webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP9, ClockRate: 90000, SDPFmtpLine: "profile-id=0"},
		PayloadType:        98,
	}
	offeredOpus = webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{
			MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1",
		}, PayloadType: 111,
	}
	offeredG722 = webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeG722, ClockRate: 8000}, PayloadType: 9,
	}
	offeredPCMU = webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypePCMU, ClockRate: 8000}, PayloadType: 0,
	}
	browserCodecs = []webrtc.RTPCodecParameters{offeredVP8, offeredVP9, offeredH264, offeredOpus, offeredG722, offeredPCMU}
)

// newClient is a peer as a browser would make it, with the codecs it offers.
func newClient(t testing.TB, cfg webrtc.Configuration, offered ...webrtc.RTPCodecParameters) *webrtc.PeerConnection {
	t.Helper()
	engine := &webrtc.MediaEngine{}
	for _, c := range offered {
		kind := webrtc.RTPCodecTypeAudio
		if strings.HasPrefix(c.MimeType, "video/") {
			kind = webrtc.RTPCodecTypeVideo
		}
		must.Do(t, engine.RegisterCodec(c, kind))
	}
	var settings webrtc.SettingEngine
	settings.LoggerFactory = &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetRelayAcceptanceMinWait(0) // by default a relayed pair is used only after two seconds without a better one
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	api := webrtc.NewAPI(
		webrtc.WithMediaEngine(engine), webrtc.WithSettingEngine(settings),
		webrtc.WithInterceptorRegistry(&interceptor.Registry{}),
	)
	pc := must.Get(api.NewPeerConnection(cfg))(t)
	t.Cleanup(func() { _ = pc.GracefulClose() })
	return pc
}

// received is what a client got, by codec.
type received struct {
	mu      sync.Mutex
	packets map[string][]*rtp.Packet
	reports map[string]*rtcp.SenderReport
}

// watch collects what arrives at pc.
func watch(pc *webrtc.PeerConnection) *received {
	r := &received{packets: map[string][]*rtp.Packet{}, reports: map[string]*rtcp.SenderReport{}}
	pc.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		mime := track.Codec().MimeType
		go func() {
			for {
				packets, _, err := receiver.ReadRTCP()
				if err != nil {
					return
				}
				for _, p := range packets {
					if report, ok := p.(*rtcp.SenderReport); ok {
						r.mu.Lock()
						r.reports[mime] = report
						r.mu.Unlock()
					}
				}
			}
		}()
		for {
			p, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.packets[mime] = append(r.packets[mime], p)
			r.mu.Unlock()
		}
	})
	return r
}

// of returns the packets of a codec so far.
func (r *received) of(mime string) []*rtp.Packet {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.packets[mime])
}

func (r *received) report(mime string) *rtcp.SenderReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reports[mime]
}

// accessUnits puts H264 packets together again, each unit as Annex B.
func accessUnits(t testing.TB, packets []*rtp.Packet) [][]byte {
	t.Helper()
	var units [][]byte
	var unit []byte
	var depacketizer codecs.H264Packet
	for i, p := range packets {
		if i > 0 && p.SequenceNumber != packets[i-1].SequenceNumber+1 {
			t.Fatalf("packet %d follows %d", p.SequenceNumber, packets[i-1].SequenceNumber)
		}
		nal := must.Get(depacketizer.Unmarshal(p.Payload))(t)
		unit = append(unit, nal...)
		if p.Marker {
			units = append(units, unit)
			unit = nil
		}
	}
	return units
}

// offerWHEP adds a recvonly section for each kind and returns the offer without candidates, as browsers send it.
func offerWHEP(t testing.TB, pc *webrtc.PeerConnection, kinds ...webrtc.RTPCodecType) string {
	t.Helper()
	for _, kind := range kinds {
		must.Get(pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}))(t)
	}
	offer := must.Get(pc.CreateOffer(nil))(t)
	must.Do(t, pc.SetLocalDescription(offer))
	return offer.SDP
}

// request sends an HTTP request and returns the response with its body read.
func request(t testing.TB, method, url, contentType, body string) (*http.Response, string) {
	t.Helper()
	r := must.Get(http.NewRequest(method, url, strings.NewReader(body)))(t)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Header.Set("Origin", "https://page.example")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no idle connection is left when leaktest looks
	resp := must.Get(client.Do(r))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))(t)
	return resp, string(text)
}

// subscribeAt posts the offer of pc to url, applies the answer and returns it with the address that releases the viewer.
func subscribeAt(t testing.TB, pc *webrtc.PeerConnection, url string) (answer, release string) {
	t.Helper()
	offer := offerWHEP(t, pc, webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio)
	resp, body := request(t, http.MethodPost, url, "application/sdp", offer)
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("POST %s = %s: %s", url, resp.Status, body)
	}
	must.Do(t, pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: body}))
	location := resp.Header.Get("Location")
	_, viewer, ok := strings.Cut(location, "/viewer/")
	if !ok {
		return body, url + location
	}
	return body, url + "/viewer/" + viewer
}

// waitConnected waits until the client itself is connected, which may be a moment after the server is: before that it sends neither
// media nor a goodbye.
func waitConnected(t testing.TB, pc *webrtc.PeerConnection) {
	t.Helper()
	must.Wait(t, "the client is connected", func() bool { return pc.ConnectionState() == webrtc.PeerConnectionStateConnected })
}
