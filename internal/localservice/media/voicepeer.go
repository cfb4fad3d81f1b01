package media

import (
	"errors"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/pion/webrtc/v4"
)

// offeredVoice is the codec of a voice that we offer: its payload type is static (RFC 3551), and every browser supports it.
var offeredVoice = codec{
	kind: webrtc.RTPCodecTypeAudio,
	RTPCodecParameters: webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeG722, ClockRate: 8000}, PayloadType: 9,
	},
}

var errNotOffered = errors.New("media: an answer without an offer")

// Voice is a stream without a picture, for sessions in audio mode. It has no address; the service offers, and the client answers
// (protocol §4.11).
type Voice struct {
	*Stream

	mu     sync.Mutex
	viewer *viewer // of the last offer
}

// NewVoice makes a voice, whose peers count for the client. It must be closed.
func (s *Server) NewVoice(by quota.Client) *Voice {
	return &Voice{Stream: s.NewStream(by, "", nil)}
}

// Offer returns an offer with all candidates. The peer of an earlier offer is closed.
func (v *Voice) Offer() (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.viewer != nil {
		v.viewer.gone("replaced")
		v.viewer = nil
	}
	if !v.server.offers.Take(v.by, 1) {
		return "", errBusy
	}
	next := newViewer(v.Stream)
	if _, ok := v.reserve(next); !ok {
		return "", errGone
	}
	sdp, err := next.offer()
	if err != nil {
		next.gone("not offered")
		return "", err
	}
	v.viewer = next
	return sdp, nil
}

// Answer applies the client's answer to the last offer.
func (v *Voice) Answer(sdp string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.viewer == nil {
		return errNotOffered
	}
	// parseOffer reads answers too, and removes their candidates, which are not used either.
	o, err := parseOffer(sdp)
	if err != nil {
		return err
	}
	text, err := o.text(offeredVoice)
	if err != nil {
		return err
	}
	if err := v.viewer.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: text}); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// offer makes the peer and offers the voice alone.
func (v *viewer) offer() (string, error) {
	pc, err := v.newPeer(webrtc.DTLSRoleServer, offeredVoice)
	if err != nil {
		return "", err
	}
	if err := v.addVoice(offeredVoice); err != nil {
		return "", err
	}
	description, err := pc.CreateOffer(nil)
	if err != nil {
		return "", fmt.Errorf("offer: %w", err)
	}
	return apply(pc, description)
}
