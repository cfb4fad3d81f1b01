//go:build js && wasm

package jsbridge

import (
	"slices"
	"syscall/js"
)

// Scope owns callbacks and listeners for as long as a session, an element or a
// request lives. It belongs to the Go side that made it; like everything around
// js.Value it is used by one thread and needs no lock.
type Scope struct {
	onPanic func(error)
	ends    []*ending
	ended   bool
}

// ending is one thing to undo; a pointer, because funcs don't compare.
type ending struct{ undo func() }

// NewScope returns an empty Scope. When one of its callbacks or goroutines
// panics, onPanic gets the internal_error after it was logged; nil is allowed.
func NewScope(onPanic func(error)) *Scope {
	return &Scope{onPanic: onPanic}
}

// Func returns fn as a function for JavaScript, released by End. fn must not wait.
func (s *Scope) Func(fn func(this js.Value, args []js.Value) any) js.Value {
	f := guardedFunc(s.onPanic, fn)
	s.add(f.Release)
	return f.Value
}

// Listen adds fn as a listener of target. It is removed and released by End, or
// earlier by the returned function. fn must not wait.
func (s *Scope) Listen(target js.Value, event string, fn func(event js.Value)) (remove func(), err error) {
	f := guardedFunc(s.onPanic, func(_ js.Value, args []js.Value) any {
		fn(arg(args, 0))
		return nil
	})
	if _, err := Call(target, "addEventListener", event, f); err != nil {
		f.Release()
		return nil, err
	}
	return s.add(func() {
		// Released even when this fails: a target that cannot remove a
		// listener is gone for good, a closed foreign window for example.
		_, _ = Call(target, "removeEventListener", event, f)
		f.Release()
	}), nil
}

// OnEnd has End call fn, after what was added later. Once the scope has ended, fn
// is called at once.
func (s *Scope) OnEnd(fn func()) { s.add(fn) }

// Go runs fn on a goroutine whose panic is logged and reported instead of ending
// the program.
func (s *Scope) Go(fn func()) { go s.Do(fn) }

// Do runs fn like Go, but on the calling goroutine: one that a library started
// with a callback of ours.
func (s *Scope) Do(fn func()) {
	defer guard(s.onPanic)
	fn()
}

// child returns a Scope that ends with s, if it doesn't end before.
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
