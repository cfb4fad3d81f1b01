package media

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/runtime/control"
)

var errNotSDP = errors.New("what came is no session description")

// Voice is the peer of the audio-mode downlink: the service offers, we answer
// (wire-protocol §4.11).
type Voice struct {
	*preparation
	plane  *Plane
	notify func(Event)
	remote candidates
}

// NewVoice starts a peer for the agent's voice.
func (p *Plane) NewVoice(notify func(Event)) *Voice {
	v := &Voice{plane: p, notify: notify}
	v.preparation = p.prepare(peerOptions{policy: p.policy}, false, v.receive)
	return v
}

func (v *Voice) receive(ev Event) {
	ev.Channel = ChannelVoice
	v.notify(ev)
	if ev.Kind == TrackAdded {
		v.plane.screen.attach(ev.Track, true, newGate(), v.receive)
	}
}

// Accept applies the service's offer and returns the answer. Our candidates
// follow as events.
func (v *Voice) Accept(ctx context.Context, offer control.Description) (control.Description, error) {
	peer, err := v.wait(ctx)
	if err != nil {
		return control.Description{}, err
	}
	if !looksLikeSDP(offer.SDP) {
		return control.Description{}, errNotSDP
	}
	if err := peer.accept(ctx, offer.SDP); err != nil {
		return control.Description{}, err
	}
	v.remote.open(v.plane.addTo(peer))
	return control.Description{Type: "answer", SDP: peer.localSDP()}, nil
}

// AddCandidate may be called before Accept: the candidate is kept until then.
func (v *Voice) AddCandidate(c control.Candidate) { v.remote.add(c) }

// Close ends the peer. It does not wait.
func (v *Voice) Close() { v.close() }
