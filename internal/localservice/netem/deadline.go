package netem

import (
	"sync"
	"time"
)

// deadline is a point in time that can be moved while others wait for it. The zero value never comes.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{} // closed when the deadline has come; nil until someone asks
}

// set moves the deadline to t; the zero time never comes, a time in the past comes at once.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.done == nil || passed(d.done) {
		d.done = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	done := d.done
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() { d.expire(done) })
		return
	}
	close(done)
}

// expire closes done unless the deadline has been moved: a stopped timer may still fire.
func (d *deadline) expire(done chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done == done && d.timer != nil && !passed(done) {
		close(done)
	}
}

// wait returns a channel that is closed when the deadline comes.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done == nil {
		d.done = make(chan struct{})
	}
	return d.done
}

func passed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
