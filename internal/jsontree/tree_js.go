//go:build js && wasm

package jsontree

import (
	"errors"
	"syscall/js"
)

var (
	parse     = js.Global().Get("JSON").Get("parse")
	stringify = js.Global().Get("JSON").Get("stringify")
	keys      = js.Global().Get("Object").Get("keys")
	isArray   = js.Global().Get("Array").Get("isArray")
)

// maxDepth bounds the nesting, as encoding/json does.
const maxDepth = 10_000

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
// int64s. A member called __proto__ is lost.
func Encode(v any) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // js.ValueOf knows no other type
			text, err = nil, errors.New("the value is not made of JSON's own types")
		}
	}()
	return []byte(stringify.Invoke(js.ValueOf(v)).String()), nil
}

// Tree returns what v, which JSON.parse made, is in Go.
func Tree(v js.Value) (any, error) { return tree(v, maxDepth) }

func tree(v js.Value, depth int) (any, error) {
	if depth == 0 {
		return nil, errors.New("the value is nested too deep")
	}
	switch v.Type() {
	case js.TypeBoolean:
		return v.Bool(), nil
	case js.TypeNumber:
		return v.Float(), nil
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
	names := keys.Invoke(v)
	members := make(map[string]any, names.Length())
	for i := range names.Length() {
		name := names.Index(i).String()
		member, err := tree(v.Get(name), depth-1)
		if err != nil {
			return nil, err
		}
		members[name] = member
	}
	return members, nil
}
