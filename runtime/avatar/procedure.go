package avatar

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// procedure is a connect, rebuild, resume or prepare under way: it can be cut
// short, and ends once.
type procedure struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // frees the limit's timer
	done   chan error         // receives the outcome; nil when nobody waits

	joiners []chan error // of a prepare: all who called
}

// newProcedure returns a procedure that reports on done, without a limit yet.
func newProcedure(done chan error) *procedure {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &procedure{ctx: ctx, cancel: cancel, stop: func() {}, done: done}
}

// limit bounds p by the overall limit, which is never paused or extended
// (wire-protocol §2.2).
func (p *procedure) limit(d time.Duration) *procedure {
	p.ctx, p.stop = context.WithTimeoutCause(p.ctx, d, timeout("ConnectTimeout", fault.PhaseConnect))
	return p
}

// finish ends p and tells whoever waits.
func (p *procedure) finish(err error) {
	p.cancel(err)
	p.stop()
	if p.done != nil {
		p.done <- err
		p.done = nil
	}
	for _, joiner := range p.joiners {
		joiner <- err
	}
	p.joiners = nil
}
