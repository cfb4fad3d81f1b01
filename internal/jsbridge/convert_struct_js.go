//go:build js && wasm

package jsbridge

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"syscall/js"
)

// field is one property of a struct's object.
type field struct {
	name   string
	key    js.Value // name, so that it crosses the border once
	tagged bool     // named by its tag
	index  []int    // through embedded structs
	codec  *codec
	omit   func(reflect.Value) bool // leaves the property out; nil never does
}

func structCodec(t reflect.Type) codec {
	var fields []field
	// Filled on first use: the types of the fields may refer to t itself, whose
	// codec is not complete yet.
	plan := func() []field {
		if fields == nil {
			fields = fieldsOf(t)
		}
		return fields
	}
	return codec{
		toJS: func(v reflect.Value, w *walk) (js.Value, *valueError) {
			if err := w.enter(); err != nil {
				return js.Undefined(), err
			}
			defer w.leave()
			object := objectCtor.New()
			for _, f := range plan() {
				fv, err := v.FieldByIndexErr(f.index)
				if err != nil || f.omit != nil && f.omit(fv) {
					continue // in an embedded struct that is nil, or empty
				}
				item, convErr := f.codec.toJS(fv, w)
				if convErr != nil {
					return js.Undefined(), convErr.in("." + f.name)
				}
				reflectSet.Invoke(object, f.key, item)
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
			for _, f := range plan() {
				item, err := Get(v, f.key)
				if err != nil {
					return unreadable(err).in("." + f.name)
				}
				if absent(item) {
					continue
				}
				if err := f.codec.fromJS(item, settable(out, f.index), w); err != nil {
					return err.in("." + f.name)
				}
			}
			return nil
		},
	}
}

// settable returns the field of v at index and makes the embedded structs on the
// way that are nil pointers.
func settable(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// fieldsOf lists the properties of t as encoding/json does: where two fields have
// the same name the less deeply embedded one wins, then the tagged one; if that
// doesn't decide, neither appears.
func fieldsOf(t reflect.Type) []field {
	all := embeddedFields(t, nil, nil)
	slices.SortStableFunc(all, func(a, b field) int {
		return cmp.Or(
			strings.Compare(a.name, b.name),
			cmp.Compare(len(a.index), len(b.index)),
			cmp.Compare(btoi(b.tagged), btoi(a.tagged)),
		)
	})
	fields := []field{} // not nil: nil means not computed yet
	for i := 0; i < len(all); {
		first, end := all[i], i+1
		for end < len(all) && all[end].name == first.name {
			end++
		}
		tie := end > i+1 && len(all[i+1].index) == len(first.index) && all[i+1].tagged == first.tagged
		if !tie {
			fields = append(fields, first)
		}
		i = end
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return fields
}

// embeddedFields collects the fields of t and, in their place, those of the
// structs embedded in it. path holds the types on the way, which ends a struct
// that embeds a pointer to itself.
func embeddedFields(t reflect.Type, index []int, path []reflect.Type) []field {
	if slices.Contains(path, t) {
		return nil
	}
	path = append(slices.Clip(path), t)
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(slices.Clone(index), i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		if embedded := embeddedStruct(sf); embedded != nil && name == "" {
			fields = append(fields, embeddedFields(embedded, at, path)...)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f := field{name: name, tagged: name != "", index: at, codec: codecOf(sf.Type), omit: omission(options)}
		if name == "" {
			f.name = sf.Name
		}
		f.key = stringValue(f.name)
		fields = append(fields, f)
	}
	return fields
}

// embeddedStruct returns the struct type that sf embeds, nil if none. A pointer to
// an unexported struct is left out: reflection could not fill it.
func embeddedStruct(sf reflect.StructField) reflect.Type {
	t := sf.Type
	if sf.Anonymous && t.Kind() == reflect.Pointer && sf.IsExported() {
		t = t.Elem()
	}
	if !sf.Anonymous || t.Kind() != reflect.Struct || t == valueType {
		return nil
	}
	return t
}

// omission returns what the omitempty and omitzero options of a json tag leave out.
func omission(options string) func(reflect.Value) bool {
	var omit func(reflect.Value) bool
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			omit = empty
		case "omitzero":
			omit = reflect.Value.IsZero
		}
	}
	return omit
}

// empty is the emptiness of encoding/json's omitempty.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
