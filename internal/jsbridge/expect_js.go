//go:build js && wasm

package jsbridge

import (
	"context"
	"syscall/js"
)

// Closer is how something that a page or the browser opens late is closed (closers in
// js/src/core/program.ts).
type Closer string

// The closers.
const (
	CloseMicrophone Closer = "microphone" // stops the tracks of a MediaStream
	CloseProcessor  Closer = "processor"  // calls the method stop, if there is one
)

// Take is [Await] for a result that must be closed. If ctx ends first, the loader closes the result
// as soon as there is one, and the error is the cause of ctx. The loader does so too if the
// program ends while it waits. In both cases a promise that never settles keeps nothing of the program.
func Take(ctx context.Context, promise js.Value, closer Closer) (js.Value, error) {
	settle, err := Call(loader, "expect", promise, string(closer))
	if err != nil {
		return js.Undefined(), err
	}
	result, err := Await(ctx, promise)
	taken := ctx.Err() == nil
	if _, err := Invoke(settle, taken); err != nil {
		return js.Undefined(), err
	}
	if !taken {
		return js.Undefined(), context.Cause(ctx)
	}
	return result, err
}
