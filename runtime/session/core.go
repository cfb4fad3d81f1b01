// Package session contains what sessions of every kind share: the [Core] with the serial queue
// that owns a session's state, the delivery of its events, the brain's client commands
// ([Tools]), tokens, the times of turns, the stall watchdog and the completion signal; and the
// methods that every session has ([Conversation]).
//
// It must not depend on how a session reaches the service, nor on media.
package session

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Core is what every session is made of: two queues, one of which owns its state while the
// other calls the listener, so that a slow or re-entrant listener never blocks the session;
// and, for a session that reaches the service itself ([Core.Reach]), what such sessions share.
// The fields belong to Work's queue.
type Core struct {
	Work Queue
	// Secrets are left out of everything that the session logs and reports.
	Secrets *fault.Secrets

	Token  string         // the only copy; the end of the session clears it
	Thread string         // its id, "" while it is not known
	Vars   map[string]any // of the prompt; never changed, only replaced, because requests use it
	Caps   map[string]string

	// Pending is whether responsePending was emitted and not settled.
	Pending bool

	Tools  Tools
	Tokens Tokens
	Turns  Turns
	Stall  Watchdog

	// Notifier sends the completion signal, nil while there is no conversation to complete.
	Notifier *completion.Notifier
	last     *completion.Notifier // the newest that was dropped

	// Life lasts as long as a conversation; functions of the application are called with it.
	Life context.Context
	die  context.CancelFunc

	// Running counts what [Core.Close] waits for: readers, requests that must arrive, and calls on
	// connections of their own.
	Running sync.WaitGroup
	free    func() // closes the connections for requests; nil without any

	kind Kind
	opts *Options

	warnedEmpty bool // of an empty turn

	delivery    Queue
	undelivered atomic.Int64 // events that the listener has not received yet

	mu sync.Mutex
	// gathered are the events that the newest function on delivery will pass to the
	// listener, nil if that function does something else.
	gathered *[]event.Timed
	// subscriptions receive events beside the listener; none is added once finished.
	subscriptions []*Subscription
	finished      bool
}

// Kind is what differs between the kinds of sessions. Functions without a result run on the
// queue, the others on any goroutine, except where a field says otherwise.
type Kind struct {
	Name string // for messages, e.g. "avatar session"
	// Status returns the state as it was published last.
	Status func() Status
	// Publish stores a snapshot of the session's state, after each function on the queue and
	// before each event.
	Publish func()
	// Crashed ends the session after a panic in it.
	Crashed func(*fault.Error)

	// SetToken and MergeVars replace the token and change the variables; nil means
	// [Core.SetToken] and [Core.MergeVars].
	SetToken  func(token string)
	MergeVars func(vars map[string]any)

	// The others are of sessions that reach the service themselves.

	// Disconnect is the session's method.
	Disconnect func(DisconnectOptions)
	// Completing returns the sender of the completion signal, nil once the session has ended.
	// It runs on the queue.
	Completing func() *completion.Notifier
	// Place identifies the server-side session: a tool's answer is too late if it has changed
	// by the time the reply arrives. It runs on the queue; nil means that there is none.
	Place func() any
}

// Status is the present state of a session, in what sessions of all kinds have in common.
type Status struct {
	State     string
	Connected bool // it accepts calls that need the service
	Final     bool // it can't connect again, and so needs no token

	PartnerID       string
	ThreadID        string
	Kickoff         *event.Kickoff
	ResponsePending bool
	Ended           bool             // no turn can be sent any more
	Timings         map[string]int64 // of the connect; nil if connecting takes no time
}

// DisconnectOptions are the options of a session's Disconnect.
type DisconnectOptions struct {
	// Keep leaves the conversation open at the service: no completion signal.
	Keep bool
	// Reason is what ended and sessionCompleted report. Default "disconnect".
	Reason string
}

// Start sets c up; o must not change afterwards. It must be called before any other method.
func (c *Core) Start(o *Options, kind Kind) {
	c.Secrets = fault.NewSecrets(c)
	if kind.SetToken == nil {
		kind.SetToken = c.SetToken
	}
	if kind.MergeVars == nil {
		kind.MergeVars = c.MergeVars
	}
	if kind.Place == nil {
		kind.Place = func() any { return nil }
	}
	c.opts, c.kind = o, kind
	o.Log = Logger(o.Log)
	c.Tools.core, c.Tokens.core, c.Turns.core, c.Stall.core = c, c, c, c
	c.Work.after = kind.Publish
	c.Work.caught = c.crashed
	c.delivery.caught = func(p any) { c.Log("error", "a listener panicked: "+panicked(p), nil) }
}

// Reach prepares a session that reaches the service itself: its token, which is removed from
// the options, its thread, variables and capabilities, which override caps, and its
// connections. The error is a *[fault.Error] about the options.
func (c *Core) Reach(caps map[string]string) (err error) {
	o := c.opts
	if c.Vars, err = converse.CheckVars(o.RequestVars); err != nil {
		return err
	}
	if c.Caps, err = converse.MergeCapabilities(caps, o.Capabilities); err != nil {
		return err
	}
	if o.PartnerID == "" {
		o.PartnerID = PartnerOf(o.Token)
	}
	c.Token, c.Thread = o.Token, o.ThreadID
	c.Tokens.Since = time.Now().Add(-o.TokenAge)
	o.Token, o.RequestVars = "", nil
	c.Secrets.Add(c.Token)
	c.Secrets.AddNamed(c.Vars)
	network, free := fetch.Open(o.HTTPClient)
	o.HTTPClient, c.free = fetch.As(network), free
	return nil
}

// Begin begins a conversation.
func (c *Core) Begin() {
	c.Life, c.die = context.WithCancel(context.Background())
}

// Die ends what [Core.Begin] has begun for the functions of the application.
func (c *Core) Die() {
	if c.die != nil {
		c.die()
	}
}

// SetToken stores the token for later requests.
func (c *Core) SetToken(token string) {
	c.Token, c.Tokens.Since = token, time.Now()
	c.Arm()
	if c.Tokens.ahead != nil { // else a session that has ended would ask for tokens for ever
		c.Tokens.Watch()
	}
}

// MergeVars changes the variables for later requests.
func (c *Core) MergeVars(vars map[string]any) { c.Vars = Merged(c.Vars, vars) }

// Notify makes the sender of the completion signal. page is nil for a session that is not
// connected, which must not announce itself to other tabs; network, which may be nil, is
// called on any goroutine when the browser goes online or offline.
func (c *Core) Notify(page completion.Page, network func(online bool)) {
	settings := c.opts.Settings
	settings.Page = page
	c.Notifier = completion.New(completion.Options{
		URL:        *c.opts.GenieURL,
		HTTPClient: c.opts.HTTPClient,
		Trace:      c.opts.TraceContext,
		Settings:   settings,
		// The page unloads: every request must be under way when this returns.
		Leave:   func(reason string) { c.kind.Disconnect(DisconnectOptions{Reason: reason}) },
		Network: network,
		Attempt: c.completed,
		Renew:   c.Tokens.Source(),
	})
	c.Arm()
}

// Arm sets the thread and the token of the completion signal, so that it can be sent without
// waiting for the queue.
func (c *Core) Arm() {
	if c.Notifier != nil {
		c.Notifier.SetThread(c.Thread, c.Token)
	}
}

// AdoptThread stores the thread that a segment of the brain names, if the session has none yet.
func (c *Core) AdoptThread(seg *converse.Segment) {
	if c.Thread == "" && seg.ThreadID != "" {
		c.Thread = seg.ThreadID
		c.Arm()
	}
}

// DropNotifier closes the sender of the completion signal, and keeps it for [Core.Settle],
// which waits for its request.
func (c *Core) DropNotifier() {
	if n := c.Notifier; n != nil {
		c.Notifier, c.last = nil, n
		n.Close()
		c.Running.Go(n.Wait)
	}
}

// Emit hands e to the listener, after everything emitted before it. What the
// listener can read of the session is at least as new as e.
func (c *Core) Emit(e event.Event) { c.EmitAt(e, time.Now()) }

// EmitAt is Emit for an event that happened before.
func (c *Core) EmitAt(e event.Event, at time.Time) {
	if failed, ok := e.(event.Failed); ok && failed.Error != nil {
		c.AuditFailure(failed.Error)
	}
	c.kind.Publish() // also without a listener: a call that returns next, such as Connect, is as new
	if d, ok := e.(event.Diagnostic); ok {
		e = d.Redacted()
	}
	c.mu.Lock()
	for _, u := range c.subscriptions {
		u.Add(e)
	}
	if c.opts.OnEvent == nil && c.opts.OnEvents == nil {
		c.mu.Unlock()
		return
	}
	c.undelivered.Add(1)
	if c.gathered == nil {
		events := new([]event.Timed)
		c.gathered = events
		c.delivery.Post(func() { c.deliver(events) })
	}
	*c.gathered = append(*c.gathered, event.Timed{Event: e, At: at})
	c.mu.Unlock()
}

// deliver hands events to the listener.
func (c *Core) deliver(events *[]event.Timed) {
	c.mu.Lock()
	if c.gathered == events {
		c.gathered = nil
	}
	c.mu.Unlock()
	if c.opts.OnEvents != nil {
		c.delivery.run(func() { c.opts.OnEvents(*events) })
		c.undelivered.Add(-int64(len(*events)))
		return
	}
	for _, e := range *events {
		c.delivery.run(func() { c.opts.OnEvent(e.Event) })
		c.undelivered.Add(-1)
	}
}

// Warn emits a warning with no more than a detail.
func (c *Core) Warn(code fault.Code, detail string) {
	c.Warning(event.Warning{Code: code, Detail: detail})
}

// Warning emits w with its code's message.
func (c *Core) Warning(w event.Warning) {
	w.Message = fault.New(w.Code, "").Title
	c.Emit(w)
}

// SetPending emits responsePending and responseSettled in turn (session §O6).
func (c *Core) SetPending(pending bool) {
	switch {
	case pending == c.Pending:
		return
	case pending:
		c.Pending = true
		c.Emit(event.ResponsePending{})
	default:
		c.Pending = false
		c.Emit(event.ResponseSettled{})
	}
}

// TurnWasEmpty warns, once, if vars were sent with a turn that stayed empty: the service may have
// refused them silently (protocol §10.3).
func (c *Core) TurnWasEmpty(vars map[string]any) {
	if len(vars) > 0 && !c.warnedEmpty {
		c.warnedEmpty = true
		c.Warning(event.Warning{Code: fault.EmptyTurnWithRequestVars, RequestVarKeys: converse.VarNames(vars)})
	}
}

// Audit emits a redacted security event (session §C.4).
func (c *Core) Audit(kind, outcome, reason string) {
	if c.opts.OnAuditEvent == nil {
		return
	}
	who := c.kind.Status()
	area, action, _ := strings.Cut(kind, ".")
	e := event.Audit{
		At: Stamp(time.Now()), Type: kind, Severity: "info", Outcome: outcome, RequestID: RandomID(auditIDLength),
		Actor:  event.AuditActor{PartnerID: who.PartnerID, SubjectID: c.opts.SubjectID, Kind: "user"},
		Target: who.ThreadID, Action: action, Scope: "session", Reason: fault.Redact(reason), Source: "runtime",
		Meta: map[string]any{},
	}
	if outcome == "denied" || outcome == "failed" || strings.HasPrefix(kind, "tool.spiral") {
		e.Severity = "warning"
	}
	if area == "agent" || area == "tool" || kind == "turn.avatar_spoke" {
		e.Actor.Kind = "agent"
	}
	c.AfterDelivered(func() { c.opts.OnAuditEvent(e) })
}

const auditIDLength = 16

// AuditFailure emits a security event if err is one: a token that the service refused,
// or an address that the session refused.
func (c *Core) AuditFailure(err *fault.Error) {
	switch err.Code {
	case fault.Unauthorized, fault.Forbidden, fault.PeerRemoved:
		c.Audit("auth.fail", "denied", string(err.Code))
	case fault.WHEPPrivateIP, fault.InsecureTransport:
		c.Audit("guard.reject", "denied", string(err.Code))
	}
}

// Log gives the application a message for its developers. It may be called on any
// goroutine.
func (c *Core) Log(level, message string, data map[string]any) { c.opts.Log(level, message, data) }

// Logger makes log safe to call: message and data are redacted, and a panic in log is
// ignored. If log is nil, a native program gets bugs in its own log, and nothing else.
func Logger(log func(level, message string, data map[string]any)) func(level, message string, data map[string]any) {
	if log == nil {
		log = logFailures
	}
	return func(level, message string, data map[string]any) {
		_, _ = Guarded(func() (any, error) {
			var clean map[string]any
			if len(data) > 0 {
				clean, _ = fault.RedactValue(data).(map[string]any)
			}
			log(level, fault.Redact(message), clean)
			return nil, nil
		})
	}
}

// MaxUndelivered is how many events may wait for the listener before a session reads
// more slowly, so that a flood from the service can't fill the memory.
const MaxUndelivered = 1024

// Flooded reports whether more than MaxUndelivered events wait for the listener.
func (c *Core) Flooded() bool { return c.undelivered.Load() > MaxUndelivered }

// WaitDelivered blocks until everything posted so far has run, the listener has received
// the events, and what the listener then posted has run too. It must not be called by a
// listener or from the queue.
func (c *Core) WaitDelivered() {
	c.Work.Call(func() {})
	c.delivery.Call(func() {})
	c.Work.Call(func() {})
}

// Settle blocks until the completion signal was sent or failed, and the listener has received
// the outcome.
func (c *Core) Settle() {
	var n *completion.Notifier
	c.Work.Call(func() {
		if n = c.Notifier; n == nil {
			n = c.last
		}
	})
	if n != nil {
		n.Wait()
	}
	c.WaitDelivered()
}

// Close blocks until what runs has ended, and the listener has received every event of a
// session that was disconnected.
func (c *Core) Close() {
	c.Work.Call(func() {}) // the disconnect may still be on its way
	c.Running.Wait()
	if c.free != nil {
		c.free()
	}
	c.WaitDelivered()
	c.Finish()
}

// AfterDelivered runs f when the listener has received every event so far. It does not
// block.
func (c *Core) AfterDelivered(f func()) {
	c.mu.Lock()
	c.gathered = nil // what is emitted from now on comes after f
	c.delivery.Post(f)
	c.mu.Unlock()
}

// completed emits the outcome of an attempt to send the completion signal.
func (c *Core) completed(a completion.Attempt) {
	c.Work.Post(func() {
		outcome := "sent"
		switch {
		case a.Suppressed:
			outcome = "suppressed"
		case !a.Sent:
			outcome = "failed"
		}
		c.Audit("session.complete", outcome, a.Reason)
		c.Emit(event.SessionCompleted{Reason: a.Reason, Sent: a.Sent, Suppressed: a.Suppressed, Peers: a.Peers})
	})
}

// Spawn runs f on a goroutine of its own; a panic in f ends this session only.
func (c *Core) Spawn(f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				c.crashed(p)
			}
		}()
		f()
	}()
}

// crashed ends this session, and only this one, after a panic: a bug must not
// end the whole program.
func (c *Core) crashed(p any) {
	c.Log("error", "panic: "+panicked(p), nil)
	c.Work.Post(func() { c.kind.Crashed(fault.New(fault.InternalError, fault.PanicText(p))) })
}

// Guarded runs f, a function of the application, and returns a panic in it as an error.
func Guarded(f func() (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.InternalError, "the application's function panicked")
		}
	}()
	return f()
}

// Within is Until for a function that has a time limit.
func Within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return Until(ctx, f)
}

// Until calls f, a function of the application, which may fail, panic or never return, and waits
// for its result until ctx ends.
func Until[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	var value T
	ended := make(chan error, 1)
	go func() {
		_, err := Guarded(func() (_ any, err error) {
			value, err = f(ctx)
			return nil, err
		})
		ended <- err
	}()
	select {
	case err := <-ended:
		return value, err
	case <-ctx.Done():
		var none T
		return none, EndOf(ctx)
	}
}

// Ask runs f on the queue of c and returns the value that f sends on its channel. f must
// send before it returns. The error is internal_error if it doesn't, or that of the end
// of ctx. Ask must not be called from the queue.
func Ask[T any](ctx context.Context, c *Core, f func(chan<- T)) (T, error) {
	result := make(chan T, 1)
	c.Work.Post(func() {
		defer close(result) // also when f panics, which ends the session
		f(result)
	})
	var none T
	select {
	case v, ok := <-result:
		if !ok {
			return none, fault.New(fault.InternalError, "the session failed")
		}
		return v, nil
	case <-ctx.Done():
		return none, EndOf(ctx)
	}
}

// EndOf returns the error for the end of ctx: timeout for a deadline, otherwise aborted.
// The error wraps the cause of ctx, whatever it is.
func EndOf(ctx context.Context) *fault.Error {
	end := fault.From(ctx.Err())
	if cause := context.Cause(ctx); end != nil && !errors.Is(cause, ctx.Err()) {
		end.Wrap(&because{ctx.Err(), cause})
	}
	return end
}

// because is the end of a context and why it ended.
type because struct{ end, cause error }

func (b *because) Error() string   { return b.end.Error() + ": " + b.cause.Error() }
func (b *because) Unwrap() []error { return []error{b.end, b.cause} }

// panicked returns the text of p, a recovered panic, with the stack, for a log. It must
// be called where the panic was recovered.
func panicked(p any) string { return fault.PanicText(p) + "\n" + fault.Stack() }

// Timer is a function that will run on the queue unless it is stopped before.
// It must be used on the queue only. A nil Timer is a stopped one.
type Timer struct {
	t       *time.Timer
	stopped bool
}

// Stop keeps t from running.
func (t *Timer) Stop() {
	if t != nil {
		t.stopped = true // it may be on the queue already
		t.t.Stop()
	}
}

// After runs f on the queue when d has passed.
func (c *Core) After(d time.Duration, f func()) *Timer {
	t := &Timer{}
	t.t = time.AfterFunc(d, func() {
		c.Work.Post(func() {
			if !t.stopped {
				f()
			}
		})
	})
	return t
}

// Watchdog emits brainStalled for every period in which nothing arrived from the
// brain (protocol §8.7), in the interval of the options; 0 is off. It must be used on the
// queue only.
type Watchdog struct {
	core  *Core
	timer *Timer
	count int
}

// Arm starts the watchdog, or restarts it.
func (w *Watchdog) Arm() {
	w.Disarm()
	if period := *w.core.opts.BrainStall; period > 0 {
		w.count = 0
		w.timer = w.core.After(period, w.fire)
	}
}

// Disarm stops the watchdog.
func (w *Watchdog) Disarm() { w.timer.Stop() }

func (w *Watchdog) fire() {
	period := *w.core.opts.BrainStall
	w.count++
	w.core.Emit(event.BrainStalled{AfterMs: period.Milliseconds(), Count: w.count})
	w.timer = w.core.After(period, w.fire)
}
