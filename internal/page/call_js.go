//go:build js && wasm

package page

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Call is the arguments of a call.
type Call []js.Value

// At returns argument i, or undefined when JavaScript passed fewer.
func (c Call) At(i int) js.Value {
	if i < len(c) {
		return c[i]
	}
	return js.Undefined()
}

// Into converts argument i, which messages call name. The error is bad_request.
func (c Call) Into(name string, i int, out any) error { return jsbridge.FromJS(name, c.At(i), out) }

// Does makes a method of a function without arguments.
func Does(f func()) Now {
	return func(Call) (any, error) {
		f()
		return nil, nil
	}
}

// Fails makes one of a function that may fail.
func Fails(f func() error) Now {
	return func(Call) (any, error) { return nil, f() }
}

// Text makes one of a function that takes a string, which messages call name.
func Text(name string, f func(string) error) Now {
	return func(c Call) (any, error) {
		var s string
		if err := c.Into(name, 0, &s); err != nil {
			return nil, err
		}
		return nil, f(s)
	}
}

// Object makes one of a function that takes an object, which messages call name.
func Object(name string, f func(map[string]any) error) Now {
	return func(c Call) (any, error) {
		var o map[string]any
		if err := c.Into(name, 0, &o); err != nil {
			return nil, err
		}
		if o == nil {
			return nil, fault.New(fault.BadRequest, name+" is missing")
		}
		return nil, f(o)
	}
}

// Properties makes the method that returns what a page may read of a session at
// any time. A page reads several properties in a row: a snapshot is converted
// once.
func Properties[S any](snapshot func() *S) Now {
	var (
		read      *S
		converted js.Value
	)
	return func(Call) (any, error) {
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
