//go:build js && wasm

package jsbridge

import "syscall/js"

// Emitter sends events to one JavaScript object, whose listener table is in
// TypeScript (js/src/emitter.ts).
type Emitter struct{ dispatch js.Value }

// NewEmitter returns an Emitter for dispatch, a function that takes the event's
// name and its payload and calls the listeners.
func NewEmitter(dispatch js.Value) Emitter { return Emitter{dispatch} }

// Emit converts payload with ToJS (nil is undefined) and calls the listeners
// before it returns. They may call back into Go, so no lock may be held. The error
// tells of a payload that cannot be converted or a dispatch function that threw;
// what a listener throws stays in JavaScript.
func (e Emitter) Emit(name string, payload any) error {
	v := js.Undefined()
	if payload != nil {
		var err error
		if v, err = ToJS(payload); err != nil {
			return during("emit "+name, err)
		}
	}
	if _, err := Invoke(e.dispatch, name, v); err != nil {
		return during("emit "+name, err)
	}
	return nil
}
