package session

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/runtime/event"
)

// Subscription receives every event from [Base.Subscribe] on. The events that wait count like
// those that wait for the listener (MaxUndelivered).
type Subscription struct {
	base *Base
	wake chan struct{} // has a value when something has changed

	mu     sync.Mutex
	events []event.Event
	ended  bool // nothing more will be added
}

// Subscribe begins a subscription. Stop must be called.
func (b *Base) Subscribe() *Subscription {
	u := &Subscription{base: b, wake: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	u.ended = b.finished
	if !b.finished {
		b.subscriptions = append(b.subscriptions, u)
	}
	return u
}

// Stop ends the subscription and forgets what waits.
func (u *Subscription) Stop() {
	u.base.mu.Lock()
	u.base.subscriptions = slices.DeleteFunc(u.base.subscriptions, func(other *Subscription) bool { return other == u })
	u.base.mu.Unlock()
	u.mu.Lock()
	u.base.undelivered.Add(-int64(len(u.events)))
	u.events, u.ended = nil, true
	u.mu.Unlock()
}

// Add adds an event that the others do not get.
func (u *Subscription) Add(e event.Event) {
	u.mu.Lock()
	if !u.ended {
		u.events = append(u.events, e)
		u.base.undelivered.Add(1)
	}
	u.mu.Unlock()
	u.notify()
}

func (u *Subscription) end() {
	u.mu.Lock()
	u.ended = true
	u.mu.Unlock()
	u.notify()
}

func (u *Subscription) notify() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// Next waits for the next event. ok is false when ctx has ended, or the session was closed
// and there is no event left.
func (u *Subscription) Next(ctx context.Context) (e event.Event, ok bool) {
	for ctx.Err() == nil {
		u.mu.Lock()
		if len(u.events) > 0 {
			e, u.events = u.events[0], u.events[1:]
			u.base.undelivered.Add(-1)
			u.mu.Unlock()
			return e, true
		}
		ended := u.ended
		u.mu.Unlock()
		if ended {
			return nil, false
		}
		select {
		case <-u.wake:
		case <-ctx.Done():
		}
	}
	return nil, false
}

// Events yields every event that is emitted from the beginning of the loop on, until ctx
// ends, or the session was closed and its last event was yielded. Several loops may run at
// once, beside the listeners of the options. The session reads more slowly while more than
// [MaxUndelivered] events wait for a loop.
func (b *Base) Events(ctx context.Context) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		u := b.Subscribe()
		defer u.Stop()
		for {
			e, ok := u.Next(ctx)
			if !ok || !yield(e) {
				return
			}
		}
	}
}

// Finish ends every subscription: nothing more will be emitted.
func (b *Base) Finish() {
	b.mu.Lock()
	subscriptions := b.subscriptions
	b.subscriptions, b.finished = nil, true
	b.mu.Unlock()
	for _, u := range subscriptions {
		u.end()
	}
}
