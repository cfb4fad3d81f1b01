// Package jsontext reads and writes JSON where encoding/json is too slow for a page: it
// reads in one pass, and writes by appending to one buffer, without reflection. It is
// compiled with inlining, unlike the rest of a page's program (tools/wasm/goflags).
package jsontext

import "unicode/utf8"

const hex = "0123456789abcdef"

// plain marks the ASCII bytes that need no escape in a JSON string.
var plain = func() (is [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// AppendString appends s as a JSON string. Each invalid UTF-8 byte becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = append(b, s[done:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, "\uFFFD"...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		done = i
	}
	return append(append(b, s[done:]...), '"')
}
