//go:build js && wasm

package jsontree

import (
	"errors"
	"math"
	"syscall/js"
)

var (
	parse     = js.Global().Get("JSON").Get("parse")
	stringify = js.Global().Get("JSON").Get("stringify")
	keys      = js.Global().Get("Object").Get("keys")
	values    = js.Global().Get("Object").Get("values")
	isArray   = js.Global().Get("Array").Get("isArray")
)

var errNoJSON = errors.New("the text is no JSON")

// Parse returns the value that text spells: nil, bool, float64, string, []any or
// map[string]any.
func Parse(text []byte) (v any, err error) {
	defer func() {
		if r := recover(); r != nil { // js.Error: the text is no JSON
			v, err = nil, errNoJSON
		}
	}()
	return Tree(parse.Invoke(string(text)))
}

// Encode returns the JSON text of v, which is made of what Parse returns, ints and
// int64s. A member called __proto__ is lost, and so is a byte order mark in front of a
// text.
func Encode(v any) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // js.ValueOf knows no other type
			text, err = nil, errors.New("the value is not made of JSON's own types")
		}
	}()
	return []byte(stringify.Invoke(js.ValueOf(v)).String()), nil
}

// Tree returns what v, which JSON.parse made, is in Go.
func Tree(v js.Value) (any, error) { return tree(v, MaxDepth) }

func tree(v js.Value, depth int) (any, error) {
	if depth == 0 {
		return nil, errors.New("the value is nested too deep")
	}
	switch v.Type() {
	case js.TypeBoolean:
		return v.Bool(), nil
	case js.TypeNumber:
		n := v.Float()
		if math.IsInf(n, 0) {
			return nil, errors.New("a number is out of range")
		}
		return n, nil
	case js.TypeString:
		return v.String(), nil
	case js.TypeObject:
		if isArray.Invoke(v).Bool() {
			return list(v, depth)
		}
		return object(v, depth)
	default:
		return nil, nil
	}
}

func list(v js.Value, depth int) (any, error) {
	items := make([]any, v.Length())
	for i := range items {
		item, err := tree(v.Index(i), depth-1)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

func object(v js.Value, depth int) (any, error) {
	// Not read by name: one with half a surrogate pair does not survive the border.
	names, items := keys.Invoke(v), values.Invoke(v)
	members := make(map[string]any, names.Length())
	for i := range names.Length() {
		member, err := tree(items.Index(i), depth-1)
		if err != nil {
			return nil, err
		}
		members[names.Index(i).String()] = member
	}
	return members, nil
}
