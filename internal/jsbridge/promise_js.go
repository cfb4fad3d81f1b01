//go:build js && wasm

package jsbridge

import (
	"context"
	"errors"
	"syscall/js"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Promise runs fn on a goroutine of its own and returns a promise of its result,
// converted by ToJS. An error rejects it with an AgentError (see ErrorValue), a
// panic with internal_error. fn may block; what it does before it first blocks is done
// before the JavaScript caller continues.
func Promise(fn func() (any, error)) js.Value {
	promise, resolve, reject := resolvers()
	go func() {
		// The error if fn ends the goroutine (runtime.Goexit) instead of returning.
		err := errors.New("the call ended without a result")
		var result js.Value
		defer func() {
			if r := recover(); r != nil {
				err = reportPanic(r)
			}
			if err != nil {
				reject.Invoke(ErrorValue(err))
				return
			}
			resolve.Invoke(result)
		}()
		result, err = outcome(fn)
	}()
	return promise
}

// Result runs fn, which must not block, and returns its converted result, or an
// AgentError that the JavaScript side throws, because a Go callback cannot throw.
func Result(fn func() (any, error)) (v js.Value) {
	defer func() {
		if r := recover(); r != nil {
			v = ErrorValue(reportPanic(r))
		}
	}()
	v, err := outcome(fn)
	if err != nil {
		return ErrorValue(err)
	}
	return v
}

func outcome(fn func() (any, error)) (js.Value, error) {
	v, err := fn()
	if err != nil {
		return js.Undefined(), err
	}
	return ToJS(v)
}

// resolvers creates a pending promise with its resolve and reject functions. The
// constructor calls the executor before it returns, so the executor's Func can be
// released at once.
func resolvers() (promise, resolve, reject js.Value) {
	executor := FuncOf(func(_ js.Value, args []js.Value) any {
		resolve, reject = args[0], args[1]
		return nil
	})
	defer executor.Release()
	promise = promiseCtor.New(executor.Value)
	return promise, resolve, reject
}

// Await waits for promise, or any value, and returns what it resolves to; a
// rejection is returned as an *Error. When ctx ends first, Await returns ctx.Err()
// at once; the work behind the promise continues unless something else stops it
// (see SignalFromContext). Await must not be called in a callback.
//
// The two callbacks are released when one of them is called, never earlier: calling a
// released callback prints an error on the page's console. To release them also for a
// promise that never settles, they are attached to a race between the promise and a
// second one that is resolved when ctx ends.
func Await(ctx context.Context, promise js.Value) (js.Value, error) {
	gate, open, _ := resolvers()
	type result struct {
		value js.Value
		err   error
	}
	settled := make(chan result, 1)
	var fulfilled, rejected *Func
	settle := func(r result) any {
		fulfilled.Release()
		rejected.Release()
		settled <- r
		return nil
	}
	fulfilled = FuncOf(func(_ js.Value, args []js.Value) any { return settle(result{value: arg(args, 0)}) })
	rejected = FuncOf(func(_ js.Value, args []js.Value) any { return settle(result{err: thrown(arg(args, 0))}) })

	// These calls cannot throw: they use the page's functions as they were when the
	// program started, on an array and a promise created here.
	race := promiseRace.Invoke(arrayOf.Invoke(promise, gate))
	reflectApply.Invoke(promiseThen, race, arrayOf.Invoke(fulfilled.Value, rejected.Value))

	select {
	case r := <-settled:
		return r.value, r.err
	case <-ctx.Done():
		open.Invoke()
		select {
		case r := <-settled:
			return r.value, r.err
		default:
			return js.Undefined(), ctx.Err()
		}
	}
}

// ContextFromSignal returns a context that ends when parent does, when cancel is
// called or when the page aborts signal; in the last case the cause is signal.reason
// as an *Error. An undefined or null signal is ignored. Any other value that is not an
// AbortSignal is a bad_request. The caller has to call cancel.
func ContextFromSignal(parent context.Context, signal js.Value) (context.Context, context.CancelFunc, error) {
	if Absent(signal) {
		ctx, cancel := context.WithCancel(parent)
		return ctx, cancel, nil
	}
	// Checked by its properties, because a signal of another frame or of a polyfill
	// is not an instance of this frame's AbortSignal.
	aborted, err := Get(signal, "aborted")
	if err != nil || typeName(aborted) != "boolean" {
		return nil, nil, fault.New(fault.BadRequest, "signal must be an AbortSignal, got "+typeName(signal))
	}
	ctx, cancel := context.WithCancelCause(parent)
	abort := func() { cancel(abortReason(signal)) }
	scope := NewScope(nil)
	if err := scope.Listen(signal, "abort", func(js.Value) { abort() }); err != nil {
		cancel(nil)
		return nil, nil, fault.New(fault.BadRequest, "signal must be an AbortSignal, got "+typeName(signal))
	}
	if aborted.Bool() {
		abort()
	}
	// Removes the listener whenever the context ends, also when parent does.
	context.AfterFunc(ctx, scope.End)
	return ctx, func() {
		scope.End()
		cancel(nil)
	}, nil
}

func abortReason(signal js.Value) error {
	reason, err := Get(signal, "reason")
	if err != nil {
		return err
	}
	return thrown(reason)
}

// SignalFromContext returns an AbortSignal that is aborted when ctx ends. The
// caller has to call stop once the work that got the signal is done.
func SignalFromContext(ctx context.Context) (signal js.Value, stop func()) {
	controller := abortCtor.New()
	unhook := context.AfterFunc(ctx, func() {
		// In some engines, an exception of a page's listener propagates through abort.
		_, _ = Call(controller, "abort")
	})
	return controller.Get("signal"), func() { unhook() }
}
