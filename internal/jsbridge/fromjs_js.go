//go:build js && wasm

package jsbridge

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsonbounds"
)

func (c *codec) fromJS(v js.Value, out reflect.Value, b *budget) *valueError {
	if c.kind == valueKind {
		out.Set(reflect.ValueOf(v))
		return nil
	}
	if Absent(v) {
		return nil
	}
	switch c.kind {
	case boolKind:
		if typeName(v) != "boolean" {
			return mustBe("a boolean", v)
		}
		out.SetBool(v.Bool())
		return nil
	case stringKind:
		if typeName(v) != "string" {
			return mustBe("a string", v)
		}
		out.SetString(v.String())
		return nil
	case intKind, uintKind, floatKind, durationKind:
		return c.numberFromJS(v, out)
	case bytesKind:
		return bytesFromJS(v, out)
	case jsonKind, anyKind:
		return c.jsonFromJS(v, out)
	case pointerKind:
		target := reflect.New(c.t.Elem())
		out.Set(target)
		return c.elem.fromJS(v, target.Elem(), b)
	}
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	switch c.kind {
	case listKind:
		return c.listFromJS(v, out, b)
	case mapKind:
		return c.mapFromJS(v, out, b)
	case structKind:
		return c.structFromJS(v, out, b)
	default:
		return problem("cannot be given from JavaScript (Go type " + c.t.String() + ")")
	}
}

func (c *codec) numberFromJS(v js.Value, out reflect.Value) *valueError {
	if typeName(v) != "number" {
		return mustBe("a number", v)
	}
	n := v.Float()
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return problem("must be a number, got " + numberText(n))
	}
	switch c.kind {
	case floatKind:
		if out.OverflowFloat(n) {
			return problem("is out of range")
		}
		out.SetFloat(n)
		return nil
	case durationKind:
		// Rounded to nanoseconds first, because the result must be in range too.
		n = math.Round(n * float64(time.Millisecond))
		if math.Abs(n) >= math.MaxInt64 {
			return problem("is out of range")
		}
		out.SetInt(int64(n))
		return nil
	}
	switch {
	case n != math.Trunc(n):
		return problem("must be an integer, got " + numberText(n))
	case math.Abs(n) > maxSafeInteger,
		c.kind == intKind && out.OverflowInt(int64(n)),
		c.kind == uintKind && (n < 0 || out.OverflowUint(uint64(n))):
		return problem("is out of range")
	case c.kind == intKind:
		out.SetInt(int64(n))
	default:
		out.SetUint(uint64(n))
	}
	return nil
}

// jsonFromJS converts a value without a declared type by JSON.stringify, which handles
// Date and toJSON and throws for cycles.
func (c *codec) jsonFromJS(v js.Value, out reflect.Value) *valueError {
	encoded, err := Invoke(jsonStringify, v)
	if err != nil {
		return unreadable(err)
	}
	if typeName(encoded) != "string" {
		return mustBe("a JSON value", v)
	}
	text := []byte(encoded.String())
	if err := jsonbounds.Check(text, maxDepth, 0); err != nil { // the decoder's recursion would overflow the stack, which ends the program
		return inconvertible(err)
	}
	if c.kind == anyKind {
		if out.NumMethod() > 0 {
			return problem("cannot be given from JavaScript (Go type " + c.t.String() + ")")
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			return inconvertible(err)
		}
		if tree != nil {
			out.Set(reflect.ValueOf(tree))
		}
		return nil
	}
	place := out.Addr()
	if out.Kind() == reflect.Pointer {
		place = reflect.New(c.t.Elem())
		out.Set(place)
	}
	target, ok := place.Interface().(json.Unmarshaler)
	if !ok {
		return problem("cannot be given from JavaScript (Go type " + c.t.String() + ")")
	}
	if err := target.UnmarshalJSON(text); err != nil {
		return inconvertible(err)
	}
	return nil
}

// numberText formats n for a message.
func numberText(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

func bytesFromJS(v js.Value, out reflect.Value) *valueError {
	array, err := byteView(v)
	if err != nil {
		return mustBe("a Uint8Array", v)
	}
	n, tooLong := length(array, maxBytes)
	if tooLong != nil {
		return tooLong
	}
	b := make([]byte, n)
	js.CopyBytesToGo(b, array)
	out.SetBytes(b)
	return nil
}

// byteView returns a Uint8Array over an ArrayBuffer or any view of one, including objects
// of another frame, which are not instances of this frame's classes.
func byteView(v js.Value) (js.Value, error) {
	isView, err := Invoke(bufferIsView, v)
	if err != nil {
		return v, err
	}
	if !isView.Bool() {
		// The constructor throws unless v is an ArrayBuffer.
		if v, err = New(dataViewCtor, v); err != nil {
			return v, err
		}
	}
	var parts [3]any
	for i, name := range [...]string{"buffer", "byteOffset", "byteLength"} {
		if parts[i], err = Get(v, name); err != nil {
			return v, err
		}
	}
	return New(uint8ArrayCtor, parts[:]...)
}

// length reads the length of an array or a buffer and checks it, because a proxy can
// return any value.
func length(v js.Value, limit int) (int, *valueError) {
	n, err := Get(v, "length")
	if err != nil {
		return 0, unreadable(err)
	}
	if typeName(n) != "number" || !(n.Float() >= 0) {
		return 0, problem("has no length")
	}
	if n.Float() > float64(limit) {
		return 0, problem("is longer than " + strconv.Itoa(limit))
	}
	return n.Int(), nil
}

// readInto converts the property key of v into out. Absent elements are counted too, so
// that a long array of undefined is bounded.
func (c *codec) readInto(v js.Value, key any, out reflect.Value, b *budget) *valueError {
	if err := b.count(); err != nil {
		return err
	}
	item, err := Get(v, key)
	if err != nil {
		return unreadable(err)
	}
	return c.fromJS(item, out, b)
}

func (c *codec) listFromJS(v js.Value, out reflect.Value, b *budget) *valueError {
	if typeName(v) != "array" {
		return mustBe("an array", v)
	}
	n, err := length(v, maxParts)
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(c.t, n, n)
	for i := range n {
		if err := c.elem.readInto(v, i, list.Index(i), b); err != nil {
			return err.in("[" + strconv.Itoa(i) + "]")
		}
	}
	out.Set(list)
	return nil
}

func (c *codec) mapFromJS(v js.Value, out reflect.Value, b *budget) *valueError {
	if typeName(v) != "object" {
		return mustBe("an object", v)
	}
	keys, err := Invoke(objectKeys, v)
	if err != nil {
		return unreadable(err)
	}
	n, tooLong := length(keys, maxParts)
	if tooLong != nil {
		return tooLong
	}
	result := reflect.MakeMapWithSize(c.t, n)
	for i := range n {
		name := keys.Index(i) // Object.keys makes a plain array of strings
		key, item := reflect.New(c.t.Key()).Elem(), reflect.New(c.t.Elem()).Elem()
		key.SetString(name.String())
		if err := c.elem.readInto(v, name, item, b); err != nil {
			return err.in("." + key.String())
		}
		result.SetMapIndex(key, item)
	}
	out.Set(result)
	return nil
}

func (c *codec) structFromJS(v js.Value, out reflect.Value, b *budget) *valueError {
	if typeName(v) != "object" {
		return mustBe("an object", v)
	}
	for _, f := range c.fields {
		item, err := Get(v, f.key)
		if err != nil {
			return unreadable(err).in("." + f.name)
		}
		if Absent(item) {
			continue
		}
		if err := f.codec.fromJS(item, out.FieldByIndex(f.index), b); err != nil {
			return err.in("." + f.name)
		}
	}
	return nil
}
