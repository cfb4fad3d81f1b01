//go:build js && wasm

package jsbridge

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsonbounds"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const (
	// maxDepth bounds the nesting of a value, so that a cycle becomes an error. It is documented at FromJS.
	maxDepth = 100
	// maxParts bounds the number of elements and properties in one value, because a
	// proxy can generate any number of them and freeze the tab.
	maxParts = 1 << 20
	// maxBytes bounds one Uint8Array. A Go program that runs out of memory
	// cannot recover, and the tab has 4 GiB at most.
	maxBytes = 256 << 20
	// maxSafeInteger is the largest integer that a JavaScript number holds
	// without loss.
	maxSafeInteger = 1<<53 - 1
)

// ToJS converts v by its Go type: structs and string maps become objects with
// the names of their json tags (omitempty and embedded structs work as in
// encoding/json), slices become arrays, []byte a Uint8Array,
// time.Duration a number of milliseconds, json.RawMessage the value that it encodes, an
// error an AgentError. A js.Value is passed unchanged. Types with their own JSON
// marshaller become the value that its result encodes. Unlike in encoding/json, a nil
// slice or map becomes an empty one; a nil pointer or interface is null. Invalid UTF-8
// becomes U+FFFD.
//
// An integer beyond 2^53 is an error, because JavaScript would round it.
func ToJS(v any) (js.Value, error) {
	if v == nil {
		return js.Undefined(), nil
	}
	rv := reflect.ValueOf(v)
	c := codecOf(rv.Type())
	if c.kind == stringKind {
		return stringValue(rv.String()), nil
	}
	e := newEncoder()
	var err error
	result := js.Undefined()
	if failed := c.encode(rv, e); failed != nil {
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
// the name of v in error messages. It accepts the forms that ToJS produces, and any
// array buffer or view for []byte. A missing, undefined or null value leaves the variable
// unchanged, unknown properties are ignored, and a lone surrogate becomes U+FFFD. A value
// for an any or a json.RawMessage is converted by JSON.stringify.
//
// A value of the wrong type or out of range, a getter that throws, a cycle, more than
// 100 levels and any other invalid value is a bad_request with the path of the value:
// "options.requestVars.a must be a string, got object". Values are not quoted, because
// they may be secret.
func FromJS(name string, v js.Value, out any) error {
	rv := reflect.ValueOf(out).Elem()
	if err := codecOf(rv.Type()).fromJS(v, rv, &budget{}); err != nil {
		return fault.New(fault.BadRequest, err.in(name).Error())
	}
	return nil
}

// codec describes how the values of one Go type are converted.
type codec struct {
	kind   kind
	t      reflect.Type
	elem   *codec  // of pointers, lists and maps
	fields []field // of structs
	// appends is true for a type that appends its own JSON text, see appender.
	appends bool
}

// kind is the kind of JavaScript value that a Go type becomes.
type kind uint8

const (
	noKind kind = iota
	boolKind
	stringKind
	intKind
	uintKind
	floatKind
	durationKind
	bytesKind
	valueKind // js.Value
	jsonKind  // has its own JSON marshaller
	errorKind
	anyKind
	pointerKind
	listKind
	mapKind
	structKind
)

// codecs caches the codec of each type. It needs no lock: goroutines of a wasm program
// share one thread, and codecOf never blocks.
var codecs = map[reflect.Type]*codec{}

func codecOf(t reflect.Type) *codec {
	if c, ok := codecs[t]; ok {
		return c
	}
	c := &codec{kind: kindOf(t), t: t, appends: t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[appender]())}
	codecs[t] = c // before addParts, because a type may contain itself
	c.addParts()
	return c
}

func (c *codec) addParts() {
	switch c.kind {
	case pointerKind, listKind, mapKind:
		c.elem = codecOf(c.t.Elem())
	case structKind:
		c.fields = fieldsOf(c.t, nil)
	}
}

// selfMarshalers are the interfaces by which a type defines its own JSON form.
var selfMarshalers = [...]reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()}

func kindOf(t reflect.Type) kind {
	kind := t.Kind()
	switch {
	case t == reflect.TypeFor[js.Value]():
		return valueKind
	case t == reflect.TypeFor[time.Duration]():
		return durationKind
	case (kind == reflect.Pointer || kind == reflect.Interface) && t.Implements(reflect.TypeFor[error]()):
		return errorKind
	}
	for _, self := range selfMarshalers {
		if t.Implements(self) || kind != reflect.Pointer && reflect.PointerTo(t).Implements(self) {
			return jsonKind
		}
	}
	return kindOfGo(t)
}

func kindOfGo(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.Bool:
		return boolKind
	case reflect.String:
		return stringKind
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intKind
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintKind
	case reflect.Float32, reflect.Float64:
		return floatKind
	case reflect.Interface:
		return anyKind
	case reflect.Pointer:
		return pointerKind
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return bytesKind
		}
		return listKind
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapKind
		}
	case reflect.Struct:
		return structKind
	}
	return noKind
}

// budget counts the nesting and the parts of one conversion, to bound both.
type budget struct{ depth, parts int }

// enter is called before the parts of a value are converted, leave after.
func (b *budget) enter() *valueError {
	b.depth++
	if b.depth > maxDepth {
		return inconvertible(jsonbounds.ErrDepth)
	}
	return b.count()
}

func (b *budget) leave() { b.depth-- }

// count counts one part.
func (b *budget) count() *valueError {
	b.parts++
	if b.parts > maxParts {
		return problem("has more than " + strconv.Itoa(maxParts) + " parts")
	}
	return nil
}

// valueError is the path of a value that cannot be converted, and the reason. Error
// joins them without a colon, because redaction would remove the text after "token:".
type valueError struct{ path, problem string }

func (e *valueError) Error() string {
	if e.path == "" {
		return e.problem
	}
	return e.path + " " + e.problem
}

// in prepends place to the path of e.
func (e *valueError) in(place string) *valueError {
	e.path = place + e.path
	return e
}

func problem(text string) *valueError { return &valueError{problem: text} }

// mustBe returns the error for a value of the wrong type.
func mustBe(what string, v js.Value) *valueError {
	return problem("must be " + what + ", got " + typeName(v))
}

// unreadable returns the error for a property whose getter or proxy threw.
func unreadable(err error) *valueError { return problem("cannot be read: " + err.Error()) }

// inconvertible returns the error for a value whose own marshaller failed.
func inconvertible(err error) *valueError { return problem("cannot be converted: " + err.Error()) }

// field is one property of a struct's object.
type field struct {
	name      string
	key       js.Value // name, converted once
	index     []int    // as in reflect.Value.FieldByIndex
	codec     *codec
	omitEmpty bool
}

// fieldsOf lists the properties of the struct t, which is embedded at index, with the
// names that encoding/json gives them. A field of t hides fields of the same name in the
// structs that t embeds.
func fieldsOf(t reflect.Type, index []int) []field {
	var own, embedded []field
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous && name == "" && kindOf(sf.Type) == structKind {
			embedded = append(embedded, fieldsOf(sf.Type, at)...)
			continue
		}
		if !sf.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		own = append(own, field{
			name:      name,
			key:       stringValue(name),
			index:     at,
			codec:     codecOf(sf.Type),
			omitEmpty: options == "omitempty",
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

// omits reports whether the field is omitted because of its value, by the rules of
// encoding/json.
func (f *field) omits(v reflect.Value) bool {
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
