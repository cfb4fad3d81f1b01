// Package session contains what sessions of every kind share: the serial queue that
// owns a session's state, the delivery of its events, warnings and logs ([Base]), the
// brain's client commands ([Tools]), the stall watchdog and the prompt's variables.
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

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// Hooks connect a [Base] to the session around it and to the application. Those
// of the application may be nil.
type Hooks struct {
	// Publish stores a snapshot of the session's state. It runs on the
	// queue, after each function and before each event.
	Publish func()
	// Crashed ends the session after a panic in it. It runs on the queue.
	Crashed func(*fault.Error)
	// Actor returns the ids of an audit event. It is called on any goroutine.
	Actor func() Actor

	// OnEvent and OnEvents are those of [Options].
	OnEvent      func(event.Event)
	OnEvents     func([]event.Timed)
	OnAuditEvent func(event.Audit)
	Log          func(level, message string, data map[string]any)
}

// Actor is the visitor and the conversation of an audit event.
type Actor struct{ PartnerID, SubjectID, ThreadID string }

// Base has the two queues of a session: Work owns its state, and a second one calls
// the listener, so that a slow or re-entrant listener never blocks the session.
type Base struct {
	Work Queue
	// Secrets are left out of everything that the session logs and reports.
	Secrets *fault.Secrets

	delivery    Queue
	undelivered atomic.Int64 // events that the listener has not received yet
	hooks       Hooks

	mu sync.Mutex
	// gathered are the events that the newest function on delivery will pass to the
	// listener, nil if that function does something else.
	gathered *[]event.Timed
	// subscriptions receive events beside the listener; none is added once finished.
	subscriptions []*Subscription
	finished      bool
}

// Start sets b up. It must be called before any other method.
func (b *Base) Start(h Hooks) {
	b.Secrets = fault.NewSecrets(b)
	b.hooks = h
	b.hooks.Log = Logger(h.Log)
	b.Work.after = h.Publish
	b.Work.caught = b.crashed
	b.delivery.caught = func(p any) { b.Log("error", "a listener panicked: "+panicked(p), nil) }
}

// Emit hands e to the listener, after everything emitted before it. What the
// listener can read of the session is at least as new as e.
func (b *Base) Emit(e event.Event) { b.EmitAt(e, time.Now()) }

// EmitAt is Emit for an event that happened before.
func (b *Base) EmitAt(e event.Event, at time.Time) {
	if failed, ok := e.(event.Failed); ok && failed.Error != nil {
		b.AuditFailure(failed.Error)
	}
	b.hooks.Publish() // also without a listener: a call that returns next, such as Connect, is as new
	if d, ok := e.(event.Diagnostic); ok {
		e = d.Redacted()
	}
	b.mu.Lock()
	for _, u := range b.subscriptions {
		u.Add(e)
	}
	if b.hooks.OnEvent == nil && b.hooks.OnEvents == nil {
		b.mu.Unlock()
		return
	}
	b.undelivered.Add(1)
	if b.gathered == nil {
		events := new([]event.Timed)
		b.gathered = events
		b.delivery.Post(func() { b.deliver(events) })
	}
	*b.gathered = append(*b.gathered, event.Timed{Event: e, At: at})
	b.mu.Unlock()
}

// deliver hands events to the listener.
func (b *Base) deliver(events *[]event.Timed) {
	b.mu.Lock()
	if b.gathered == events {
		b.gathered = nil
	}
	b.mu.Unlock()
	if b.hooks.OnEvents != nil {
		b.delivery.run(func() { b.hooks.OnEvents(*events) })
		b.undelivered.Add(-int64(len(*events)))
		return
	}
	for _, e := range *events {
		b.delivery.run(func() { b.hooks.OnEvent(e.Event) })
		b.undelivered.Add(-1)
	}
}

// Warn emits a warning with no more than a detail.
func (b *Base) Warn(code fault.Code, detail string) {
	b.Warning(event.Warning{Code: code, Detail: detail})
}

// Warning emits w with its code's message.
func (b *Base) Warning(w event.Warning) {
	w.Message = fault.New(w.Code, "").Title
	b.Emit(w)
}

// Audit emits a redacted security event (session §C.4).
func (b *Base) Audit(kind, outcome, reason string) {
	if b.hooks.OnAuditEvent == nil {
		return
	}
	who := b.hooks.Actor()
	area, action, _ := strings.Cut(kind, ".")
	e := event.Audit{
		At: stamp(time.Now()), Type: kind, Severity: "info", Outcome: outcome, RequestID: RandomID(auditIDLength),
		Actor:  event.AuditActor{PartnerID: who.PartnerID, SubjectID: who.SubjectID, Kind: "user"},
		Target: who.ThreadID, Action: action, Scope: "session", Reason: fault.Redact(reason), Source: "runtime",
		Meta: map[string]any{},
	}
	if outcome == "denied" || outcome == "failed" || strings.HasPrefix(kind, "tool.spiral") {
		e.Severity = "warning"
	}
	if area == "agent" || area == "tool" || kind == "turn.avatar_spoke" {
		e.Actor.Kind = "agent"
	}
	b.AfterDelivered(func() { b.hooks.OnAuditEvent(e) })
}

const auditIDLength = 16

// AuditFailure emits a security event if err is one: a token that the service refused,
// or an address that the session refused.
func (b *Base) AuditFailure(err *fault.Error) {
	switch err.Code {
	case fault.Unauthorized, fault.Forbidden, fault.PeerRemoved:
		b.Audit("auth.fail", "denied", string(err.Code))
	case fault.WHEPPrivateIP, fault.InsecureTransport:
		b.Audit("guard.reject", "denied", string(err.Code))
	}
}

// Log gives the application a message for its developers. It may be called on any
// goroutine.
func (b *Base) Log(level, message string, data map[string]any) { b.hooks.Log(level, message, data) }

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
func (b *Base) Flooded() bool { return b.undelivered.Load() > MaxUndelivered }

// WaitDelivered blocks until everything posted so far has run, the listener has received
// the events, and what the listener then posted has run too. It must not be called by a
// listener or from the queue.
func (b *Base) WaitDelivered() {
	b.Work.Call(func() {})
	b.delivery.Call(func() {})
	b.Work.Call(func() {})
}

// Settle blocks until the completion signal of *last was sent or failed, and the listener
// has received the outcome. It reads *last, which may be nil, on the queue.
func (b *Base) Settle(last **sessionend.Notifier) {
	var c *sessionend.Notifier
	b.Work.Call(func() { c = *last })
	if c != nil {
		c.Wait()
	}
	b.WaitDelivered()
}

// AfterDelivered runs f when the listener has received every event so far. It does not
// block.
func (b *Base) AfterDelivered(f func()) {
	b.mu.Lock()
	b.gathered = nil // what is emitted from now on comes after f
	b.delivery.Post(f)
	b.mu.Unlock()
}

// Completed emits the outcome of an attempt to send the completion signal.
func (b *Base) Completed(a sessionend.Attempt) {
	b.Work.Post(func() {
		outcome := "sent"
		switch {
		case a.Suppressed:
			outcome = "suppressed"
		case !a.Sent:
			outcome = "failed"
		}
		b.Audit("session.complete", outcome, a.Reason)
		b.Emit(event.SessionCompleted{Reason: a.Reason, Sent: a.Sent, Suppressed: a.Suppressed, Peers: a.Peers})
	})
}

// Spawn runs f on a goroutine of its own; a panic in f ends this session only.
func (b *Base) Spawn(f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				b.crashed(p)
			}
		}()
		f()
	}()
}

// crashed ends this session, and only this one, after a panic: a bug must not
// end the whole program.
func (b *Base) crashed(p any) {
	b.Log("error", "panic: "+panicked(p), nil)
	b.Work.Post(func() { b.hooks.Crashed(fault.New(fault.InternalError, fault.PanicText(p))) })
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

// Ask runs f on the queue of b and returns the value that f sends on its channel. f must
// send before it returns. The error is internal_error if it doesn't, or that of the end
// of ctx. Ask must not be called from the queue.
func Ask[T any](ctx context.Context, b *Base, f func(chan<- T)) (T, error) {
	result := make(chan T, 1)
	b.Work.Post(func() {
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
		end.Because(&because{ctx.Err(), cause})
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
func (b *Base) After(d time.Duration, f func()) *Timer {
	t := &Timer{}
	t.t = time.AfterFunc(d, func() {
		b.Work.Post(func() {
			if !t.stopped {
				f()
			}
		})
	})
	return t
}

// Watchdog emits brainStalled for every period in which nothing arrived from the
// brain (protocol §8.7). It must be used on the queue only.
type Watchdog struct {
	Base   *Base
	Period time.Duration // 0 is off

	timer *Timer
	count int
}

// Arm starts the watchdog, or restarts it.
func (w *Watchdog) Arm() {
	w.Disarm()
	if w.Period > 0 {
		w.count = 0
		w.timer = w.Base.After(w.Period, w.fire)
	}
}

// Disarm stops the watchdog.
func (w *Watchdog) Disarm() { w.timer.Stop() }

func (w *Watchdog) fire() {
	w.count++
	w.Base.Emit(event.BrainStalled{AfterMs: w.Period.Milliseconds(), Count: w.count})
	w.timer = w.Base.After(w.Period, w.fire)
}

// DisconnectOptions are the options of a session's Disconnect.
type DisconnectOptions struct {
	// Keep leaves the conversation open at the service: no completion signal.
	Keep bool
	// Reason is what ended and sessionCompleted report. Default "disconnect".
	Reason string
}

// Status is the present state that sessions with a connection of their own have in common.
type Status struct {
	ThreadID        string
	Kickoff         *event.Kickoff
	ResponsePending bool
	Ended           bool             // no turn can be sent any more
	Timings         map[string]int64 // of the connect; nil if connecting takes no time
}
