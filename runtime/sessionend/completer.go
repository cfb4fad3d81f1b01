package sessionend

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// The reasons of a page that goes away; their requests have no time limit,
// because nobody is left to wait for it (wire-protocol §8.9).
const (
	reasonPageHide    = "pagehide"
	reasonBFCache     = "pagehide_bfcache"
	reasonHiddenGrace = "hidden_grace"
	reasonManual      = "manual"
)

// Completer sends the signal for one conversation. Its methods never wait, so
// that they can be called from a page's listeners; a mutex guards its few
// fields for the same reason.
type Completer struct {
	o    Options
	stop func()

	mu       sync.Mutex
	thread   string
	token    string
	closed   bool
	request  chan struct{} // closed when the last request is over; nil without one
	hidden   *time.Timer   // running while the page is hidden
	presence *presence
}

// New returns a completer that listens to the page until Close.
func New(o Options) *Completer {
	o.Settings = o.Settings.withDefaults()
	if o.Network == nil {
		o.Network = func(bool) {}
	}
	c := &Completer{o: o, stop: func() {}}
	if o.Page == nil || !*o.Settings.PageLifecycle {
		return c
	}
	c.stop = o.Page.Watch(Listener{Hide: c.hide, Show: c.show, Visible: c.visible, Online: o.Network})
	return c
}

// Arm tells what the request will carry; it must be ready before the page goes
// away.
func (c *Completer) Arm(thread, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
	if thread == "" || thread == c.thread || c.closed {
		return
	}
	c.thread = thread
	if c.presence != nil {
		c.presence.close()
		c.presence = nil
	}
	if c.o.Page != nil && *c.o.Settings.CrossTabPresence && *c.o.Settings.CompleteOnEnd {
		c.presence = openPresence(c.o.Page, c.o.Settings, thread)
	}
}

// Activity notes that the conversation goes on: the grace of a hidden page
// starts again.
func (c *Completer) Activity() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hidden != nil {
		c.hidden.Reset(*c.o.Settings.HiddenGrace)
	}
}

// Close stops listening, to the page and to other tabs. Requests under way go
// on.
func (c *Completer) Close() {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.stopGrace()
	if c.presence != nil {
		c.presence.close()
		c.presence = nil
	}
}

// Complete sends the signal for reason without waiting for the reply.
func (c *Completer) Complete(reason string) { c.start(reason, func(Result) {}) }

// CompleteNow sends the signal and waits for the reply. The error is the end of ctx,
// which does not end the request.
func (c *Completer) CompleteNow(ctx context.Context) (Result, error) {
	done := make(chan Result, 1)
	c.start(reasonManual, func(r Result) { done <- r })
	select {
	case r := <-done:
		return r, nil
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// start begins an attempt. The request is under way when it returns.
func (c *Completer) start(reason string, done func(Result)) {
	r, request := c.begin()
	if request == nil {
		if r.Reason == "suppressed" {
			c.report(Attempt{Reason: reason, Suppressed: true, Peers: r.Peers})
		}
		done(r)
		return
	}
	finish := func(r Result) {
		if !r.OK {
			c.o.Settings.Once.sent.Store(false) // a later trigger may try again
		}
		c.report(Attempt{Reason: reason, Sent: r.OK})
		done(r)
	}
	switch reason {
	case reasonPageHide, reasonBFCache, reasonHiddenGrace:
		c.o.Send.Send(request, func(status int, err error) {
			if err == nil && status/100 != 2 {
				err = fault.FromStatus(status, nil, nil)
			}
			finish(result(err))
		})
	default:
		over := make(chan struct{})
		c.mu.Lock()
		c.request = over
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), c.o.Settings.CompleteTimeout)
		request.Keepalive = true
		go func() {
			defer close(over)
			defer cancel()
			finish(result(fetch.Once(ctx, c.o.Fetch, request, nil)))
		}()
	}
}

// Wait returns when no request is under way, which takes no longer than
// Settings.CompleteTimeout. It leaves out those of a page that goes away, where nobody is
// left to wait.
func (c *Completer) Wait() {
	c.mu.Lock()
	request := c.request
	c.mu.Unlock()
	if request != nil {
		<-request
	}
}

func result(err error) Result {
	switch f := fault.From(err); {
	case f == nil:
		return Result{OK: true, Reason: reasonManual}
	case f.Status != 0:
		return Result{Reason: "http_error", Status: f.Status}
	default:
		return Result{Reason: "network_error"}
	}
}

// begin claims the one attempt, or says why there is none.
func (c *Completer) begin() (Result, *fetch.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !*c.o.Settings.CompleteOnEnd:
		return Result{Reason: "disabled"}, nil
	case c.thread == "":
		return Result{Reason: "no_thread"}, nil
	case c.token == "":
		return Result{Reason: "no_token"}, nil
	case !c.o.Settings.Once.sent.CompareAndSwap(false, true):
		return Result{OK: true, Reason: "already_sent"}, nil
	}
	if c.presence != nil {
		if peers := c.presence.leave(); peers > 0 {
			return Result{OK: true, Reason: "suppressed", Peers: peers}, nil
		}
	}
	body, err := fetch.JSON(map[string]string{"id": c.thread})
	if err != nil {
		return Result{Reason: "network_error"}, nil
	}
	return Result{}, &fetch.Request{
		URL:    strings.TrimSuffix(c.o.URL, "/") + c.o.Settings.CompletePath,
		Header: fetch.Header{"authorization": "KS " + c.token},
		Body:   body,
	}
}

func (c *Completer) report(a Attempt) {
	if c.o.Attempt != nil {
		c.o.Attempt(a)
	}
}

// hide is the pagehide listener: everything must be under way when it returns.
func (c *Completer) hide(persisted bool) {
	if persisted {
		if *c.o.Settings.CompleteOnBFCache {
			c.Complete(reasonBFCache)
		}
		return
	}
	c.Complete(reasonPageHide)
	c.o.Leave(reasonPageHide)
}

func (c *Completer) show(persisted bool) {
	if persisted {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopGrace()
	}
}

func (c *Completer) visible(visible bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopGrace()
	if !visible && !c.closed && *c.o.Settings.CompleteOnHiddenGrace {
		c.hidden = time.AfterFunc(*c.o.Settings.HiddenGrace, c.hiddenTooLong)
	}
}

func (c *Completer) hiddenTooLong() {
	c.mu.Lock()
	gone := c.hidden == nil // shown or closed as the time ran out
	c.mu.Unlock()
	if !gone {
		c.Complete(reasonHiddenGrace)
	}
}

// stopGrace is called with mu held.
func (c *Completer) stopGrace() {
	if c.hidden != nil {
		c.hidden.Stop()
		c.hidden = nil
	}
}
