//go:build js && wasm

package json

import (
	"errors"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// Number is a number as it was written.
type Number string

// String returns it.
func (n Number) String() string { return string(n) }

// UnmarshalJSON implements json.Unmarshaler: of a number, or of one in quotes. Null
// changes nothing.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if len(text) > 1 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	if len(text) == 0 || text[0] != '-' && (text[0] < '0' || '9' < text[0]) || !Valid(text) {
		return errors.New("the value is no number")
	}
	*n = Number(text)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("0"), nil
	}
	return []byte(n), nil
}

// RawMessage is a value as JSON text.
type RawMessage []byte

// MarshalJSON implements json.Marshaler.
func (m RawMessage) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	return m, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *RawMessage) UnmarshalJSON(text []byte) error {
	*m = append((*m)[:0], text...)
	return nil
}

// Marshal returns the JSON text of v.
func Marshal(v any) ([]byte, error) { return jsbridge.ToJSON(v) }

// Unmarshal stores the value that text spells into what v points to. Like
// encoding/json it fills every field that fits before it reports the one that
// does not; see [IsMismatch].
func Unmarshal(text []byte, v any) error { return jsbridge.FromJSON(text, v) }

// Valid reports whether text is one JSON value.
func Valid(text []byte) bool { return jsbridge.ValidJSON(text) }

// IsMismatch reports whether err says no more than that some value in the text was
// of another type than its variable.
func IsMismatch(err error) bool { return errors.Is(err, jsbridge.ErrMismatch) }
