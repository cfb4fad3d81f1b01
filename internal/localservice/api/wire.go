package api

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
)

// errCut ends a stream whose connection a script breaks on purpose.
var errCut = errors.New("the stream was cut on purpose")

// act is an operation that the writer of a stream runs on it.
type act func(*stream) error

// wire lets a script disturb a stream. Its operations run in order with the segments
// of the turn.
type wire struct {
	ctx context.Context
	do  func(act) error
}

var _ brain.Wire = (*wire)(nil)

// Write implements [brain.Wire].
func (w *wire) Write(text string) error {
	return w.do(func(out *stream) error { return out.send(text) })
}

// Stall implements [brain.Wire]. It blocks the writer, so that no keepalives are sent
// either.
func (w *wire) Stall(d time.Duration) error {
	return w.do(func(*stream) error { return brain.Pause(w.ctx, d) })
}

// Cut implements [brain.Wire].
func (w *wire) Cut() error {
	if err := w.do(func(*stream) error { return errCut }); err != nil {
		return err
	}
	<-w.ctx.Done() // the writer cancels it
	return w.ctx.Err()
}
