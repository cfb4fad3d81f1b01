package dialogue

import (
	"context"
	"log/slog"
	"time"
)

// ending records when a turn's context ends, to measure how long the brain goes on
// after that.
type ending struct {
	ctx   context.Context
	at    chan time.Time // has room for the one value
	close func() bool
}

func watch(ctx context.Context) *ending {
	e := &ending{ctx: ctx, at: make(chan time.Time, 1)}
	e.close = context.AfterFunc(ctx, func() { e.at <- time.Now() })
	return e
}

// logged must be called when the brain has stopped. It returns the time at which the
// context ended, and how long the brain went on after it; nothing if the context has
// not ended.
func (e *ending) logged() slog.Attr {
	now := time.Now()
	if e.ctx.Err() == nil {
		return slog.Attr{}
	}
	return stoppedAt(<-e.at, now)
}

// stoppedAt returns the time at which the end of a turn was detected, and how long
// the brain went on after it.
func stoppedAt(end, stop time.Time) slog.Attr {
	return slog.Group("", slog.Time("ended_at", end), slog.Duration("stopped_after", max(0, stop.Sub(end))))
}
