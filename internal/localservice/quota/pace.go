package quota

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// paceBurst is how many seconds' worth of units a client may have at once.
	paceBurst = 6 * time.Second
	// paceWait is how long a client may have to wait for a unit.
	paceWait = 10 * time.Second
)

// ErrBusy means that a client would have to wait too long.
var ErrBusy = errors.New("too many requests; try again later")

// Pace delays what a client requests, so that it gets no more than its limits allow in each
// second, after six seconds' worth at once. The total of the Limit has no effect. Its
// methods may be called concurrently.
type Pace struct {
	Limit Limit

	mu    sync.Mutex
	paid  map[key]time.Time // when what was taken until now has been paid for
	swept time.Time
}

// Wait waits until the client may have n units. It returns [ErrBusy] at once, without the
// units, if that would take longer than 10 s, and the error of ctx if that ends.
func (p *Pace) Wait(ctx context.Context, by Client, n int) error {
	wait := p.take(by, n, time.Now())
	switch {
	case wait <= 0:
		return nil
	case wait > paceWait:
		return ErrBusy
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take takes n units, unless the client would have to wait too long for them, and returns how
// long it has to wait.
func (p *Pace) take(by Client, n int, now time.Time) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(now)
	each := func(f func(k key, paid time.Time)) {
		p.Limit.each(by, func(k key, limit int) bool {
			if limit < 1 || k == (key{}) {
				return true
			}
			paid := p.paid[k]
			if paid.Before(now) {
				paid = now
			}
			f(k, paid.Add(time.Duration(n)*time.Second/time.Duration(limit)))
			return true
		})
	}
	each(func(_ key, paid time.Time) { wait = max(wait, paid.Sub(now)-paceBurst) })
	if wait <= paceWait {
		each(func(k key, paid time.Time) { p.paid[k] = paid })
	}
	return wait
}

// sweep removes the clients that have paid for everything.
func (p *Pace) sweep(now time.Time) {
	if p.paid == nil {
		p.paid = map[key]time.Time{}
	}
	if now.Sub(p.swept) < time.Minute {
		return
	}
	p.swept = now
	for k, paid := range p.paid {
		if paid.Before(now) {
			delete(p.paid, k)
		}
	}
}
