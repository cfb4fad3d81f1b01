package dialogue

import (
	"context"
	"log/slog"
	"time"
)

// watch records when a turn's context ends. The function that it returns must be called when the
// brain has stopped: it returns the time at which the context ended, and how long the brain went on
// after it; nothing if the context has not ended.
func watch(ctx context.Context) (logged func() slog.Attr) {
	at := make(chan time.Time, 1)
	stop := context.AfterFunc(ctx, func() { at <- time.Now() })
	return func() slog.Attr {
		now := time.Now()
		if stop() {
			return slog.Attr{}
		}
		return stoppedAt(<-at, now)
	}
}

// stoppedAt returns the time at which the end of a turn was detected, and how long
// the brain went on after it.
func stoppedAt(end, stop time.Time) slog.Attr {
	return slog.Group("", slog.Time("ended_at", end), slog.Duration("stopped_after", max(0, stop.Sub(end))))
}
