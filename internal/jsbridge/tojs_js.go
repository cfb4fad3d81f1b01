//go:build js && wasm

package jsbridge

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"syscall/js"
	"time"
	"unsafe"

	"github.com/agentruntime/agentruntime/internal/jsontext"
)

// encoder writes a value as one JSON text, which is passed to JavaScript in one call: a
// call for each property would take longer than the rest of the conversion.
type encoder struct {
	budget
	text         []byte
	place        []any // path of the value that is being written: names and indices
	placeholders []placeholder
}

// maxSpare bounds the buffer that is kept for the next text, in bytes: several times the
// text for one read from the network.
const maxSpare = 512 << 10

// spare is the buffer of the last text for reuse, nil while it is in use.
var spare []byte

func newEncoder() *encoder {
	e := &encoder{text: spare[:0]}
	spare = nil
	return e
}

// free keeps the buffer for reuse, so the text must not be used any more.
func (e *encoder) free() {
	if cap(e.text) <= maxSpare {
		spare = e.text
	}
}

// placeholder is a value without a JSON form, and its path. The text contains null in its place.
type placeholder struct {
	place []any
	value js.Value
}

// value parses the text in JavaScript and replaces the placeholders by their values.
func (e *encoder) value() (js.Value, error) {
	if len(e.placeholders) == 1 && len(e.placeholders[0].place) == 0 {
		return e.placeholders[0].value, nil
	}
	v, err := Invoke(jsonParse, unsafe.String(unsafe.SliceData(e.text), len(e.text))) // no copy besides that of the call
	if err != nil {
		return js.Undefined(), err
	}
	for _, h := range e.placeholders {
		owner := v
		last := len(h.place) - 1
		for _, key := range h.place[:last] {
			if owner, err = Get(owner, key); err != nil {
				return js.Undefined(), err
			}
		}
		// Assigning to __proto__ would replace the object's prototype.
		property := map[string]any{"value": h.value, "writable": true, "enumerable": true, "configurable": true}
		if _, err = Invoke(reflectDefine, owner, h.place[last], property); err != nil {
			return js.Undefined(), err
		}
	}
	return v, nil
}

// placeholder writes null for a value without a JSON form and records the value.
func (e *encoder) placeholder(v js.Value) {
	e.raw("null")
	e.placeholders = append(e.placeholders, placeholder{slices.Clone(e.place), v})
}

func (e *encoder) raw(text string) { e.text = append(e.text, text...) }

func (e *encoder) string(s string) { e.text = jsontext.AppendString(e.text, s) }

func (e *encoder) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.placeholder(js.ValueOf(f))
		return
	}
	e.text = strconv.AppendFloat(e.text, f, 'g', -1, 64)
}

// appender is implemented by values that append their own JSON text, which must be valid.
type appender interface{ AppendJSON(b []byte) []byte }

func (c *codec) encode(v reflect.Value, e *encoder) *valueError {
	if c.appends {
		if v.CanAddr() {
			v = v.Addr() // avoids a copy
		}
		e.text = v.Interface().(appender).AppendJSON(e.text)
		return nil
	}
	switch c.kind {
	case boolKind:
		e.text = strconv.AppendBool(e.text, v.Bool())
	case stringKind:
		e.string(v.String())
	case intKind:
		return e.integer(float64(v.Int()))
	case uintKind:
		return e.integer(float64(v.Uint()))
	case floatKind:
		e.float(v.Float())
	case durationKind:
		e.float(float64(v.Int()) / float64(time.Millisecond))
	case bytesKind:
		b := v.Bytes()
		array := uint8ArrayCtor.New(len(b))
		js.CopyBytesToJS(array, b)
		e.placeholder(array)
	case valueKind:
		e.placeholder(v.Interface().(js.Value))
	case jsonKind:
		return e.json(v)
	case errorKind:
		if v.IsNil() {
			e.raw("null")
		} else {
			e.placeholder(ErrorValue(v.Interface().(error)))
		}
	case anyKind:
		if v.IsNil() {
			e.raw("null")
			return nil
		}
		return codecOf(v.Elem().Type()).encode(v.Elem(), e)
	case pointerKind:
		if v.IsNil() {
			e.raw("null")
			return nil
		}
		return c.elem.encode(v.Elem(), e)
	case listKind, mapKind, structKind:
		if err := e.enter(); err != nil {
			return err
		}
		err := c.parts(v, e)
		e.leave()
		return err
	default:
		return problem("has no form in JavaScript (Go type " + c.t.String() + ")")
	}
	return nil
}

func (e *encoder) integer(n float64) *valueError {
	if math.Abs(n) > maxSafeInteger {
		return problem("is an integer beyond 2^53")
	}
	e.text = strconv.AppendInt(e.text, int64(n), 10)
	return nil
}

func (e *encoder) json(v reflect.Value) *valueError {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		e.raw("null")
		return nil
	}
	if v.CanAddr() || v.Kind() != reflect.Pointer && !v.Type().Implements(selfMarshalers[0]) {
		v = addressable(v)
	}
	source, ok := v.Interface().(json.Marshaler)
	if !ok { // the type has an unmarshaller only; it is converted by its kind
		byKind := &codec{kind: kindOfGo(v.Type().Elem()), t: v.Type().Elem()}
		byKind.addParts()
		return byKind.encode(v.Elem(), e)
	}
	text, err := source.MarshalJSON()
	if err == nil && !json.Valid(text) {
		err = errNoJSON
	}
	if err != nil {
		return inconvertible(err)
	}
	e.raw(string(text))
	return nil
}

var errNoJSON = errors.New("its text must be JSON")

// addressable returns a pointer to v, or to a copy of it, because some types have
// marshallers with a pointer receiver.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v.Addr()
	}
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	return copied
}

// parts writes a list, a map or a struct.
func (c *codec) parts(v reflect.Value, e *encoder) *valueError {
	switch c.kind {
	case listKind:
		e.raw("[")
		for i := range v.Len() {
			if i > 0 {
				e.raw(",")
			}
			if err := e.part(c.elem, v.Index(i), i); err != nil {
				return err.in("[" + strconv.Itoa(i) + "]")
			}
		}
		e.raw("]")
	case mapKind:
		// In the order of names, like encoding/json, so that the output is reproducible.
		values := make(map[string]reflect.Value, v.Len())
		for entries := v.MapRange(); entries.Next(); {
			values[entries.Key().String()] = entries.Value()
		}
		next := "{"
		for _, key := range slices.Sorted(maps.Keys(values)) {
			e.raw(next)
			next = ","
			if err := e.member(c.elem, values[key], key); err != nil {
				return err
			}
		}
		e.close(next)
	case structKind:
		next := "{"
		for i := range c.fields {
			f := &c.fields[i]
			fv := v.FieldByIndex(f.index)
			if f.omits(fv) {
				continue
			}
			e.raw(next)
			next = ","
			if err := e.member(f.codec, fv, f.name); err != nil {
				return err
			}
		}
		e.close(next)
	}
	return nil
}

// close ends an object. next is the text before its next member: "{" for an empty object.
func (e *encoder) close(next string) {
	if next == "{" {
		e.raw("{")
	}
	e.raw("}")
}

func (e *encoder) member(c *codec, v reflect.Value, name string) *valueError {
	e.string(name)
	e.raw(":")
	if err := e.part(c, v, name); err != nil {
		return err.in("." + name)
	}
	return nil
}

func (e *encoder) part(c *codec, v reflect.Value, at any) *valueError {
	e.place = append(e.place, at)
	err := c.encode(v, e)
	e.place = e.place[:len(e.place)-1]
	return err
}
