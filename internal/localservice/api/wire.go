package api

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
)

// errCut is the end of a stream that a script cuts.
var errCut = errors.New("the stream was cut on purpose")

// act is something that the writer of a stream does with it.
type act func(*stream) error

// wire lets a script spoil a stream. What it does takes its turn behind the
// segments before it.
type wire struct {
	ctx context.Context
	do  func(act) error
}

var _ brain.Wire = (*wire)(nil)

// Write implements [brain.Wire].
func (w *wire) Write(text string) error {
	return w.do(func(out *stream) error { return out.send(text) })
}

// Stall implements [brain.Wire]. It holds the writer up, so that keepalives wait
// too.
func (w *wire) Stall(d time.Duration) error {
	return w.do(func(*stream) error {
		over := time.NewTimer(d)
		defer over.Stop()
		select {
		case <-over.C:
			return nil
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	})
}

// Cut implements [brain.Wire].
func (w *wire) Cut() error {
	if err := w.do(func(*stream) error { return errCut }); err != nil {
		return err
	}
	<-w.ctx.Done() // the writer ends it
	return w.ctx.Err()
}
