package avatar

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// latch keeps the newest value that came until somebody takes it. One goroutine
// puts, any takes.
type latch[T any] chan T

func newLatch[T any]() latch[T] { return make(latch[T], 1) }

// put stores v in place of a value that nobody took.
func (l latch[T]) put(v T) {
	l.drain()
	l <- v
}

// drain forgets a value that nobody took, before a request whose reply is the
// one that counts.
func (l latch[T]) drain() {
	select {
	case <-l:
	default:
	}
}

// await takes from l within limit. The end of ctx or of the connection ends the
// wait with its cause; a value that came after the end of ctx is refused too
// (wire-protocol §2.3).
func await[T any](ctx context.Context, c *handshake, l latch[T], limit time.Duration, label string, phase fault.Phase) (T, error) {
	var none T
	var expired <-chan time.Time
	if limit != unlimited {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case v := <-l:
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		return v, nil
	case <-expired:
		return none, timeout(label, phase)
	case <-c.ctx.Done():
		return none, context.Cause(c.ctx)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// unlimited is the limit of a wait that only its context bounds.
const unlimited time.Duration = -1

// timeout is the error of a step that was too slow (wire-protocol §2.3). The
// label is for people; programs look at the phase.
func timeout(label string, phase fault.Phase) *fault.Error {
	return fault.New(fault.Timeout, label).InPhase(phase)
}
