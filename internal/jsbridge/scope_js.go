//go:build js && wasm

package jsbridge

import (
	"math"
	"slices"
	"sync"
	"syscall/js"
	"time"
)

// Scope owns callbacks and listeners until the end of a session, an element or a
// request. A wasm program has one thread, so a Scope needs no lock.
type Scope struct {
	onPanic func(error)
	ends    []*ending
	ended   bool
}

// ending is one action to undo. It is used as a pointer, because funcs can't be compared.
type ending struct{ undo func() }

// NewScope returns an empty Scope. When one of its callbacks or goroutines panics, the
// panic is logged and onPanic, if not nil, is called with the internal_error.
func NewScope(onPanic func(error)) *Scope {
	return &Scope{onPanic: onPanic}
}

// Func returns fn as a function for JavaScript, released by End. fn must not block.
func (s *Scope) Func(fn func(this js.Value, args []js.Value) any) js.Value {
	f := guardedFunc(s.onPanic, fn)
	s.add(f.Release)
	return f.Value
}

// Listen adds fn as a listener of target, which End removes and releases. fn must not block.
func (s *Scope) Listen(target js.Value, event string, fn func(event js.Value)) error {
	f := guardedFunc(s.onPanic, func(_ js.Value, args []js.Value) any {
		fn(arg(args, 0))
		return nil
	})
	if _, err := Call(target, "addEventListener", event, f); err != nil {
		f.Release()
		return err
	}
	s.add(func() {
		// f is released even when this fails: a target that fails here, such as a
		// closed window, dispatches no more events.
		_, _ = Call(target, "removeEventListener", event, f)
		f.Release()
	})
	return nil
}

// OnEnd makes End call fn, after everything that was added later than fn. If the scope
// has already ended, fn is called at once.
func (s *Scope) OnEnd(fn func()) { s.add(fn) }

// Go runs fn on a goroutine whose panic is logged and reported instead of ending
// the program.
func (s *Scope) Go(fn func()) { go s.Do(fn) }

// Do runs fn like Go, but on the calling goroutine, which is typically one that a library
// started to call a callback of this module.
func (s *Scope) Do(fn func()) {
	defer guard(s.onPanic)
	fn()
}

// child returns a Scope that ends at the latest with s.
func (s *Scope) child() *Scope {
	c := NewScope(s.onPanic)
	c.OnEnd(s.add(c.End))
	return c
}

// End undoes everything, newest first: listeners are removed, then their Func is
// released. A second End does nothing.
func (s *Scope) End() {
	s.ended = true
	for len(s.ends) > 0 {
		last := s.ends[len(s.ends)-1]
		s.ends = s.ends[:len(s.ends)-1]
		s.Do(last.undo)
	}
}

// add registers undo and returns a function that undoes it early, once.
func (s *Scope) add(undo func()) (early func()) {
	e := &ending{undo}
	if s.ended {
		s.Do(e.undo)
		return func() {}
	}
	s.ends = append(s.ends, e)
	return func() {
		if i := slices.Index(s.ends, e); i >= 0 {
			s.ends = slices.Delete(s.ends, i, i+1)
			s.Do(e.undo)
		}
	}
}

// arg returns args[i], or undefined when JavaScript passed fewer.
func arg(args []js.Value, i int) js.Value {
	if i < len(args) {
		return args[i]
	}
	return js.Undefined()
}

// liveFuncs counts the Funcs that are not released. Goroutines of a wasm program
// share one thread and switch only where they block, so it needs no lock.
var liveFuncs int

// LiveFuncs returns the number of Funcs that are not released. The number is back at
// its earlier value when all listeners and pending calls have ended.
func LiveFuncs() int { return liveFuncs }

// Func is a Go function that JavaScript can call through its Value. It is not garbage
// collected: its owner must release it.
type Func struct {
	js.Value
	fn       js.Func
	released bool
}

// FuncOf makes a Func of fn. A nil result becomes undefined; a panic in fn is logged,
// and the call returns undefined too. fn must not block.
func FuncOf(fn func(this js.Value, args []js.Value) any) *Func {
	return guardedFunc(nil, fn)
}

// guardedFunc is FuncOf with a handler of panics; onPanic may be nil.
func guardedFunc(onPanic func(error), fn func(this js.Value, args []js.Value) any) *Func {
	f := js.FuncOf(func(this js.Value, args []js.Value) (result any) {
		result = js.Undefined()
		defer guard(onPanic)
		if v := fn(this, args); v != nil {
			result = v
		}
		return result
	})
	liveFuncs++
	return &Func{Value: f.Value, fn: f}
}

// Release frees f; a second time does nothing. It may be called inside f itself.
// JavaScript must not call f afterwards, so listeners are removed first.
func (f *Func) Release() {
	if f.released {
		return
	}
	f.released = true
	liveFuncs--
	f.fn.Release()
}

// Event is one event for JavaScript.
type Event struct {
	Name    string
	Payload any // nil is undefined
	At      time.Time
}

// clock relates Go's clock to that of the page: both are monotonic.
var clock = sync.OnceValue(func() (c struct {
	at time.Time
	ms float64
},
) {
	now := func() float64 {
		v, err := Call(js.Global().Get("performance"), "now")
		if err != nil || v.Type() != js.TypeNumber {
			return 0
		}
		return v.Float()
	}
	// The shortest of three readings: on a busy machine one of them may be interrupted.
	shortest := math.Inf(1)
	for range 3 {
		before, at, after := now(), time.Now(), now()
		if after-before < shortest {
			shortest, c.at, c.ms = after-before, at, (before+after)/2
		}
	}
	return c
})

// PageTime returns t on the clock of the page's performance.now(), in milliseconds.
func PageTime(t time.Time) float64 {
	c := clock()
	return math.Round(10*(c.ms+float64(t.Sub(c.at))/float64(time.Millisecond))) / 10
}

// TimeOf is the reverse of [PageTime].
func TimeOf(ms float64) time.Time {
	c := clock()
	return c.at.Add(time.Duration((ms - c.ms) * float64(time.Millisecond)))
}

// Emit converts the payloads with ToJS and calls dispatch, a function of js/src/core/emitter.ts
// that takes an array of names, payloads and times in turn and calls the listeners, before it
// returns. The listeners may call back into Go, so the caller must not hold a lock. Emit fails
// when dispatch throws, or when a payload cannot be converted, in which case the other events
// are still emitted; exceptions of listeners stay in JavaScript.
func Emit(dispatch js.Value, events ...Event) error {
	list := make([]any, 0, 3*len(events))
	for _, one := range events {
		payload := one.Payload
		if payload == nil {
			payload = js.Undefined()
		}
		list = append(list, one.Name, payload, PageTime(one.At))
	}
	all, err := ToJS(list)
	switch {
	case err == nil:
		if _, err = Invoke(dispatch, all); err == nil {
			return nil
		}
	case len(events) > 1:
		err = nil
		for _, one := range events {
			if failed := Emit(dispatch, one); failed != nil {
				err = failed
			}
		}
		return err
	default:
		_, err = ToJS(events[0].Payload) // for an error with the path inside the payload
	}
	return during("emit "+events[0].Name, err)
}
