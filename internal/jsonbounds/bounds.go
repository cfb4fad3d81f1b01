// Package jsonbounds bounds JSON text before it is decoded: how deep it is
// nested, and how long its outermost array is. The size of a text in bytes is
// bounded where it is read.
package jsonbounds

import "errors"

// The errors of [Check].
var (
	ErrDepth = errors.New("the JSON is nested too deeply")
	ErrItems = errors.New("the JSON array has too many elements")
)

// Check returns [ErrDepth] for text that is nested deeper than depth levels, and
// [ErrItems] for an array with more than items elements; 0 is no limit. It
// allocates nothing. Whether text is valid JSON is left to the decoder.
func Check(text []byte, depth, items int) error {
	level, commas := 0, 0
	quoted, list, begun := false, false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !begun && c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			list, begun = c == '[', true
		}
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if level++; level > depth && depth > 0 {
				return ErrDepth
			}
		case c == ']' || c == '}':
			level--
		case c == ',' && level == 1 && list:
			if commas++; commas >= items && items > 0 {
				return ErrItems
			}
		}
	}
	return nil
}

// Values returns how many values a JSON text has at most: each takes some memory when it is
// decoded, however short it is.
func Values(text []byte) int {
	count, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			count++
		}
	}
	return count
}
