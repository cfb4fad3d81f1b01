//go:build !js

package json

import (
	"encoding/json"
	"errors"
)

// The types of encoding/json.
type (
	RawMessage = json.RawMessage
	Number     = json.Number
)

// Marshal returns the JSON text of v.
func Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal stores the value that text spells into what v points to. Like
// encoding/json it fills every field that fits before it reports the one that
// does not; see [IsMismatch].
func Unmarshal(text []byte, v any) error { return json.Unmarshal(text, v) }

// Valid reports whether text is one JSON value.
func Valid(text []byte) bool { return json.Valid(text) }

// IsMismatch reports whether err says no more than that some value in the text was
// of another type than its variable.
func IsMismatch(err error) bool {
	var mismatch *json.UnmarshalTypeError
	return errors.As(err, &mismatch)
}
