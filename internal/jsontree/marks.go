package jsontree

import "iter"

// MaxDepth is how deep a JSON text may be nested, as in encoding/json. A browser
// has no bound, and who walks such a text afterwards would be busy for minutes.
const MaxDepth = 10_000

// Marks yields the brackets and braces of text that are not in a string, with their
// places. The text need not be JSON.
func Marks(text []byte) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		quoted := false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case !quoted && (c == '{' || c == '}' || c == '[' || c == ']') && !yield(i, c):
				return
			}
		}
	}
}

// Depth returns how deep text is nested.
func Depth(text []byte) (deepest int) {
	depth := 0
	for _, c := range Marks(text) {
		if c == '{' || c == '[' {
			depth++
			deepest = max(deepest, depth)
		} else {
			depth--
		}
	}
	return deepest
}
