//go:build js && wasm

package jsbridge

import "syscall/js"

// liveFuncs counts the Funcs that are not released. Goroutines of a wasm program
// share one thread and change only where they wait, so it needs no lock.
var liveFuncs int

// LiveFuncs returns the number of Funcs that exist and are not released. It is
// back at its old value when everything that listened or waited has ended.
func LiveFuncs() int { return liveFuncs }

// Func is a Go function that JavaScript can call, through its Value. It is never
// collected by itself: its owner releases it.
type Func struct {
	js.Value
	fn       js.Func
	released bool
}

// FuncOf makes a Func of fn. A result of nil is undefined; a panic in fn is logged
// and the call returns undefined too. fn must not wait.
func FuncOf(fn func(this js.Value, args []js.Value) any) *Func {
	return guardedFunc(nil, fn)
}

// guardedFunc is FuncOf with somebody to tell about a panic; onPanic may be nil.
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
