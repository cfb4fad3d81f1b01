// Package options fills in and checks structs of options by the tags of their fields, so
// that an option's default and its allowed values are declared with the option.
// internal/typegen writes the TypeScript types and checks from the same tags.
//
//	default:"12s"          the value that replaces zero or a nil pointer
//	enum:"relay,all"       the allowed strings, besides the empty one
//	max:"100"              the largest number that is allowed
//	check:"integer"        numbers below zero are allowed
//
// Options for which zero, false or "" is a valid value are pointers; nil means not given.
package options

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Complete sets the zero fields of a struct to their defaults, also in embedded structs
// and in fields that are structs; o points to the struct. The error is the bad_request
// of the first field whose value is not allowed.
func Complete(o any) error { return complete(reflect.ValueOf(o).Elem()) }

func complete(v reflect.Value) error {
	for i, f := range fields(v.Type()) {
		at := v.Field(i)
		if f.IsExported() && at.Kind() == reflect.Struct {
			if err := complete(at); err != nil {
				return err
			}
			continue
		}
		if text, ok := f.Tag.Lookup("default"); ok && at.IsZero() {
			fill(at, text)
		}
		if err := check(f, reflect.Indirect(at)); err != nil {
			return err
		}
	}
	return nil
}

func fields(t reflect.Type) []reflect.StructField {
	list := make([]reflect.StructField, t.NumField())
	for i := range list {
		list[i] = t.Field(i)
	}
	return list
}

var duration = reflect.TypeFor[time.Duration]()

// fill sets v to the default written in text. An invalid default is a bug in the
// declaration and panics.
func fill(v reflect.Value, text string) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	var err error
	switch {
	case v.Type() == duration:
		var d time.Duration
		d, err = time.ParseDuration(text)
		v.SetInt(int64(d))
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
	case v.CanFloat():
		var n float64
		n, err = strconv.ParseFloat(text, 64)
		v.SetFloat(n)
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
	default:
		v.SetString(text)
	}
	if err != nil {
		panic(err)
	}
}

// check returns the bad_request of a value that f does not allow.
func check(f reflect.StructField, v reflect.Value) error {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if allowed, ok := f.Tag.Lookup("enum"); ok && v.Kind() == reflect.String {
		if values := strings.Split(allowed, ","); v.Len() > 0 && !slices.Contains(values, v.String()) {
			return fault.New(fault.BadRequest, name+" must be one of "+strings.Join(values, ", "))
		}
	}
	negative := v.CanInt() && v.Int() < 0 || v.CanFloat() && !(v.Float() >= 0)
	if negative && name != "" && f.Tag.Get("check") != "integer" {
		return fault.New(fault.BadRequest, name+" must be a number, 0 or more")
	}
	if most, ok := f.Tag.Lookup("max"); ok {
		limit, err := strconv.ParseFloat(most, 64)
		if err != nil {
			panic(err) // a bug in the declaration
		}
		if v.CanInt() && float64(v.Int()) > limit || v.CanFloat() && v.Float() > limit {
			return fault.New(fault.BadRequest, name+" must be at most "+most)
		}
	}
	return nil
}

// Inherit sets every zero field of own to its value in shared.
func Inherit[T any](own *T, shared T) {
	inherit(reflect.ValueOf(own).Elem(), reflect.ValueOf(shared))
}

func inherit(own, shared reflect.Value) {
	for i, f := range fields(own.Type()) {
		switch at := own.Field(i); {
		case f.Anonymous && at.Kind() == reflect.Struct:
			inherit(at, shared.Field(i))
		case at.CanSet() && at.IsZero():
			at.Set(shared.Field(i))
		}
	}
}
