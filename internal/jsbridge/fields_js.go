//go:build js && wasm

package jsbridge

import (
	"reflect"
	"strings"
	"syscall/js"
)

// field is one property of a struct's object.
type field struct {
	name      string
	key       js.Value // name, so that it crosses the border once
	index     []int    // through embedded structs
	plan      *plan
	omitEmpty bool
	omitZero  bool
}

// fieldsOf lists the properties of the struct t, which is embedded at index, as
// encoding/json names them. A field hides those of the same name in the structs
// that are embedded beside it.
func fieldsOf(t reflect.Type, index []int) []field {
	var own, embedded []field
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if inner := embeddedStruct(sf); inner != nil && name == "" {
			embedded = append(embedded, fieldsOf(inner, at)...)
			continue
		}
		if !sf.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		options = "," + options + ","
		own = append(own, field{
			name:      name,
			key:       stringValue(name),
			index:     at,
			plan:      planOf(sf.Type),
			omitEmpty: strings.Contains(options, ",omitempty,"),
			omitZero:  strings.Contains(options, ",omitzero,"),
		})
	}
	for _, f := range embedded {
		if !named(own, f.name) {
			own = append(own, f)
		}
	}
	return own
}

func named(fields []field, name string) bool {
	for _, f := range fields {
		if f.name == name {
			return true
		}
	}
	return false
}

// embeddedStruct returns the struct type that sf embeds, nil if none. A pointer to
// an unexported struct is left out: reflection could not fill it.
func embeddedStruct(sf reflect.StructField) reflect.Type {
	t := sf.Type
	if sf.Anonymous && t.Kind() == reflect.Pointer && sf.IsExported() {
		t = t.Elem()
	}
	if !sf.Anonymous || formOf(t) != structForm {
		return nil
	}
	return t
}

// omits reports whether the field is left out for its value, by the rules of
// encoding/json.
func (f *field) omits(v reflect.Value) bool {
	if f.omitZero && v.IsZero() {
		return true
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

// in returns the field in the struct v and makes the embedded structs on the way
// that are nil pointers.
func (f *field) in(v reflect.Value) reflect.Value {
	for i, x := range f.index {
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
