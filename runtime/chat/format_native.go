//go:build !js

package chat

import (
	"fmt"
	"io"
)

// In a page nothing prints with fmt, which a small one does without.

// Format prints no more than the state, whatever the verb: the token is secret.
func (s *Session) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "chat session, "+string(s.Snapshot().State)) // fmt has nobody to tell
}
