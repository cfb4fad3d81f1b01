//go:build js && wasm

package page

import (
	"context"
	"iter"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// The kinds of functions that a page can call, as methods of a session or exports of a
// program.
type (
	// Sync returns at once, with an AgentError instead of a result when it
	// failed. It must not block.
	Sync func(Args) (any, error)

	// Async takes an AbortSignal or undefined as its first argument and returns a
	// promise. The context ends with the signal, the session or the
	// program.
	Async func(context.Context, Args) (any, error)

	// Streaming returns at once a sequence, which js/src/core/stream.ts turns into an
	// AsyncIterableIterator. The context ends when the page leaves or aborts the
	// stream, or with the session or the program; the sequence must end then. The
	// iteration starts at the first next() and is at most one item ahead of the page.
	Streaming func(context.Context, Args) (iter.Seq2[any, error], error)
)

// Methods are the functions of an object by name.
type Methods struct {
	Sync    map[string]Sync
	Async   map[string]Async
	Streams map[string]Streaming
}

// Args are the arguments of a call.
type Args []js.Value

// At returns argument i, or undefined when JavaScript passed fewer.
func (a Args) At(i int) js.Value {
	if i < len(a) {
		return a[i]
	}
	return js.Undefined()
}

// Into converts argument i into out; name is its name in messages. The error is bad_request.
func (a Args) Into(name string, i int, out any) error { return jsbridge.FromJS(name, a.At(i), out) }

// SyncFunc is a method without arguments or result.
func SyncFunc(f func()) Sync {
	return func(Args) (any, error) {
		f()
		return nil, nil
	}
}

// SyncErr is a method without arguments or result that may fail.
func SyncErr(f func() error) Sync {
	return func(Args) (any, error) { return nil, f() }
}

// SyncArg is a method with one argument, without a result, that may fail; name is its name in messages.
func SyncArg[A any](name string, f func(A) error) Sync {
	return func(args Args) (any, error) {
		var a A
		if err := args.Into(name, 0, &a); err != nil {
			return nil, err
		}
		return nil, f(a)
	}
}

// SyncObject is a method with an object as its argument; name is its name in messages.
func SyncObject(name string, f func(map[string]any) error) Sync {
	return SyncArg(name, func(o map[string]any) error {
		if o == nil {
			return missing(name)
		}
		return f(o)
	})
}

// AsyncErr is an asynchronous method without arguments or result that may fail.
func AsyncErr(f func(context.Context) error) Async {
	return func(ctx context.Context, _ Args) (any, error) { return nil, f(ctx) }
}

// AsyncResult is an asynchronous method with a result, without arguments.
func AsyncResult[R any](f func(context.Context) (R, error)) Async {
	return func(ctx context.Context, _ Args) (any, error) { return f(ctx) }
}

// AsyncArgResult is an asynchronous method with a result and one argument; name is the argument's
// name in messages.
func AsyncArgResult[A, R any](name string, f func(context.Context, A) (R, error)) Async {
	return func(ctx context.Context, args Args) (any, error) {
		var a A
		if err := args.Into(name, 0, &a); err != nil {
			return nil, err
		}
		return f(ctx, a)
	}
}

// AsyncArg is AsyncArgResult without a result.
func AsyncArg[A any](name string, f func(context.Context, A) error) Async {
	return AsyncArgResult(name, func(ctx context.Context, a A) (any, error) { return nil, f(ctx, a) })
}

// Segments makes a Streaming of a function that streams an answer.
func Segments(f func(context.Context, Args) (iter.Seq2[[]converse.Segment, error], error)) Streaming {
	return func(ctx context.Context, a Args) (iter.Seq2[any, error], error) {
		batches, err := f(ctx, a)
		if err != nil {
			return nil, err
		}
		return func(yield func(any, error) bool) {
			for batch, err := range batches {
				if !yield(batch, err) {
					return
				}
			}
		}, nil
	}
}

// Properties is the method that returns the properties of a session. A page reads several
// properties in a row, so that each snapshot is converted only once.
func Properties[S any](snapshot func() *S) Sync {
	var (
		read      *S
		converted js.Value
	)
	return func(Args) (any, error) {
		if now := snapshot(); now != read {
			v, err := jsbridge.ToJS(now)
			if err != nil {
				return nil, err
			}
			read, converted = now, v
		}
		return converted, nil
	}
}

// missing returns the error for an omitted argument.
func missing(name string) error { return fault.New(fault.BadRequest, name+" is missing") }

// owner is a program or one of its sessions; it owns calls, streams and callbacks.
type owner struct {
	ctx    context.Context // ends with the owner
	cancel context.CancelFunc
	scope  *jsbridge.Scope
}

func newOwner(parent context.Context, onPanic func(error)) owner {
	ctx, cancel := context.WithCancel(parent)
	return owner{ctx, cancel, jsbridge.NewScope(onPanic)}
}

// end ends the owner's calls and streams and releases its callbacks. It returns
// when the streams have ended.
func (o *owner) end() {
	o.cancel()
	o.scope.End()
}

// object returns methods as the properties of a JavaScript object.
func (o *owner) object(m Methods) map[string]any {
	object := map[string]any{}
	for name, f := range m.Sync {
		object[name] = o.sync(f)
	}
	for name, f := range m.Async {
		object[name] = o.async(f)
	}
	for name, f := range m.Streams {
		object[name] = o.sync(func(a Args) (any, error) {
			return o.scope.Stream(o.ctx, func(ctx context.Context) (iter.Seq2[any, error], error) { return f(ctx, a) })
		})
	}
	return object
}

func (o *owner) sync(f Sync) js.Value {
	return o.scope.Func(func(_ js.Value, args []js.Value) any {
		return jsbridge.Result(func() (any, error) { return f(args) })
	})
}

func (o *owner) async(f Async) js.Value {
	return o.scope.Func(func(_ js.Value, args []js.Value) any {
		return jsbridge.Promise(func() (any, error) {
			a := Args(args)
			ctx, cancel, err := jsbridge.ContextFromSignal(o.ctx, a.At(0))
			if err != nil {
				return nil, err
			}
			defer cancel()
			return f(ctx, a[min(1, len(a)):])
		})
	})
}
