//go:build js && wasm

package jsbridge

import (
	"context"
	"syscall/js"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// ContextFromSignal returns a context that ends when parent does, when cancel is
// called or when the page aborts signal; the cause is then signal.reason as an
// *Error. An undefined or null signal adds nothing. Anything else that is no
// AbortSignal is a bad_request. The caller has to call cancel.
func ContextFromSignal(parent context.Context, signal js.Value) (context.Context, context.CancelFunc, error) {
	if signal.IsUndefined() || signal.IsNull() {
		ctx, cancel := context.WithCancel(parent)
		return ctx, cancel, nil
	}
	// Told by its shape, because a signal of another frame or of a polyfill is
	// no instance of our AbortSignal.
	aborted, err := Get(signal, "aborted")
	if err != nil || kind(aborted) != "boolean" {
		return nil, nil, fault.New(fault.BadRequest, "signal must be an AbortSignal, got "+kind(signal))
	}
	ctx, cancel := context.WithCancelCause(parent)
	abort := func() { cancel(abortReason(signal)) }
	scope := NewScope(nil)
	if _, err := scope.Listen(signal, "abort", func(js.Value) { abort() }); err != nil {
		cancel(nil)
		return nil, nil, fault.New(fault.BadRequest, "signal must be an AbortSignal, got "+kind(signal))
	}
	if aborted.Bool() {
		abort()
	}
	// However the context ends, the listener goes; an ended parent is enough.
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
		// A listener of the page may throw through dispatch in odd engines.
		_, _ = Call(controller, "abort")
	})
	return controller.Get("signal"), func() { unhook() }
}
