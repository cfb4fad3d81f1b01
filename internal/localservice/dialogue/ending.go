package dialogue

import (
	"context"
	"log/slog"
	"time"
)

// ending notes when a turn's context ends, to tell how soon the brain obeys.
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

// logged is for the moment in which the brain has stopped: the time at which the
// context ended, and how long the brain went on after it. While the context goes
// on there is nothing to say.
func (e *ending) logged() slog.Attr {
	now := time.Now()
	if e.ctx.Err() == nil {
		return slog.Attr{}
	}
	return stoppedAt(<-e.at, now)
}

// stoppedAt says when a turn's end was seen, and how long the brain went on after it.
func stoppedAt(end, stop time.Time) slog.Attr {
	return slog.Group("", slog.Time("ended_at", end), slog.Duration("stopped_after", max(0, stop.Sub(end))))
}
