//go:build js && wasm

package jsbridge

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

const (
	// maxDepth bounds the nesting of a value, so that a cycle ends as an error.
	maxDepth = 100
	// maxParts bounds the parts of one value, because a proxy can generate any
	// number of them and freeze the tab.
	maxParts = 1 << 20
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
// error an AgentError. A js.Value stays what it is. Types that marshal themselves
// become the value that their JSON or text spells. Unlike there a nil slice or map is an
// empty one; a nil pointer or interface is null. Invalid UTF-8 becomes U+FFFD.
//
// An integer beyond 2^53 is an error, because JavaScript would round it.
func ToJS(v any) (js.Value, error) {
	if v == nil {
		return js.Undefined(), nil
	}
	rv := reflect.ValueOf(v)
	p := planOf(rv.Type())
	if p.form == stringForm {
		return stringValue(rv.String()), nil
	}
	e := newEncoder()
	var err error
	result := js.Undefined()
	if failed := p.encode(rv, e); failed != nil {
		err = failed
	} else {
		result, err = e.value()
	}
	e.free()
	if err != nil {
		return js.Undefined(), during("convert "+rv.Type().String(), err)
	}
	return result, nil
}

// FromJS stores v into the variable that out points to, by its Go type; name is
// what messages call v. It takes the forms that ToJS makes, and any array buffer
// or view for []byte. What is missing, undefined or null leaves the variable as it
// is, unknown properties are ignored, and a lone surrogate becomes U+FFFD. For an
// any or a json.RawMessage the value is what JSON.stringify makes of it.
//
// A value of the wrong type or out of range, a getter that throws, a cycle and any
// other invalid value is a bad_request that names the place:
// "options.requestVars.a must be a string, got object". Values are not quoted, because
// they may be secret.
func FromJS(name string, v js.Value, out any) error {
	rv := reflect.ValueOf(out).Elem()
	if err := planOf(rv.Type()).fromJS(v, rv, &walk{}); err != nil {
		return fault.New(fault.BadRequest, err.in(name).Error())
	}
	return nil
}

// plan is how the values of one Go type are converted.
type plan struct {
	form   form
	t      reflect.Type
	elem   *plan   // of pointers, lists and maps
	fields []field // of structs
	// appends says that the type writes its own JSON text, see appender.
	appends bool
}

// form is what a Go type looks like in JavaScript.
type form uint8

const (
	noForm form = iota
	boolForm
	stringForm
	intForm
	uintForm
	floatForm
	durationForm
	bytesForm
	valueForm // js.Value
	jsonForm  // marshals itself
	errorForm
	anyForm
	pointerForm
	listForm
	mapForm
	structForm
)

// plans keeps the plan of every type that was converted once. It needs no lock:
// goroutines of a wasm program share one thread, and planOf doesn't wait.
var plans = map[reflect.Type]*plan{}

func planOf(t reflect.Type) *plan {
	if p, ok := plans[t]; ok {
		return p
	}
	p := &plan{form: formOf(t), t: t, appends: t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[appender]())}
	plans[t] = p // before its parts, which may refer to it
	p.addParts()
	return p
}

func (p *plan) addParts() {
	switch p.form {
	case pointerForm, listForm, mapForm:
		p.elem = planOf(p.t.Elem())
	case structForm:
		p.fields = fieldsOf(p.t, nil)
	}
}

// selfMarshalers are the interfaces by which a type overrides encoding/json.
var selfMarshalers = [...]reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

func formOf(t reflect.Type) form {
	kind := t.Kind()
	switch {
	case t == reflect.TypeFor[js.Value]():
		return valueForm
	case t == reflect.TypeFor[time.Duration]():
		return durationForm
	case (kind == reflect.Pointer || kind == reflect.Interface) && t.Implements(reflect.TypeFor[error]()):
		return errorForm
	}
	for _, self := range selfMarshalers {
		if t.Implements(self) || kind != reflect.Pointer && reflect.PointerTo(t).Implements(self) {
			return jsonForm
		}
	}
	return kindForm(t)
}

func kindForm(t reflect.Type) form {
	switch t.Kind() {
	case reflect.Bool:
		return boolForm
	case reflect.String:
		return stringForm
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intForm
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintForm
	case reflect.Float32, reflect.Float64:
		return floatForm
	case reflect.Interface:
		return anyForm
	case reflect.Pointer:
		return pointerForm
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return bytesForm
		}
		return listForm
	case reflect.Array:
		return listForm
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapForm
		}
	case reflect.Struct:
		return structForm
	}
	return noForm
}

// walk bounds one conversion.
type walk struct{ depth, parts int }

// enter begins a value that has parts; leave ends it.
func (w *walk) enter() *valueError {
	w.depth++
	if w.depth > maxDepth {
		return problem("is nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	}
	return w.count()
}

func (w *walk) leave() { w.depth-- }

// count counts one part.
func (w *walk) count() *valueError {
	w.parts++
	if w.parts > maxParts {
		return problem("has more than " + strconv.Itoa(maxParts) + " parts")
	}
	return nil
}

// valueError is the part of a value that cannot be converted, and the reason. Error
// joins them without a colon, because redaction takes text after "token:" for one.
type valueError struct{ path, problem string }

func (e *valueError) Error() string {
	if e.path == "" {
		return e.problem
	}
	return e.path + " " + e.problem
}

// in puts the place where e was met in front of its path.
func (e *valueError) in(place string) *valueError {
	e.path = place + e.path
	return e
}

func problem(text string) *valueError { return &valueError{problem: text} }

// mustBe is the problem of a value of the wrong type.
func mustBe(what string, v js.Value) *valueError {
	return problem("must be " + what + ", got " + kind(v))
}

// unreadable is the problem of a property whose getter, or proxy, threw.
func unreadable(err error) *valueError { return problem("cannot be read: " + err.Error()) }

// inconvertible is the problem of a type that marshals itself and failed.
func inconvertible(err error) *valueError { return problem("cannot be converted: " + err.Error()) }

// field is one property of a struct's object.
type field struct {
	name      string
	key       js.Value // name, converted once
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
