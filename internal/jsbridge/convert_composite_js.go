//go:build js && wasm

package jsbridge

import (
	"math"
	"reflect"
	"strconv"
	"syscall/js"
)

func pointerCodec(t reflect.Type) codec {
	elem := codecOf(t.Elem())
	return codec{
		toJS: func(v reflect.Value, w *walk) (js.Value, *valueError) {
			if v.IsNil() {
				return js.Null(), nil
			}
			if err := w.enter(); err != nil {
				return js.Undefined(), err
			}
			defer w.leave()
			return elem.toJS(v.Elem(), w)
		},
		fromJS: func(v js.Value, out reflect.Value, w *walk) *valueError {
			if absent(v) {
				return nil
			}
			target := reflect.New(t.Elem())
			if err := elem.fromJS(v, target.Elem(), w); err != nil {
				return err
			}
			out.Set(target)
			return nil
		},
	}
}

func interfaceToJS(v reflect.Value, w *walk) (js.Value, *valueError) {
	if v.IsNil() {
		return js.Null(), nil
	}
	v = v.Elem()
	return codecOf(v.Type()).toJS(v, w)
}

func interfaceFromJS(v js.Value, out reflect.Value, w *walk) *valueError {
	if absent(v) {
		return nil
	}
	if out.NumMethod() != 0 {
		return unsupported(out.Type()).fromJS(v, out, w)
	}
	switch kind(v) {
	case "string":
		out.Set(reflect.ValueOf(v.String()))
		return nil
	case "boolean":
		out.Set(reflect.ValueOf(v.Bool()))
		return nil
	case "number":
		n, err := number(v)
		if err == nil {
			out.Set(reflect.ValueOf(n))
		}
		return err
	default:
		return jsonFromJS(v, out, w)
	}
}

func sliceCodec(t reflect.Type) codec {
	elem := codecOf(t.Elem())
	return codec{
		toJS: func(v reflect.Value, w *walk) (js.Value, *valueError) {
			if err := w.enter(); err != nil {
				return js.Undefined(), err
			}
			defer w.leave()
			list := arrayCtor.New(v.Len())
			for i := range v.Len() {
				item, err := elem.toJS(v.Index(i), w)
				if err != nil {
					return js.Undefined(), err.in("[" + strconv.Itoa(i) + "]")
				}
				list.SetIndex(i, item)
			}
			return list, nil
		},
		fromJS: func(v js.Value, out reflect.Value, w *walk) *valueError {
			if absent(v) {
				return nil
			}
			if kind(v) != "array" {
				return mustBe("an array", v)
			}
			if err := w.enter(); err != nil {
				return err
			}
			defer w.leave()
			n, err := length(v, maxNodes)
			if err != nil {
				return err
			}
			list := reflect.MakeSlice(t, n, n)
			for i := range n {
				if err := readInto(v, i, elem, list.Index(i), w); err != nil {
					return err.in("[" + strconv.Itoa(i) + "]")
				}
			}
			out.Set(list)
			return nil
		},
	}
}

// readInto converts the property key of v. Every part read counts, so that a
// long array of nothing is bounded as well.
func readInto(v js.Value, key any, c *codec, out reflect.Value, w *walk) *valueError {
	if err := w.count(); err != nil {
		return err
	}
	item, err := Get(v, key)
	if err != nil {
		return unreadable(err)
	}
	return c.fromJS(item, out, w)
}

// length reads the length of an array or a buffer, which a proxy can claim to be
// anything.
func length(v js.Value, limit float64) (int, *valueError) {
	n, err := Get(v, "length")
	if err != nil {
		return 0, unreadable(err)
	}
	if kind(n) != "number" {
		return 0, problem("has no length")
	}
	switch f := n.Float(); {
	case f > limit:
		return 0, problem("is longer than %.0f", limit)
	case f >= 0 && f == math.Trunc(f):
		return int(f), nil
	default:
		return 0, problem("has no length")
	}
}

func bytesToJS(v reflect.Value, _ *walk) (js.Value, *valueError) {
	b := v.Bytes()
	array := uint8ArrayCtor.New(len(b))
	js.CopyBytesToJS(array, b)
	return array, nil
}

func bytesFromJS(v js.Value, out reflect.Value, _ *walk) *valueError {
	if absent(v) {
		return nil
	}
	array, ok := byteView(v)
	if !ok {
		return mustBe("a Uint8Array", v)
	}
	n, err := length(array, maxBytes)
	if err != nil {
		return err
	}
	b := make([]byte, n)
	js.CopyBytesToGo(b, array)
	out.SetBytes(b)
	return nil
}

// byteView returns a Uint8Array over the bytes of an ArrayBuffer or of any view
// of one, also when they come from another frame and are no instance of our
// Uint8Array.
func byteView(v js.Value) (array js.Value, ok bool) {
	if isView, err := Invoke(bufferIsView, v); err != nil {
		return js.Undefined(), false
	} else if !isView.Bool() {
		// The constructor would take an array or a number as well.
		tag, err := Invoke(reflectApply, objectTag, v, arrayCtor.New())
		if err != nil || tag.String() != "[object ArrayBuffer]" {
			return js.Undefined(), false
		}
		array, err = New(uint8ArrayCtor, v)
		return array, err == nil
	}
	buffer, err1 := Get(v, "buffer")
	offset, err2 := Get(v, "byteOffset")
	size, err3 := Get(v, "byteLength")
	if err1 != nil || err2 != nil || err3 != nil {
		return js.Undefined(), false
	}
	array, err := New(uint8ArrayCtor, buffer, offset, size)
	return array, err == nil
}

func mapCodec(t reflect.Type) codec {
	elem := codecOf(t.Elem())
	return codec{
		toJS: func(v reflect.Value, w *walk) (js.Value, *valueError) {
			if err := w.enter(); err != nil {
				return js.Undefined(), err
			}
			defer w.leave()
			object := objectCtor.New()
			for entries := v.MapRange(); entries.Next(); {
				key := entries.Key().String()
				item, err := elem.toJS(entries.Value(), w)
				if err != nil {
					return js.Undefined(), err.in("." + key)
				}
				setOwn(object, key, item)
			}
			return object, nil
		},
		fromJS: func(v js.Value, out reflect.Value, w *walk) *valueError {
			if absent(v) {
				return nil
			}
			if kind(v) != "object" {
				return mustBe("an object", v)
			}
			if err := w.enter(); err != nil {
				return err
			}
			defer w.leave()
			keys, err := Invoke(objectKeys, v)
			if err != nil {
				return unreadable(err)
			}
			n, tooLong := length(keys, maxNodes)
			if tooLong != nil {
				return tooLong
			}
			result := reflect.MakeMapWithSize(t, n)
			for i := range n {
				key := keys.Index(i) // Object.keys makes a plain array of strings
				item := reflect.New(t.Elem()).Elem()
				if err := readInto(v, key, elem, item, w); err != nil {
					return err.in("." + key.String())
				}
				result.SetMapIndex(reflect.ValueOf(key.String()).Convert(t.Key()), item)
			}
			out.Set(result)
			return nil
		},
	}
}

// setOwn adds a property with a name from outside to an object made here.
// Assigning __proto__ would exchange the prototype instead.
func setOwn(object js.Value, key string, value js.Value) {
	if key != "__proto__" {
		reflectSet.Invoke(object, stringValue(key), value)
		return
	}
	property := objectCtor.New()
	property.Set("value", value)
	property.Set("writable", true)
	property.Set("enumerable", true)
	property.Set("configurable", true)
	reflectDefine.Invoke(object, key, property)
}
