package replay

import (
	"context"
	"time"
)

// Play calls listener with each entry at its time, and returns when the last one was passed on, or with the
// cause of the end of ctx. speed is how much faster than the recording it plays; 0 plays without waiting. The time is
// that of the program, and virtual in a test with testing/synctest.
func (r *Recording) Play(ctx context.Context, speed float64, listener func(Entry)) error {
	start := time.Now()
	for _, e := range r.Entries {
		if speed > 0 {
			due := start.Add(time.Duration(float64(e.At) / speed * float64(time.Millisecond)))
			select {
			case <-time.After(time.Until(due)):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		listener(e)
	}
	return nil
}
