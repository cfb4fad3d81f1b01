//go:build !js

package jsontree

import "encoding/json"

// Parse returns the value that text spells: nil, bool, float64, string, []any or
// map[string]any.
func Parse(text []byte) (v any, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

// Encode returns the JSON text of v, which is made of what Parse returns, ints and
// int64s.
func Encode(v any) ([]byte, error) { return json.Marshal(v) }
