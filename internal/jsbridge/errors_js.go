//go:build js && wasm

package jsbridge

import (
	"errors"
	"syscall/js"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Error is an exception that JavaScript threw, or the reason of a rejected
// promise. js.Error is not used, because its Error method reads the property message of
// the thrown value, which need not be an object and whose getter may throw.
type Error struct {
	Name    string   // of the exception, such as "TypeError"; empty if it has none
	Message string   // of the exception, or the text of a thrown value
	Value   js.Value // the thrown value
}

// Error returns "name: message".
func (e *Error) Error() string {
	if e.Name == "" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

// thrown reads an exception, which may be any value.
func thrown(v js.Value) *Error {
	e := &Error{Value: v}
	if k := typeName(v); k == "object" || k == "function" {
		e.Name, e.Message = StringOf(v, "name"), StringOf(v, "message")
	}
	if e.Name == "" && e.Message == "" {
		e.Message = text(v)
	}
	return e
}

// text is String(v), or the name of its type when that throws.
func text(v js.Value) string {
	s, err := Invoke(stringOf, v)
	if err != nil {
		return typeName(v)
	}
	return s.String()
}

// recovered converts a recovered panic value to an error.
func recovered(r any) error {
	switch r := r.(type) {
	case js.Error:
		return thrown(r.Value)
	case error:
		return r
	default:
		return errors.New(fault.PanicText(r))
	}
}

// Caught converts an error that another library has caught: a js.Error in it becomes an
// *Error, other errors are returned unchanged.
func Caught(err error) error {
	var caught js.Error
	if errors.As(err, &caught) {
		return thrown(caught.Value)
	}
	return err
}

// during wraps err with the name of the failed operation. It replaces fmt.Errorf,
// because fmt would enlarge the page's program.
func during(what string, err error) error { return &failure{what, err} }

type failure struct {
	what string
	err  error
}

func (f *failure) Error() string { return f.what + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// guard is deferred at each entry from JavaScript and in each goroutine: it recovers a
// panic, logs it and calls onPanic unless that is nil.
func guard(onPanic func(error)) {
	r := recover()
	if r == nil {
		return
	}
	err := reportPanic(r)
	if onPanic != nil {
		// A second panic in the owner's handler must not end the program either.
		defer guard(nil)
		onPanic(err)
	}
}

// reportPanic logs a recovered panic with its stack, as one message in the page's
// console, and returns the error for the caller.
func reportPanic(r any) error {
	cause := recovered(r)
	Log("error", "agentruntime: panic: "+cause.Error()+"\n"+fault.Stack())
	return fault.New(fault.InternalError, "").Wrap(cause)
}

// Log writes the redacted message with a method of the console, such as "warn". The
// console is looked up at each call, so that a page that wraps it to collect errors
// receives the message.
func Log(method, message string) {
	if console, err := Get(js.Global(), "console"); err == nil {
		_, _ = Call(console, method, fault.Redact(message))
	}
}

// loader is the loader's object, undefined without one.
var loader = js.Undefined()

// SetLoader sets the object of js/src/core/program.ts that starts the program. ErrorValue creates errors with
// its class AgentError, which takes the object of fault.Error's JSON form; by default they are plain Errors with
// the same fields. [Take] calls its function expect, [AtHide] its function atHide.
func SetLoader(v js.Value) { loader = v }

func agentError(fields js.Value) (js.Value, error) {
	if loader.IsUndefined() {
		return plainError(fields)
	}
	constructor, err := Get(loader, "AgentError")
	if err != nil {
		return constructor, err
	}
	return New(constructor, fields)
}

func plainError(fields js.Value) (js.Value, error) {
	e, err := New(errorCtor, StringOf(fields, "detail"))
	if err != nil {
		return e, err
	}
	return Call(objectCtor, "assign", e, fields)
}

// ErrorValue converts err with fault.From and returns the error object for JavaScript;
// nil becomes undefined. All errors for JavaScript are created here, so that all are
// redacted.
func ErrorValue(err error) js.Value {
	if err == nil {
		return js.Undefined()
	}
	v, convErr := errorValue(fault.From(err))
	if convErr != nil {
		// The page has replaced Object, or the fault's body is not JSON.
		v, convErr = errorValue(fault.New(fault.InternalError, convErr.Error()))
	}
	if convErr != nil {
		return errorCtor.New(convErr.Error())
	}
	return v
}

func errorValue(f *fault.Error) (js.Value, error) {
	encoded, err := f.MarshalJSON()
	if err != nil {
		return js.Undefined(), err
	}
	fields, err := Invoke(jsonParse, string(encoded))
	if err != nil {
		return js.Undefined(), err
	}
	return agentError(fields)
}
