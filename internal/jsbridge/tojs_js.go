//go:build js && wasm

package jsbridge

import (
	"encoding"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"syscall/js"
	"time"
)

func (p *plan) toJS(v reflect.Value, w *walk) (js.Value, *valueError) {
	switch p.form {
	case boolForm:
		return js.ValueOf(v.Bool()), nil
	case stringForm:
		return stringValue(v.String()), nil
	case intForm:
		return safeInteger(float64(v.Int()))
	case uintForm:
		return safeInteger(float64(v.Uint()))
	case floatForm:
		return js.ValueOf(v.Float()), nil
	case durationForm:
		return js.ValueOf(float64(v.Int()) / float64(time.Millisecond)), nil
	case bytesForm:
		b := v.Bytes()
		array := uint8ArrayCtor.New(len(b))
		js.CopyBytesToJS(array, b)
		return array, nil
	case valueForm:
		return v.Interface().(js.Value), nil
	case jsonForm:
		return jsonToJS(v)
	case errorForm:
		if !v.IsNil() {
			return ErrorValue(v.Interface().(error)), nil
		}
		return js.Null(), nil
	case anyForm:
		if !v.IsNil() {
			return planOf(v.Elem().Type()).toJS(v.Elem(), w)
		}
		return js.Null(), nil
	case pointerForm:
		if !v.IsNil() {
			return p.elem.toJS(v.Elem(), w)
		}
		return js.Null(), nil
	}
	if err := w.enter(); err != nil {
		return js.Undefined(), err
	}
	defer w.leave()
	switch p.form {
	case listForm:
		return p.listToJS(v, w)
	case mapForm:
		return p.mapToJS(v, w)
	case structForm:
		return p.structToJS(v, w)
	default:
		return js.Undefined(), problem("has no form in JavaScript (Go type " + p.t.String() + ")")
	}
}

func safeInteger(n float64) (js.Value, *valueError) {
	if math.Abs(n) > maxSafeInteger {
		return js.Undefined(), problem("is an integer beyond 2^53")
	}
	return js.ValueOf(n), nil
}

func jsonToJS(v reflect.Value) (js.Value, *valueError) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return js.Null(), nil
	}
	if v.CanAddr() || v.Kind() != reflect.Pointer && !v.Type().Implements(selfMarshalers[0]) {
		v = addressable(v)
	}
	switch source := v.Interface().(type) {
	case json.Marshaler:
		encoded, err := source.MarshalJSON()
		if err != nil {
			return js.Undefined(), inconvertible(err)
		}
		parsed, err := Invoke(jsonParse, string(encoded))
		if err != nil {
			return js.Undefined(), inconvertible(err)
		}
		return parsed, nil
	case encoding.TextMarshaler:
		text, err := source.MarshalText()
		if err != nil {
			return js.Undefined(), inconvertible(err)
		}
		return stringValue(string(text)), nil
	default:
		// The type only unmarshals itself; it is converted by its kind.
		byKind := &plan{form: kindForm(v.Type().Elem()), t: v.Type().Elem()}
		byKind.addParts()
		return byKind.toJS(v.Elem(), &walk{})
	}
}

// addressable returns a pointer to v, or to a copy of it: some types marshal
// themselves through their pointer.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v.Addr()
	}
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	return copied
}

func (p *plan) listToJS(v reflect.Value, w *walk) (js.Value, *valueError) {
	list := arrayCtor.New(v.Len())
	for i := range v.Len() {
		item, err := p.elem.toJS(v.Index(i), w)
		if err != nil {
			return js.Undefined(), err.in("[" + strconv.Itoa(i) + "]")
		}
		list.SetIndex(i, item)
	}
	return list, nil
}

func (p *plan) mapToJS(v reflect.Value, w *walk) (js.Value, *valueError) {
	// In the order of names, like encoding/json, so that the output is reproducible.
	values := make(map[string]reflect.Value, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		values[entries.Key().String()] = entries.Value()
	}
	object := objectCtor.New()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		item, err := p.elem.toJS(values[key], w)
		if err != nil {
			return js.Undefined(), err.in("." + key)
		}
		if key == "__proto__" {
			// Assigning would replace the object's prototype.
			reflectDefine.Invoke(object, key, map[string]any{
				"value": item, "writable": true, "enumerable": true, "configurable": true,
			})
			continue
		}
		reflectSet.Invoke(object, stringValue(key), item)
	}
	return object, nil
}

func (p *plan) structToJS(v reflect.Value, w *walk) (js.Value, *valueError) {
	object := objectCtor.New()
	for _, f := range p.fields {
		fv, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omits(fv) {
			continue // in an embedded struct that is nil, or empty
		}
		item, convErr := f.plan.toJS(fv, w)
		if convErr != nil {
			return js.Undefined(), convErr.in("." + f.name)
		}
		reflectSet.Invoke(object, f.key, item)
	}
	return object, nil
}
