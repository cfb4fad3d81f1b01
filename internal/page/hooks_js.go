//go:build js && wasm

package page

import (
	"context"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// The functions of the page that a session calls. What is not given is nil in
// Go, so that the session does without.

// Given reports whether the page gave a function.
func Given(fn js.Value) bool { return !fn.IsUndefined() && !fn.IsNull() }

// Consult calls fn with converted arguments and waits for what it promises.
func Consult(ctx context.Context, fn js.Value, args ...any) (js.Value, error) {
	result, err := invoke(fn, args...)
	if err != nil {
		return result, err
	}
	return jsbridge.Await(ctx, result)
}

// invoke calls fn with converted arguments.
func invoke(fn js.Value, args ...any) (js.Value, error) {
	values := make([]any, len(args))
	for i, a := range args {
		v, err := jsbridge.ToJS(a)
		if err != nil {
			return js.Undefined(), err
		}
		values[i] = v
	}
	return jsbridge.Invoke(fn, values...)
}

// Hook is an option that is a function of one thing that happened, such as
// onAuditEvent. What it throws is its own business.
func Hook[E any](fn js.Value) func(E) {
	if !Given(fn) {
		return nil
	}
	return func(e E) { _, _ = invoke(fn, e) }
}

// Logger is the option logger. What it throws is its own business.
func Logger(fn js.Value) func(level, message string, data map[string]any) {
	if !Given(fn) {
		return nil
	}
	return func(level, message string, data map[string]any) { _, _ = invoke(fn, level, message, data) }
}

// handled is what a handler returned; undefined is nothing to report.
func handled(v js.Value, err error) (any, error) {
	if err != nil || v.IsUndefined() {
		return nil, err
	}
	return v, nil
}
