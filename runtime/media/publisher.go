package media

import (
	"context"
	"errors"
	"sync"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Publisher is the peer that carries the microphone (protocol §5).
type Publisher struct {
	*pendingPeer
	engine *Engine
	remote candidates
	begin  func()
}

// NewPublisher returns a peer for the microphone. [Publisher.Prepare] starts to create
// it, with the microphone's track if there is one by then, and otherwise with an empty
// sender, which gets the track later without renegotiation.
func (e *Engine) NewPublisher(notify func(Event)) *Publisher {
	begun := make(chan struct{})
	p := &Publisher{engine: e, begin: sync.OnceFunc(func() { close(begun) })}
	// Policy "all" on every browser (protocol §5.3).
	p.pendingPeer = e.prepare(begun, peerOptions{policy: policyAll, mic: e.microphone}, true, func(ev Event) {
		ev.Channel = event.ChannelASR
		notify(ev)
	})
	e.microphone.join(p)
	return p
}

// Prepare starts to create the peer, its offer and its TURN allocation before Offer is
// called. It does not wait.
func (p *Publisher) Prepare() { p.begin() }

// Offer returns the offer, with the candidates found so far; restart asks for
// new ICE credentials on the same peer (protocol §5.6).
func (p *Publisher) Offer(ctx context.Context, restart bool) (signaling.Description, error) {
	p.Prepare()
	peer, err := p.wait(ctx)
	if err == nil && restart {
		p.remote.buffer() // the candidates from now on belong to the next answer
		err = peer.offer(ctx, true)
	}
	if err != nil {
		return signaling.Description{}, err
	}
	return signaling.Description{Type: "offer", SDP: peer.localSDP()}, nil
}

// Answer applies the service's answer, and the candidates that came before it.
func (p *Publisher) Answer(ctx context.Context, d signaling.Description) error {
	peer, err := p.wait(ctx)
	if err != nil {
		return err
	}
	if !looksLikeSDP(d.SDP) {
		return errNotSDP
	}
	if err := peer.answer(ctx, d.SDP); err != nil {
		return err
	}
	p.remote.open(p.engine.addTo(peer))
	return nil
}

// AddCandidate may be called before the answer: the candidate is kept until
// then.
func (p *Publisher) AddCandidate(c signaling.ServerCandidate) {
	p.remote.add(signaling.Candidate{Candidate: c.Candidate, SDPMLineIndex: &c.SDPMLineIndex})
}

// Stats reports what was sent so far; loss and jitter are measured by the service.
func (p *Publisher) Stats(ctx context.Context) (Stats, error) { return p.stats(ctx) }

// SetBandwidth caps the sender, in kbit/s; 0 removes the cap.
func (p *Publisher) SetBandwidth(ctx context.Context, kbps int) error {
	peer, err := p.wait(ctx)
	if err != nil {
		return err
	}
	return peer.setBandwidth(ctx, kbps)
}

// Close ends the peer; the microphone stays. It does not wait.
func (p *Publisher) Close() {
	p.engine.microphone.leave(p)
	p.close()
}

var errNotSDP = errors.New("the session description must begin with v=0")

// Voice is the peer of the audio-mode downlink: the service offers, this side answers
// (protocol §4.11).
type Voice struct {
	*pendingPeer
	engine *Engine
	notify func(Event)
	remote candidates
}

// NewVoice starts a peer for the agent's voice.
func (e *Engine) NewVoice(notify func(Event)) *Voice {
	v := &Voice{engine: e, notify: notify}
	v.pendingPeer = e.prepare(nil, peerOptions{policy: e.policy}, false, v.receive)
	return v
}

func (v *Voice) receive(ev Event) {
	ev.Channel = event.ChannelVoice
	v.notify(ev)
	if ev.Kind == TrackAdded {
		v.engine.renderer.attach(ev.Track, true, newReadiness(), v.receive)
	}
}

// Accept applies the service's offer and returns the answer. The local candidates
// follow as events.
func (v *Voice) Accept(ctx context.Context, offer signaling.Description) (signaling.Description, error) {
	peer, err := v.wait(ctx)
	if err != nil {
		return signaling.Description{}, err
	}
	if !looksLikeSDP(offer.SDP) {
		return signaling.Description{}, errNotSDP
	}
	if err := peer.accept(ctx, offer.SDP); err != nil {
		return signaling.Description{}, err
	}
	v.remote.open(v.engine.addTo(peer))
	return signaling.Description{Type: "answer", SDP: peer.localSDP()}, nil
}

// AddCandidate may be called before Accept: the candidate is kept until then.
func (v *Voice) AddCandidate(c signaling.Candidate) { v.remote.add(c) }

// Close ends the peer. It does not wait.
func (v *Voice) Close() { v.close() }
