//go:build !js

package converse

import (
	"fmt"
	"io"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// In a page nothing prints with fmt, which a small one does without.

// Format prints the host alone, whatever the verb: the token is secret.
func (b Brain) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "brain at "+fault.Redact(b.URL)) // fmt has nobody to tell
}
