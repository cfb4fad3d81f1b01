//go:build js && wasm

package page

import (
	"context"
	"iter"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// A page can call three kinds of functions. They are the methods of a session as
// well as the exports of a program.
type (
	// Now returns at once, with an AgentError in place of a result when it
	// failed. It must not wait.
	Now func(Call) (any, error)

	// Later takes an AbortSignal or undefined in front of its arguments and
	// returns a promise. The context ends with the session or the program too.
	Later func(context.Context, Call) (any, error)

	// Streaming returns at once what TypeScript makes an AsyncIterableIterator of
	// (js/src/stream.ts). The context ends when the page leaves the stream, or
	// aborts it, or with the session or the program; the sequence must end then.
	// It is ranged over from the first item that the page asks for, and no
	// further than the page asks, but for one item.
	Streaming func(context.Context, Call) (iter.Seq2[any, error], error)
)

// Methods are the functions of an object by name.
type Methods struct {
	Now     map[string]Now
	Later   map[string]Later
	Streams map[string]Streaming
}

// Stream makes a Streaming of a function whose items have a type.
func Stream[T any](f func(context.Context, Call) (iter.Seq2[T, error], error)) Streaming {
	return func(ctx context.Context, c Call) (iter.Seq2[any, error], error) {
		items, err := f(ctx, c)
		if err != nil {
			return nil, err
		}
		return func(yield func(any, error) bool) {
			for item, err := range items {
				if !yield(item, err) {
					return
				}
			}
		}, nil
	}
}

// owner is what a call is made for: a program or one of its sessions.
type owner struct {
	ctx    context.Context // ends with the owner
	cancel context.CancelFunc
	scope  *jsbridge.Scope
}

func newOwner(parent context.Context, onPanic func(error)) owner {
	ctx, cancel := context.WithCancel(parent)
	return owner{ctx, cancel, jsbridge.NewScope(onPanic)}
}

// end ends what was begun for the owner and frees what it holds of the page. It
// returns when the streams have ended.
func (o *owner) end() {
	o.cancel()
	o.scope.End()
}

// object is the JavaScript form of methods.
func (o *owner) object(m Methods) map[string]any {
	object := map[string]any{}
	for name, f := range m.Now {
		object[name] = o.now(f)
	}
	for name, f := range m.Later {
		object[name] = o.later(f)
	}
	for name, f := range m.Streams {
		object[name] = o.stream(f)
	}
	return object
}

func (o *owner) now(f Now) js.Value {
	return o.scope.Func(func(_ js.Value, args []js.Value) any {
		return jsbridge.Result(func() (any, error) { return f(args) })
	})
}

func (o *owner) later(f Later) js.Value {
	return o.scope.Func(func(_ js.Value, args []js.Value) any {
		return jsbridge.Promise(func() (any, error) {
			c := Call(args)
			ctx, cancel, err := jsbridge.ContextFromSignal(o.ctx, c.At(0))
			if err != nil {
				return nil, err
			}
			defer cancel()
			return f(ctx, c[min(1, len(c)):])
		})
	})
}

func (o *owner) stream(f Streaming) js.Value {
	return o.now(func(c Call) (any, error) {
		return o.scope.Stream(o.ctx, func(ctx context.Context) (iter.Seq2[any, error], error) { return f(ctx, c) })
	})
}
