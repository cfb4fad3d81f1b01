package media

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// preparation is a peer in the making: its offer and its TURN allocation are
// under way before anybody needs them, so that the first picture waits for
// neither.
type preparation struct {
	ready chan struct{} // closed when peer, offer and err are final
	stop  context.CancelFunc

	mu     sync.Mutex
	peer   *peer
	closed bool
	err    error
}

// prepare starts a peer; on hears its events until it is closed. With offer
// unset the peer will answer one.
func (p *Plane) prepare(o peerOptions, offer bool, on func(Event)) *preparation {
	ctx, stop := context.WithCancel(context.Background())
	pr := &preparation{ready: make(chan struct{}), stop: stop}
	p.spawn(func() {
		defer close(pr.ready)
		peer, err := newPeer(p, o, func(ev Event) {
			if !pr.isClosed() {
				on(ev)
			}
		})
		if err == nil && !pr.own(peer) {
			peer.close()
			err = errClosed
		}
		if err == nil && offer {
			err = peer.offer(ctx, false)
		}
		if err != nil {
			pr.fail(err)
		}
	})
	return pr
}

func (pr *preparation) own(peer *peer) bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if !pr.closed {
		pr.peer = peer
	}
	return !pr.closed
}

func (pr *preparation) fail(err error) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.err = fault.New(fault.ConnectFailed, "the peer connection could not be made").Because(err)
}

func (pr *preparation) isClosed() bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pr.closed
}

// wait returns the peer once it is ready.
func (pr *preparation) wait(ctx context.Context) (*peer, error) {
	select {
	case <-pr.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	switch {
	case pr.closed:
		return nil, errClosed
	case pr.err != nil:
		return nil, pr.err
	}
	return pr.peer, nil
}

// stats is zero while there is no peer.
func (pr *preparation) stats(ctx context.Context) (Stats, error) {
	pr.mu.Lock()
	peer := pr.peer
	pr.mu.Unlock()
	if peer == nil {
		return Stats{}, nil
	}
	report, err := peer.stats(ctx)
	if err != nil {
		return Stats{}, err
	}
	return parseStats(report), nil
}

// close ends the peer. It does not wait.
func (pr *preparation) close() {
	pr.mu.Lock()
	peer, first := pr.peer, !pr.closed
	pr.closed = true
	pr.mu.Unlock()
	pr.stop()
	if first && peer != nil {
		peer.close()
	}
}

// maxEarly bounds the candidates that are kept for a peer without a remote
// description; a server has a handful.
const maxEarly = 100

// candidates keeps the remote side's candidates until they can be applied.
type candidates struct {
	mu    sync.Mutex
	apply func(control.Candidate) // nil until the remote description is set
	early []control.Candidate
}

func (c *candidates) add(candidate control.Candidate) {
	c.mu.Lock()
	apply := c.apply
	if apply == nil && len(c.early) < maxEarly {
		c.early = append(c.early, candidate)
	}
	c.mu.Unlock()
	if apply != nil {
		apply(candidate)
	}
}

// hold keeps candidates again.
func (c *candidates) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply = nil
}

// open applies the candidates kept and those to come.
func (c *candidates) open(apply func(control.Candidate)) {
	c.mu.Lock()
	early := c.early
	c.apply, c.early = apply, nil
	c.mu.Unlock()
	for _, candidate := range early {
		apply(candidate)
	}
}

// addTo returns a function that gives candidates to peer. What the peer refuses
// is only logged: other candidates may do (wire-protocol §5.2).
func (p *Plane) addTo(peer *peer) func(control.Candidate) {
	return func(c control.Candidate) {
		if c.Candidate == "" {
			return // the end of candidates, which peers find out by themselves
		}
		p.spawn(func() {
			if err := peer.addCandidate(c); err != nil {
				p.cfg.Log("debug", "a candidate was refused", map[string]any{"error": err.Error()})
			}
		})
	}
}
