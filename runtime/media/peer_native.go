//go:build !js

package media

import (
	"context"
	"encoding/json"
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

// platformPeer is the native part of a peer, besides pion's connection.
type platformPeer struct {
	sender *webrtc.RTPSender // of the microphone
	sent   stats.Getter      // what pion's own statistics leave out
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
	if err := webrtc.RegisterDefaultInterceptorsWithOptions(engine, registry, webrtc.WithInterceptorLoggerFactory(quiet)); err != nil {
		return nil, err
	}
	if o.mic != nil { // pion's own recorder counts what is received
		recorder, err := stats.NewInterceptor(stats.WithLoggerFactory(quiet))
		if err != nil {
			return nil, err
		}
		recorder.OnNewPeerConnection(func(_ string, sent stats.Getter) { p.sent = sent })
		registry.Add(recorder)
	}
	registry.Add(keyFrameDetectors{func(picture Picture) {
		on(Event{Kind: VideoSize, Picture: picture, painted: true})
	}, p.engine.hear})
	return webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings)), nil
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

// report returns the rows of the report as JSON.
func (p *peer) report(context.Context) ([]byte, error) {
	// pion closes a connection by itself when the other side ends it, and then clears without a lock what
	// GetStats reads.
	if p.pc.SignalingState() == webrtc.SignalingStateClosed {
		return nil, ErrClosed
	}
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
		row{Type: "outbound-rtp", Kind: "audio", BytesSent: float64(out.BytesSent), PacketsSent: float64(out.PacketsSent)},
		row{
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
