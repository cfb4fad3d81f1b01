// Package completion reports the end of a conversation to the service, immediately and
// once, also when the page is unloaded (protocol §8.8 to §8.10). Without the
// report the service detects the end after about ten minutes.
//
// It handles the page's lifecycle as far as conversations need it: hiding, showing,
// the back-forward cache, online and offline, and other tabs with the same thread. It
// must not import sockets, media or turns.
package completion

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// The reasons. Requests of a page that is unloaded have no time limit, because nothing
// waits for their reply (protocol §8.9).
const (
	reasonPageHide    = "pagehide"
	reasonBFCache     = "pagehide_bfcache"
	reasonHiddenGrace = "hidden_grace"
	reasonManual      = "manual"
)

// Notifier reports the end of one conversation. A mutex guards its fields, because
// its methods are called from the page's listeners, which must not wait for a queue.
// Only NotifyNow and Wait block.
type Notifier struct {
	o       Options
	network fetch.Network
	stop    func()

	mu       sync.Mutex
	thread   string
	token    string
	closed   bool
	withdraw func()        // takes back the report that was left to the browser
	request  chan struct{} // closed when the last request has ended; nil without one
	hidden   *time.Timer   // running while the page is hidden
	presence *presence
}

// New returns a Notifier that listens to the page until Close.
func New(o Options) *Notifier {
	o.Settings = o.Settings.withDefaults()
	if o.Network == nil {
		o.Network = func(bool) {}
	}
	n := &Notifier{o: o, stop: func() {}, withdraw: func() {}}
	n.network, _ = fetch.Open(o.HTTPClient) // the session closes it
	if o.Settings.Page == nil {
		return n
	}
	l := Listener{Hide: func(bool) func() { return nil }, Show: func(bool) {}, Visible: func(bool) {}, Online: o.Network}
	if *o.Settings.PageLifecycle {
		l.Hide, l.Show, l.Visible = n.hide, n.show, n.visible
	}
	n.stop = o.Settings.Page.Watch(l)
	return n
}

// SetThread sets the token of the request, and its thread, which does not change once it is
// known. They must be set before the page is unloaded, because the request is then sent
// without asking for them.
func (n *Notifier) SetThread(thread, token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.token = token
	defer n.leaveToBrowser()
	if thread == "" || n.thread != "" || n.closed {
		return
	}
	n.thread = thread
	if n.o.Settings.Page != nil && *n.o.Settings.CrossTabPresence && *n.o.Settings.CompleteOnEnd {
		n.presence = openPresence(n.o.Settings, thread, n.update)
	}
}

// leaveToBrowser leaves the present report to the browser, for a page that is unloaded while the
// program can't run. It is called with mu held whenever the report has changed, or whether this
// tab is the one to send it. It has no trace context, which may be a function of the page.
func (n *Notifier) leaveToBrowser() {
	n.withdraw()
	n.withdraw = func() {}
	s := n.o.Settings
	page, ok := s.Page.(sender)
	switch {
	case !ok, !*s.PageLifecycle, !*s.CompleteOnEnd, n.closed, n.thread == "", n.token == "", s.Sent.Load():
		return
	case n.presence != nil && n.presence.others() > 0:
		return
	}
	n.withdraw = page.sendAtHide(n.network, n.completion(httpclient.TraceContext{}), *s.CompleteOnBFCache)
}

// failed allows a later trigger to try again.
func (n *Notifier) failed() {
	n.o.Settings.Sent.Store(false)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.presence != nil {
		n.presence.stay()
	}
	n.leaveToBrowser()
}

// update is leaveToBrowser without mu held.
func (n *Notifier) update() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaveToBrowser()
}

// Activity restarts HiddenGrace, the time limit of a hidden page.
func (n *Notifier) Activity() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hidden != nil {
		n.hidden.Reset(*n.o.Settings.HiddenGrace)
	}
}

// Close stops listening to the page and to other tabs. Pending requests continue.
func (n *Notifier) Close() {
	n.stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.leaveToBrowser()
	n.stopGrace()
	if n.presence != nil {
		n.presence.close()
		n.presence = nil
	}
}

// Notify sends the request for reason without waiting for the reply.
func (n *Notifier) Notify(reason string) { n.start(reason, func(Result) {}) }

// NotifyNow sends the request and waits for the reply. The error is that of ctx, whose
// end does not cancel the request.
func (n *Notifier) NotifyNow(ctx context.Context) (Result, error) {
	done := make(chan Result, 1)
	n.start(reasonManual, func(r Result) { done <- r })
	select {
	case r := <-done:
		return r, nil
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// start begins an attempt. The request is under way when it returns.
func (n *Notifier) start(reason string, done func(Result)) {
	r, request := n.begin(reason)
	if request == nil {
		n.update() // another session of the conversation may have reported
		if r.Reason == "suppressed" {
			n.o.Attempt(Attempt{Reason: reason, Suppressed: true, Peers: r.Peers})
		}
		done(r)
		return
	}
	n.send(reason, request, done)
}

func (n *Notifier) send(reason string, request *fetch.Request, done func(Result)) {
	defer n.update() // the request is under way
	finish := func(r Result) {
		if !r.OK {
			n.failed()
		}
		n.o.Attempt(Attempt{Reason: reason, Sent: r.OK})
		done(r)
	}
	switch reason {
	case reasonPageHide, reasonBFCache, reasonHiddenGrace:
		n.network.Send(request, func(status int, err error) {
			if err == nil && status/100 != 2 {
				err = fault.FromStatus(status, nil, nil)
			}
			finish(result(err))
		})
	default:
		finished := make(chan struct{})
		n.mu.Lock()
		n.request = finished
		n.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), n.o.Settings.CompleteTimeout)
		request.Keepalive = true
		go func() {
			defer close(finished)
			defer cancel()
			err := fetch.Attempt(ctx, n.network, request, nil)
			if errors.Is(err, fault.Unauthorized) && n.o.Renew != nil {
				if token, refused := n.o.Renew(ctx); refused == nil {
					request.Header.Set("authorization", "KS "+token)
					err = fetch.Attempt(ctx, n.network, request, nil)
				}
			}
			finish(result(err))
		}()
	}
}

// Wait returns when no request is pending, after Settings.CompleteTimeout at the
// latest. It does not wait for requests of a page that is unloaded.
func (n *Notifier) Wait() {
	n.mu.Lock()
	request := n.request
	n.mu.Unlock()
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

// begin returns the conversation's only request, or the reason for not sending one.
func (n *Notifier) begin(reason string) (Result, *fetch.Request) {
	trace := n.o.Trace() // before the lock, because it may be a function of the page
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case reason == reasonHiddenGrace && n.hidden == nil: // shown or closed as the timer fired
		return Result{}, nil
	case !*n.o.Settings.CompleteOnEnd:
		return Result{Reason: "disabled"}, nil
	case n.thread == "":
		return Result{Reason: "no_thread"}, nil
	case n.token == "":
		return Result{Reason: "no_token"}, nil
	case !n.o.Settings.Sent.CompareAndSwap(false, true):
		return Result{OK: true, Reason: "already_sent"}, nil
	}
	if n.presence != nil {
		if peers := n.presence.leave(); peers > 0 {
			return Result{OK: true, Reason: "suppressed", Peers: peers}, nil
		}
	}
	return Result{}, n.completion(trace)
}

// completion returns the request that reports the end. It is called with mu held.
func (n *Notifier) completion(trace httpclient.TraceContext) *fetch.Request {
	body, _ := fetch.JSON(map[string]string{"id": n.thread}) // texts can always be encoded
	return &fetch.Request{
		URL:    strings.TrimSuffix(n.o.URL, "/") + n.o.Settings.CompletePath,
		Header: fetch.Authorize(n.token, trace),
		Body:   body,
	}
}

// hide is the pagehide listener: the request must be started before it returns. The
// session is left afterwards, because closing its connections takes much longer than
// starting a request, and Chromium ends a page half a second after the visitor closed it:
// on a busy machine the ends of the page's other sessions would not be reported.
func (n *Notifier) hide(persisted bool) (leave func()) {
	if persisted {
		if *n.o.Settings.CompleteOnBFCache {
			n.Notify(reasonBFCache)
		}
		return nil
	}
	n.Notify(reasonPageHide)
	return func() { n.o.Leave(reasonPageHide) }
}

func (n *Notifier) show(persisted bool) {
	if persisted {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.stopGrace()
	}
}

func (n *Notifier) visible(visible bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopGrace()
	if !visible && !n.closed && *n.o.Settings.CompleteOnHiddenGrace {
		n.hidden = time.AfterFunc(*n.o.Settings.HiddenGrace, func() { n.Notify(reasonHiddenGrace) })
	}
}

// stopGrace is called with mu held.
func (n *Notifier) stopGrace() {
	if n.hidden != nil {
		n.hidden.Stop()
		n.hidden = nil
	}
}
