package native

import (
	"sync"
	"testing"
	"time"
)

// delayStep is how often delays are looked at.
const delayStep = time.Millisecond

// delays measures for how long this process gets no processor, so that a test of a time
// limit also passes on a machine that is busy with other work.
type delays struct {
	mu   sync.Mutex
	late []delay
}

// delay is a time at which a goroutine should have run, and the one at which it did.
type delay struct{ due, ran time.Time }

// watchDelays measures until the end of the test.
func watchDelays(t *testing.T) *delays {
	d := &delays{}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTimer(delayStep)
		defer tick.Stop()
		for due := time.Now().Add(delayStep); ; due = time.Now().Add(delayStep) {
			tick.Reset(delayStep)
			select {
			case <-tick.C:
			case <-end:
				return
			}
			if ran := time.Now(); ran.Sub(due) > delayStep {
				d.mu.Lock()
				d.late = append(d.late, delay{due, ran})
				d.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() { close(end); <-ended })
	return d
}

// between returns for how long in all a goroutine that should have run did not.
func (d *delays) between(from, to time.Time) (sum time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, late := range d.late {
		begin, end := late.due, late.ran
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(0, end.Sub(begin))
	}
	return sum
}
