//go:build !js

package media

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/stats"
	"github.com/pion/logging"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/runtime/control"
)

// receiveBuffer holds any RTP packet.
const receiveBuffer = 1500

// peer is pion's PeerConnection.
type peer struct {
	plane  *Plane
	pc     *webrtc.PeerConnection
	sender *webrtc.RTPSender // of the microphone
	sent   stats.Getter      // what pion's own statistics leave out
}

func newPeer(p *Plane, o peerOptions, on func(Event)) (*peer, error) {
	peer := &peer{plane: p}
	api, err := peer.newAPI(p.cfg.AllowPrivateHosts, func(picture Picture) {
		on(Event{Kind: VideoSize, Picture: picture, painted: true})
	})
	if err != nil {
		return nil, err
	}
	config := webrtc.Configuration{BundlePolicy: webrtc.BundlePolicyMaxBundle}
	if o.policy == policyRelay {
		config.ICETransportPolicy = webrtc.ICETransportPolicyRelay
	}
	for _, s := range p.servers {
		config.ICEServers = append(config.ICEServers, webrtc.ICEServer{URLs: s.URLs, Username: s.Username, Credential: s.Credential})
	}
	if peer.pc, err = api.NewPeerConnection(config); err != nil {
		return nil, err
	}
	peer.listen(on)
	for _, kind := range o.receive {
		if err == nil {
			err = peer.receive(webrtc.NewRTPCodecType(kind), o.codec)
		}
	}
	if err == nil && o.mic != nil {
		err = peer.send(o.mic)
	}
	if err != nil {
		peer.close()
		return nil, err
	}
	return peer, nil
}

// newAPI configures pion. seen is told of the first key frame.
func (p *peer) newAPI(local bool, seen func(Picture)) (*webrtc.API, error) {
	// What pion logs about single packets is nobody's business here, and it
	// would go to standard error.
	quiet := &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled}
	settings := webrtc.SettingEngine{LoggerFactory: quiet}
	// The service's candidates have addresses, and no multicast socket is opened
	// to resolve names.
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetIncludeLoopbackCandidate(local)
	// pion waits 2 s for something better before it takes a relayed pair. With
	// the policy relay nothing better comes, and the picture would be 2 s late.
	settings.SetRelayAcceptanceMinWait(0)
	engine := &webrtc.MediaEngine{}
	if err := engine.RegisterDefaultCodecs(); err != nil {
		return nil, err
	}
	registry := &interceptor.Registry{}
	if err := webrtc.RegisterDefaultInterceptorsWithOptions(engine, registry, webrtc.WithInterceptorLoggerFactory(quiet)); err != nil {
		return nil, err
	}
	recorder, err := stats.NewInterceptor(stats.WithLoggerFactory(quiet))
	if err != nil {
		return nil, err
	}
	recorder.OnNewPeerConnection(func(_ string, sent stats.Getter) { p.sent = sent })
	registry.Add(recorder)
	registry.Add(sightFactory{seen})
	return webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings)), nil
}

func (p *peer) listen(on func(Event)) {
	found := false
	p.pc.OnICEConnectionStateChange(func(s webrtc.ICEConnectionState) { on(Event{Kind: ICEState, State: s.String()}) })
	p.pc.OnConnectionStateChange(func(s webrtc.PeerConnectionState) { on(Event{Kind: PeerState, State: s.String()}) })
	p.pc.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c == nil {
			if !found {
				on(Event{Kind: NoCandidates})
			}
			return
		}
		found = true
		init := c.ToJSON()
		on(Event{Kind: Candidate, Candidate: &control.Candidate{
			Candidate: init.Candidate, SDPMid: init.SDPMid, SDPMLineIndex: init.SDPMLineIndex, UsernameFragment: init.UsernameFragment,
		}})
	})
	p.pc.OnTrack(func(t *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		on(Event{Kind: TrackAdded, Track: Track{Kind: t.Kind().String(), ID: t.ID(), Native: t}})
		if t.Kind() == webrtc.RTPCodecTypeVideo {
			// The server's first key frame may have been lost; without one there
			// is no picture.
			_ = p.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(t.SSRC())}})
		}
		if handle := p.plane.cfg.OnTrack; handle != nil {
			handle(t)
		}
		for buffer := make([]byte, receiveBuffer); ; {
			if _, _, err := t.Read(buffer); err != nil {
				return
			}
		}
	})
}

func (p *peer) receive(kind webrtc.RTPCodecType, codec string) error {
	transceiver, err := p.pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
	if err != nil || kind != webrtc.RTPCodecTypeVideo || codec == "" {
		return err
	}
	var chosen []webrtc.RTPCodecParameters
	for _, c := range transceiver.Receiver().GetParameters().Codecs {
		if strings.EqualFold(c.MimeType, "video/"+codec) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		p.plane.cfg.Log("warn", "the preferred video codec can't be used", map[string]any{"codec": codec})
		return nil
	}
	return transceiver.SetCodecPreferences(chosen)
}

// send adds the microphone's track. Its reports are read so that the other
// side's view of it is known, and lost packets are sent again.
func (p *peer) send(m *Microphone) error {
	transceiver, err := p.pc.AddTransceiverFromTrack(m.track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendrecv})
	if err != nil {
		return err
	}
	p.sender = transceiver.Sender()
	p.plane.spawn(func() {
		for buffer := make([]byte, receiveBuffer); ; {
			if _, _, err := p.sender.Read(buffer); err != nil {
				return
			}
		}
	})
	return nil
}

func (p *peer) offer(_ context.Context, restart bool) error {
	return p.describe(func() (webrtc.SessionDescription, error) {
		return p.pc.CreateOffer(&webrtc.OfferOptions{ICERestart: restart})
	})
}

func (p *peer) describe(create func() (webrtc.SessionDescription, error)) error {
	description, err := create()
	if err != nil {
		return err
	}
	return p.pc.SetLocalDescription(description)
}

func (p *peer) answer(_ context.Context, sdp string) error {
	return p.setRemote(webrtc.SDPTypeAnswer, sdp)
}

func (p *peer) accept(_ context.Context, sdp string) error {
	if err := p.setRemote(webrtc.SDPTypeOffer, sdp); err != nil {
		return err
	}
	return p.describe(func() (webrtc.SessionDescription, error) { return p.pc.CreateAnswer(nil) })
}

// setRemote applies what the other side wrote. pion is known to panic on some of
// what a stranger can write.
func (p *peer) setRemote(kind webrtc.SDPType, sdp string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("apply the session description: %v", r)
		}
	}()
	return p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: kind, SDP: sdp})
}

// localSDP has the candidates found so far in it.
func (p *peer) localSDP() string {
	if d := p.pc.LocalDescription(); d != nil {
		return d.SDP
	}
	return ""
}

func (p *peer) addCandidate(c control.Candidate) error {
	return p.pc.AddICECandidate(webrtc.ICECandidateInit{
		Candidate: c.Candidate, SDPMid: c.SDPMid, SDPMLineIndex: c.SDPMLineIndex, UsernameFragment: c.UsernameFragment,
	})
}

// stats returns the rows of the report as JSON.
func (p *peer) stats(context.Context) ([]byte, error) {
	report := p.pc.GetStats()
	rows := make([]any, 0, len(report)+2)
	for _, r := range report {
		rows = append(rows, r)
	}
	if p.sender != nil {
		rows = append(rows, p.outbound()...)
	}
	return json.Marshal(rows)
}

// outbound are the rows of the microphone.
func (p *peer) outbound() []any {
	encodings := p.sender.GetParameters().Encodings
	if len(encodings) == 0 {
		return nil
	}
	s := p.sent.Get(uint32(encodings[0].SSRC))
	if s == nil {
		return nil // nothing was sent yet
	}
	out, remote := s.OutboundRTPStreamStats, s.RemoteInboundRTPStreamStats
	return []any{
		row{"type": "outbound-rtp", "kind": "audio", "bytesSent": out.BytesSent, "packetsSent": out.PacketsSent},
		row{
			"type": "remote-inbound-rtp", "kind": "audio", "packetsLost": remote.PacketsLost,
			"jitter": remote.Jitter, "roundTripTime": remote.RoundTripTime.Seconds(),
		},
	}
}

// setBandwidth does nothing: the samples of a source have the rate they have.
func (p *peer) setBandwidth(context.Context, int) error { return nil }

// close ends the peer in the background, because its own goroutines may be the
// caller.
func (p *peer) close() {
	p.plane.spawn(func() { _ = p.pc.GracefulClose() })
}
