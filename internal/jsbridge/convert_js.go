//go:build js && wasm

package jsbridge

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

const (
	// maxDepth bounds the nesting of a value, so that a cycle ends as an error.
	maxDepth = 100
	// maxNodes bounds the parts of one value: more is a proxy that makes them
	// up, and would freeze the tab.
	maxNodes = 1 << 20
	// maxBytes bounds one Uint8Array. A Go program that runs out of memory
	// cannot recover, and the tab has 4 GiB at most.
	maxBytes = 256 << 20
	// maxSafeInteger is the largest integer that a JavaScript number holds
	// without loss.
	maxSafeInteger = 1<<53 - 1
)

// ToJS converts v by its Go type: structs and string maps become objects with
// the names of their json tags (omitempty, omitzero and embedding work as in
// encoding/json), slices and arrays become arrays, []byte a Uint8Array,
// time.Duration a number of milliseconds, json.RawMessage the value it spells, an
// error an AgentError. A js.Value stays what it is. Types with MarshalJSON or
// MarshalText use them. Unlike in encoding/json a nil slice or map is an empty
// one; a nil pointer or interface is null. Invalid UTF-8 becomes U+FFFD.
//
// An integer beyond 2^53 is an error, because JavaScript would see another one.
func ToJS(v any) (js.Value, error) {
	if v == nil {
		return js.Undefined(), nil
	}
	rv := reflect.ValueOf(v)
	result, err := codecOf(rv.Type()).toJS(rv, &walk{})
	if err != nil {
		return js.Undefined(), fmt.Errorf("convert %T: %w", v, err)
	}
	return result, nil
}

// FromJS stores v into the variable that out points to, by its Go type; name is
// what messages call v. It takes the forms that ToJS makes, and any array buffer
// or view for []byte, a BigInt for an integer. What is missing, undefined or null
// leaves the variable as it is, unknown properties are ignored, and a lone
// surrogate becomes U+FFFD. For an any or a json.RawMessage the value is what
// JSON.stringify makes of it.
//
// A value of the wrong type or out of range, a getter that throws, a cycle and
// whatever else JavaScript can come up with is a bad_request that names the place:
// "options.requestVars.a must be a string, got object". Values are not quoted,
// they may be secret.
func FromJS(name string, v js.Value, out any) error {
	rv := reflect.ValueOf(out).Elem()
	if err := codecOf(rv.Type()).fromJS(v, rv, &walk{}); err != nil {
		return fault.New(fault.BadRequest, err.in(name).Error())
	}
	return nil
}

// codec converts the values of one Go type.
type codec struct {
	toJS   func(v reflect.Value, w *walk) (js.Value, *valueError)
	fromJS func(v js.Value, out reflect.Value, w *walk) *valueError
}

// walk bounds one conversion.
type walk struct{ depth, nodes int }

// enter begins a value that has parts; leave ends it.
func (w *walk) enter() *valueError {
	w.depth++
	if w.depth > maxDepth {
		return problem("is nested deeper than %d levels", maxDepth)
	}
	return w.count()
}

func (w *walk) leave() { w.depth-- }

// count counts one part.
func (w *walk) count() *valueError {
	w.nodes++
	if w.nodes > maxNodes {
		return problem("has more than %d parts", maxNodes)
	}
	return nil
}

// codecs keeps the plan of every type that was converted once. It needs no lock:
// goroutines of a wasm program share one thread, and codecOf doesn't wait.
var codecs = map[reflect.Type]*codec{}

func codecOf(t reflect.Type) *codec {
	if c, ok := codecs[t]; ok {
		return c
	}
	c := &codec{}
	codecs[t] = c // before its parts, which may refer to it
	*c = newCodec(t)
	return c
}

var (
	valueType           = reflect.TypeFor[js.Value]()
	durationType        = reflect.TypeFor[time.Duration]()
	errorType           = reflect.TypeFor[error]()
	jsonMarshalerType   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func newCodec(t reflect.Type) codec {
	c := kindCodec(t)
	isPointer := t.Kind() == reflect.Pointer
	switch {
	case t == valueType:
		return codec{
			func(v reflect.Value, _ *walk) (js.Value, *valueError) { return v.Interface().(js.Value), nil },
			func(v js.Value, out reflect.Value, _ *walk) *valueError { out.Set(reflect.ValueOf(v)); return nil },
		}
	case t == durationType:
		return codec{durationToJS, durationFromJS}
	case (isPointer || t.Kind() == reflect.Interface) && t.Implements(errorType):
		c.toJS = errorToJS
		return c
	case isPointer:
		return c // whatever its element does
	}
	if t.Implements(jsonMarshalerType) {
		c.toJS = jsonToJS
	} else if t.Implements(textMarshalerType) {
		c.toJS = textToJS
	}
	if reflect.PointerTo(t).Implements(jsonUnmarshalerType) {
		c.fromJS = jsonFromJS
	} else if reflect.PointerTo(t).Implements(textUnmarshalerType) {
		c.fromJS = textFromJS
	}
	return c
}

func kindCodec(t reflect.Type) codec {
	switch t.Kind() {
	case reflect.Bool:
		return codec{boolToJS, boolFromJS}
	case reflect.String:
		return codec{stringToJS, stringFromJS}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return codec{intToJS, intFromJS}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return codec{uintToJS, uintFromJS}
	case reflect.Float32, reflect.Float64:
		return codec{floatToJS, floatFromJS}
	case reflect.Pointer:
		return pointerCodec(t)
	case reflect.Interface:
		return codec{interfaceToJS, interfaceFromJS}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return codec{bytesToJS, bytesFromJS}
		}
		return sliceCodec(t)
	case reflect.Array:
		return codec{sliceCodec(t).toJS, unsupported(t).fromJS}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapCodec(t)
		}
	case reflect.Struct:
		return structCodec(t)
	}
	return unsupported(t)
}

func unsupported(t reflect.Type) codec {
	return codec{
		func(reflect.Value, *walk) (js.Value, *valueError) {
			return js.Undefined(), problem("has no form in JavaScript (Go type %v)", t)
		},
		func(js.Value, reflect.Value, *walk) *valueError {
			return problem("cannot be given from JavaScript (Go type %v)", t)
		},
	}
}

// absent reports whether JavaScript gave no value.
func absent(v js.Value) bool { return v.IsUndefined() || v.IsNull() }

// mustBe is the problem of a value of the wrong type.
func mustBe(what string, v js.Value) *valueError {
	return problem("must be %s, got %s", what, kind(v))
}

func boolToJS(v reflect.Value, _ *walk) (js.Value, *valueError) { return js.ValueOf(v.Bool()), nil }

func boolFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	switch {
	case absent(v):
	case kind(v) == "boolean":
		out.SetBool(v.Bool())
	default:
		return mustBe("a boolean", v)
	}
	return nil
}

func stringToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	return stringValue(v.String()), nil
}

func stringFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	switch {
	case absent(v):
	case kind(v) == "string":
		out.SetString(v.String())
	default:
		return mustBe("a string", v)
	}
	return nil
}

func intToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	n := v.Int()
	if n < -maxSafeInteger || n > maxSafeInteger {
		return js.Undefined(), problem("is an integer beyond 2^53")
	}
	return js.ValueOf(float64(n)), nil
}

func uintToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	n := v.Uint()
	if n > maxSafeInteger {
		return js.Undefined(), problem("is an integer beyond 2^53")
	}
	return js.ValueOf(float64(n)), nil
}

func floatToJS(v reflect.Value, _ *walk) (js.Value, *valueError) { return js.ValueOf(v.Float()), nil }

func intFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	if absent(v) {
		return nil
	}
	digits, err := integer(v)
	if err != nil {
		return err
	}
	n, convErr := strconv.ParseInt(digits, 10, out.Type().Bits())
	if convErr != nil {
		return problem("is out of range")
	}
	out.SetInt(n)
	return nil
}

func uintFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	if absent(v) {
		return nil
	}
	digits, err := integer(v)
	if err != nil {
		return err
	}
	n, convErr := strconv.ParseUint(digits, 10, out.Type().Bits())
	if convErr != nil {
		return problem("is out of range")
	}
	out.SetUint(n)
	return nil
}

// integer returns the digits of an integer number or a BigInt, so that one range
// check serves every size.
func integer(v js.Value) (digits string, err *valueError) {
	switch kind(v) {
	case "bigint":
		return text(v), nil
	case "number":
		n := v.Float()
		if n != math.Trunc(n) || math.IsInf(n, 0) {
			return "", problem("must be an integer, got %v", n)
		}
		if math.Abs(n) > maxSafeInteger {
			return "", problem("is beyond 2^53, give a BigInt")
		}
		return strconv.FormatInt(int64(n), 10), nil
	default:
		return "", mustBe("an integer", v)
	}
}

// number returns the finite number in v.
func number(v js.Value) (float64, *valueError) {
	if kind(v) != "number" {
		return 0, mustBe("a number", v)
	}
	n := v.Float()
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, problem("must be a number, got %v", n)
	}
	return n, nil
}

func floatFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	if absent(v) {
		return nil
	}
	n, err := number(v)
	if err != nil {
		return err
	}
	if out.OverflowFloat(n) {
		return problem("is out of range")
	}
	out.SetFloat(n)
	return nil
}

func durationToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	return js.ValueOf(float64(v.Int()) / float64(time.Millisecond)), nil
}

func durationFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	if absent(v) {
		return nil
	}
	ms, err := number(v)
	if err != nil {
		return err
	}
	ns := ms * float64(time.Millisecond)
	// The float next to MaxInt64 is 2^63, which no longer fits.
	if ns >= math.MaxInt64 || ns <= math.MinInt64 {
		return problem("is out of range")
	}
	out.SetInt(int64(math.Round(ns)))
	return nil
}

func errorToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	if v.IsNil() {
		return js.Null(), nil
	}
	return ErrorValue(v.Interface().(error)), nil
}

func jsonToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	encoded, err := json.Marshal(v.Interface())
	if err != nil {
		return js.Undefined(), problem("cannot be converted: %v", err)
	}
	parsed, err := Invoke(jsonParse, string(encoded))
	if err != nil {
		return js.Undefined(), problem("cannot be converted: %v", err)
	}
	return parsed, nil
}

func jsonFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	if absent(v) {
		return nil
	}
	encoded, err := stringify(v)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(encoded), out.Addr().Interface()); err != nil {
		return problem("cannot be converted: %v", err)
	}
	return nil
}

// stringify is JSON.stringify, which knows Date, toJSON, cycles and the rest of
// what can be inside a value of no declared type.
func stringify(v js.Value) (string, *valueError) {
	encoded, err := Invoke(jsonStringify, v)
	if err != nil {
		return "", unreadable(err)
	}
	if kind(encoded) != "string" {
		return "", mustBe("a JSON value", v)
	}
	return encoded.String(), nil
}

func textToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	encoded, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return js.Undefined(), problem("cannot be converted: %v", err)
	}
	return stringValue(string(encoded)), nil
}

func textFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	if absent(v) {
		return nil
	}
	if kind(v) != "string" {
		return mustBe("a string", v)
	}
	if err := out.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(v.String())); err != nil {
		return problem("cannot be converted: %v", err)
	}
	return nil
}
