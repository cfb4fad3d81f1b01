//go:build js && wasm

package jsbridge

import (
	"errors"
	"syscall/js"
)

// The page's constructors and functions, looked up once: each look-up by name
// costs about 2 µs, and functions that the page replaces later are not used.
var (
	dataViewCtor   = js.Global().Get("DataView")
	objectCtor     = js.Global().Get("Object")
	promiseCtor    = js.Global().Get("Promise")
	uint8ArrayCtor = js.Global().Get("Uint8Array")
	errorCtor      = js.Global().Get("Error")
	abortCtor      = js.Global().Get("AbortController")
	stringOf       = js.Global().Get("String")

	arrayIsArray     = function("Array", "isArray")
	arrayOf          = function("Array", "of")
	bufferIsView     = function("ArrayBuffer", "isView")
	jsonParse        = function("JSON", "parse")
	jsonStringify    = function("JSON", "stringify")
	objectKeys       = function("Object", "keys")
	promiseRace      = function("Promise", "race")
	promiseThen      = promiseCtor.Get("prototype").Get("then")
	reflectApply     = function("Reflect", "apply")
	reflectConstruct = function("Reflect", "construct")
	reflectDefine    = function("Reflect", "defineProperty")
	reflectGet       = function("Reflect", "get")
	reflectSet       = function("Reflect", "set")
)

// function returns a static method of a global object, bound to that object.
func function(object, name string) js.Value {
	o := js.Global().Get(object)
	return o.Get(name).Call("bind", o)
}

// Get reads the property key (a string, an index or a js.Value) of v, and
// returns what a getter or a proxy throws as an *Error.
func Get(v js.Value, key any) (js.Value, error) {
	return Invoke(reflectGet, v, key)
}

// Property is v's property, undefined when v has none or throws.
func Property(v js.Value, key string) js.Value {
	p, err := Get(v, key)
	if err != nil {
		return js.Undefined()
	}
	return p
}

// StringOf is v's property if it is a string, and "" otherwise.
func StringOf(v js.Value, key string) string {
	if p := Property(v, key); typeName(p) == "string" {
		return p.String()
	}
	return ""
}

// NumberOf is v's property if it is a number, and 0 otherwise.
func NumberOf(v js.Value, key string) int {
	if p := Property(v, key); typeName(p) == "number" {
		return p.Int()
	}
	return 0
}

// Absent reports whether v is undefined or null.
func Absent(v js.Value) bool { return v.IsUndefined() || v.IsNull() }

// IsFunction reports whether v can be called.
func IsFunction(v js.Value) bool { return typeName(v) == "function" }

// Set writes the property key of v. It fails when a setter throws or the property
// cannot be written.
func Set(v js.Value, key, value any) error {
	ok, err := Invoke(reflectSet, v, key, value)
	if err == nil && !ok.Bool() {
		return errors.New("set: the property cannot be written")
	}
	return err
}

// Call calls the method of v. It does not use js.Value.Call, which after a failed call
// reads the method a second time outside of a try block.
func Call(v js.Value, method string, args ...any) (js.Value, error) {
	fn, err := Get(v, method)
	if err != nil {
		return js.Undefined(), err
	}
	list, err := Invoke(arrayOf, args...)
	if err != nil {
		return js.Undefined(), err
	}
	return Invoke(reflectApply, fn, v, list)
}

// New constructs an object.
func New(constructor js.Value, args ...any) (js.Value, error) {
	list, err := Invoke(arrayOf, args...)
	if err != nil {
		return js.Undefined(), err
	}
	return Invoke(reflectConstruct, constructor, list)
}

// Invoke calls the function fn with args, each a *Func or a value that js.ValueOf
// accepts. A thrown exception is returned as an *Error.
func Invoke(fn js.Value, args ...any) (result js.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = js.Undefined(), recovered(r)
		}
	}()
	values := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case *Func:
			values[i] = arg.Value
		case string:
			values[i] = stringValue(arg)
		default:
			values[i] = arg
		}
	}
	return fn.Invoke(values...), nil
}

// stringValue is js.ValueOf for a string that may begin with a byte order mark. The
// decoder of wasm_exec.js removes the first mark, so a second one is prepended.
func stringValue(s string) js.Value {
	const mark = "\uFEFF"
	if len(s) >= len(mark) && s[:len(mark)] == mark {
		s = mark + s
	}
	return js.ValueOf(s)
}

// Text returns v as a string. It is false for any other value, and for a string of more than limit
// UTF-16 units, which is not copied.
func Text(v js.Value, limit int) (string, bool) {
	if typeName(v) != "string" {
		return "", false
	}
	object, err := New(objectCtor, v) // js.Value.Length is for objects
	if err != nil || object.Length() > limit {
		return "", false
	}
	return v.String(), true
}

// typeName returns the name of the type of v for decisions and messages: the result of
// typeof, or "null", "array" or "bigint".
func typeName(v js.Value) (name string) {
	// js.Value.Type panics for a BigInt.
	defer func() {
		if recover() != nil {
			name = "bigint"
		}
	}()
	t := v.Type()
	if t == js.TypeObject && isArray(v) {
		return "array"
	}
	return t.String()
}

// isArray is Array.isArray, but false for a revoked proxy, for which Array.isArray throws.
func isArray(v js.Value) bool {
	is, err := Invoke(arrayIsArray, v)
	return err == nil && is.Bool()
}
