//go:build !js

package media

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/interceptor/pkg/stats"
	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/logging"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// receiveBuffer holds any RTP packet.
const receiveBuffer = 1500

// platformPeer is the native part of a peer, besides pion's connection.
type platformPeer struct {
	sender   *webrtc.RTPSender // of the microphone
	recorded stats.Getter      // what was sent and received
	local    atomic.Value      // the type of the local candidate in use, a webrtc.ICECandidateType; nil before there is one
}

func platformError(err error) error { return err }

// newAPI configures pion. The first key frame is reported to on.
func (p *peer) newAPI(o peerOptions, on func(Event)) (*webrtc.API, error) {
	// pion would log single packets to standard error.
	quiet := &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled}
	settings := webrtc.SettingEngine{LoggerFactory: quiet}
	// The service's candidates have addresses, so that no multicast socket is needed to
	// resolve names.
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetIncludeLoopbackCandidate(p.engine.cfg.AllowPrivateHosts)
	// pion waits 2 s for a better pair before it selects a relayed one. With the policy
	// relay there is none, and the picture would be 2 s late.
	settings.SetRelayAcceptanceMinWait(0)
	engine := &webrtc.MediaEngine{}
	if err := engine.RegisterDefaultCodecs(); err != nil {
		return nil, err
	}
	registry := &interceptor.Registry{}
	if err := p.addInterceptors(engine, registry, quiet); err != nil {
		return nil, err
	}
	registry.Add(keyFrameDetectors{func(picture Picture) {
		on(Event{Kind: VideoSize, Picture: picture, painted: true})
	}, p.engine.hear})
	return webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings)), nil
}

// addInterceptors adds pion's default ones, with a recorder of the peer's own in place of pion's (report).
func (p *peer) addInterceptors(engine *webrtc.MediaEngine, registry *interceptor.Registry, quiet logging.LoggerFactory) error {
	recorder, err := stats.NewInterceptor(stats.WithLoggerFactory(quiet))
	if err != nil {
		return err
	}
	recorder.OnNewPeerConnection(func(_ string, recorded stats.Getter) { p.recorded = recorded })
	if err := webrtc.ConfigureNackWithOptions(engine, registry,
		[]nack.GeneratorOption{nack.WithGeneratorLoggerFactory(quiet)}, nack.WithResponderLoggerFactory(quiet)); err != nil {
		return err
	}
	if err := webrtc.ConfigureRTCPReportsWithOptions(registry,
		[]report.ReceiverOption{report.WithReceiverLoggerFactory(quiet)}, report.WithSenderLoggerFactory(quiet)); err != nil {
		return err
	}
	if err := webrtc.ConfigureSimulcastExtensionHeaders(engine); err != nil {
		return err
	}
	registry.Add(recorder)
	return webrtc.ConfigureTWCCSenderWithOptions(engine, registry, twcc.WithLoggerFactory(quiet))
}

func (p *peer) listen(on func(Event)) error {
	found := false
	p.pc.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c == nil {
			if !found {
				on(Event{Kind: NoCandidates})
			}
			return
		}
		found = true
		init := c.ToJSON()
		on(Event{Kind: Candidate, Candidate: &signaling.Candidate{
			Candidate: init.Candidate, SDPMid: init.SDPMid, SDPMLineIndex: init.SDPMLineIndex, UsernameFragment: init.UsernameFragment,
		}})
	})
	// pion's GetSelectedCandidatePair reads without a lock what the start of the transport writes.
	p.ice().OnSelectedCandidatePairChange(func(pair *webrtc.ICECandidatePair) { p.local.Store(pair.Local.Typ) })
	p.pc.OnTrack(func(t *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		on(Event{Kind: TrackAdded, Track: Track{Kind: t.Kind().String(), ID: t.ID(), Native: t}})
		if t.Kind() == webrtc.RTPCodecTypeVideo {
			// The server's first key frame may have been lost; without one there
			// is no picture.
			_ = p.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(t.SSRC())}})
		}
		if handle := p.engine.cfg.OnTrack; handle != nil {
			handle(t)
		}
		for buffer := make([]byte, receiveBuffer); ; {
			if _, _, err := t.Read(buffer); err != nil {
				return
			}
		}
	})
	return nil
}

// prefer leaves only the codec called mimeType in the offer.
func prefer(transceiver *webrtc.RTPTransceiver, _, mimeType string) error {
	var chosen []webrtc.RTPCodecParameters
	for _, c := range transceiver.Receiver().GetParameters().Codecs {
		if strings.EqualFold(c.MimeType, mimeType) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return errUnknownCodec
	}
	return transceiver.SetCodecPreferences(chosen)
}

// send adds the microphone's track. RTCP packets are read so that the other side's
// statistics are known, and lost packets are sent again.
func (p *peer) send(m *microphone) error {
	transceiver, err := p.pc.AddTransceiverFromTrack(m.track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendrecv})
	if err != nil {
		return err
	}
	p.sender = transceiver.Sender()
	p.engine.spawn(func() {
		for buffer := make([]byte, receiveBuffer); ; {
			if _, _, err := p.sender.Read(buffer); err != nil {
				return
			}
		}
	})
	return nil
}

// report returns the rows of the report as JSON. It does not use pion's GetStats, which reads without a lock what pion
// clears when the other side ends the connection. Then newer versions of pion clear the records too, one after the other, and
// the report is empty.
func (p *peer) report(context.Context) ([]byte, error) {
	var rows []row
	for _, receiver := range p.pc.GetReceivers() {
		for _, track := range receiver.Tracks() {
			s := p.recorded.Get(uint32(track.SSRC()))
			if s == nil {
				return []byte("[]"), nil
			}
			in := s.InboundRTPStreamStats
			rows = append(rows, row{
				Type: "inbound-rtp", Kind: track.Kind().String(),
				BytesReceived: float64(in.BytesReceived), PacketsReceived: float64(in.PacketsReceived),
				PacketsLost: float64(in.PacketsLost), Jitter: in.Jitter,
			})
		}
	}
	if p.sender != nil {
		rows = append(rows, p.outbound()...)
	}
	return json.Marshal(append(rows, p.selected()...))
}

// selected are the rows of the candidate pair in use, if there is one.
func (p *peer) selected() []row {
	local, ok := p.local.Load().(webrtc.ICECandidateType)
	if !ok {
		return nil
	}
	s, _ := p.ice().GetSelectedCandidatePairStats()
	return []row{
		{Type: "transport", SelectedCandidatePairID: "pair"},
		{Type: "candidate-pair", ID: "pair", LocalCandidateID: "local", CurrentRoundTripTime: s.CurrentRoundTripTime},
		{Type: "local-candidate", ID: "local", CandidateType: local.String()},
	}
}

func (p *peer) ice() *webrtc.ICETransport { return p.pc.SCTP().Transport().ICETransport() }

// outbound are the rows of the microphone.
func (p *peer) outbound() []row {
	encodings := p.sender.GetParameters().Encodings
	if len(encodings) == 0 {
		return nil
	}
	s := p.recorded.Get(uint32(encodings[0].SSRC))
	if s == nil {
		return nil // nothing was sent yet
	}
	out, remote := s.OutboundRTPStreamStats, s.RemoteInboundRTPStreamStats
	return []row{
		{Type: "outbound-rtp", Kind: "audio", BytesSent: float64(out.BytesSent), PacketsSent: float64(out.PacketsSent)},
		{
			Type: "remote-inbound-rtp", Kind: "audio", PacketsLost: float64(remote.PacketsLost),
			Jitter: remote.Jitter, RoundTripTime: remote.RoundTripTime.Seconds(),
		},
	}
}

// setBandwidth does nothing, because a source determines the bit rate of its samples.
func (p *peer) setBandwidth(context.Context, int) error { return nil }

func (p *peer) release() {}

// end closes the connection and waits for its goroutines.
func (p *peer) end() { _ = p.pc.GracefulClose() }
