package live

import (
	"sync"
	"time"
)

// inbox passes functions to the session goroutine from everything but the socket: the
// brain, the playout, the microphone, timers, the control address. It has no bound,
// because a producer must never wait for a session that may be waiting for that
// producer (to stop the playout while it reports a mark). The number of messages is
// bounded by their sources: one turn at a time, one microphone, a few timers.
type inbox struct {
	mu    sync.Mutex
	msgs  []func()
	ready chan struct{} // holds one token while msgs may not be empty
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

// post hands f to the session goroutine and returns at once.
func (b *inbox) post(f func()) {
	b.mu.Lock()
	b.msgs = append(b.msgs, f)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns what has been posted since the last call, oldest first.
func (b *inbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	msgs := b.msgs
	b.msgs = nil
	return msgs
}

// timer is a timer whose function runs on the session goroutine, and never
// after stop, not even when it had fired already.
type timer struct {
	t    *time.Timer
	dead bool // owned by the session goroutine
}

func (b *inbox) after(d time.Duration, f func()) *timer {
	t := new(timer)
	t.t = time.AfterFunc(d, func() {
		b.post(func() {
			if !t.dead {
				t.dead = true
				f()
			}
		})
	})
	return t
}

// stop ends t; a nil timer is stopped already.
func (t *timer) stop() {
	if t != nil {
		t.dead = true
		t.t.Stop()
	}
}
