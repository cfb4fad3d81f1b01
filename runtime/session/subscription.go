package session

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/runtime/event"
)

// Subscription receives every event from [Core.Subscribe] on. The events that wait count like
// those that wait for the listener (MaxUndelivered).
type Subscription struct {
	core *Core
	wake chan struct{} // has a value when something has changed

	mu     sync.Mutex
	events []event.Event
	ended  bool // nothing more will be added
}

// Subscribe begins a subscription. Stop must be called.
func (c *Core) Subscribe() *Subscription {
	u := &Subscription{core: c, wake: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.ended = c.finished
	if !c.finished {
		c.subscriptions = append(c.subscriptions, u)
	}
	return u
}

// Stop ends the subscription and forgets what waits.
func (u *Subscription) Stop() {
	u.core.mu.Lock()
	u.core.subscriptions = slices.DeleteFunc(u.core.subscriptions, func(other *Subscription) bool { return other == u })
	u.core.mu.Unlock()
	u.mu.Lock()
	u.core.undelivered.Add(-int64(len(u.events)))
	u.events, u.ended = nil, true
	u.mu.Unlock()
}

// Add adds an event that the others do not get.
func (u *Subscription) Add(e event.Event) {
	u.mu.Lock()
	if !u.ended {
		u.events = append(u.events, e)
		u.core.undelivered.Add(1)
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
			u.core.undelivered.Add(-1)
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

// events is [Conversation.Events].
func (c *Core) events(ctx context.Context) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		u := c.Subscribe()
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
func (c *Core) Finish() {
	c.mu.Lock()
	subscriptions := c.subscriptions
	c.subscriptions, c.finished = nil, true
	c.mu.Unlock()
	for _, u := range subscriptions {
		u.end()
	}
}
