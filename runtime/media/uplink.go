package media

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/control"
)

// Uplink is the peer that carries the microphone (wire-protocol §5).
type Uplink struct {
	*preparation
	plane  *Plane
	notify func(Event)
	remote candidates
}

// NewUplink starts a peer for the microphone, with its track if there is one,
// and otherwise with an empty slot that takes the track later without
// renegotiation. Its offer and its TURN allocation are under way when NewUplink
// returns.
func (p *Plane) NewUplink(notify func(Event)) *Uplink {
	u := &Uplink{plane: p, notify: notify}
	// Policy "all" on every browser (wire-protocol §5.3).
	u.preparation = p.prepare(peerOptions{policy: policyAll, mic: p.mic}, true, u.receive)
	p.mic.join(u)
	return u
}

func (u *Uplink) receive(ev Event) {
	ev.Channel = ChannelASR
	u.notify(ev)
}

// Offer returns the offer, with the candidates found so far; restart asks for
// new ICE credentials on the same peer (wire-protocol §5.6).
func (u *Uplink) Offer(ctx context.Context, restart bool) (control.Description, error) {
	peer, err := u.wait(ctx)
	if err == nil && restart {
		u.remote.hold() // what comes now belongs to the answer to come
		err = peer.offer(ctx, true)
	}
	if err != nil {
		return control.Description{}, err
	}
	return control.Description{Type: "offer", SDP: peer.localSDP()}, nil
}

// Answer applies the service's answer, and the candidates that came before it.
func (u *Uplink) Answer(ctx context.Context, d control.Description) error {
	peer, err := u.wait(ctx)
	if err != nil {
		return err
	}
	if !looksLikeSDP(d.SDP) {
		return errNotSDP
	}
	if err := peer.answer(ctx, d.SDP); err != nil {
		return err
	}
	u.remote.open(u.plane.addTo(peer))
	return nil
}

// AddCandidate may be called before the answer: the candidate is kept until
// then.
func (u *Uplink) AddCandidate(c control.ServerCandidate) {
	u.remote.add(control.Candidate{Candidate: c.Candidate, SDPMLineIndex: &c.SDPMLineIndex})
}

// Stats reports what went out so far; loss and jitter are what the service says
// of it.
func (u *Uplink) Stats(ctx context.Context) (Stats, error) { return u.stats(ctx) }

// SetBandwidth caps the sender, in kbit/s; 0 removes the cap.
func (u *Uplink) SetBandwidth(ctx context.Context, kbps int) error {
	peer, err := u.wait(ctx)
	if err != nil {
		return err
	}
	return peer.setBandwidth(ctx, kbps)
}

// Close ends the peer; the microphone stays. It does not wait.
func (u *Uplink) Close() {
	u.plane.mic.leave(u)
	u.close()
}
