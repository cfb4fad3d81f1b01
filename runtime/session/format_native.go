//go:build !js

package session

import (
	"fmt"
	"io"
)

// In a page nothing prints with fmt, which a small one does without.

// Format prints nothing of the options, whatever the verb: the token, the login and
// the variables are private.
func (Options) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "session options")
}
