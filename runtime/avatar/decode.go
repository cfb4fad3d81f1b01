package avatar

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
)

// maxText bounds any text that the service sends, in characters; the rest is
// cut (wire-protocol §4.4).
const maxText = 8000

// decode reads the first argument of ev as T. What is missing or of another
// type stays zero: a field that changes its type must not cost the session the
// rest of the event (wire-protocol §0.3).
func decode[T any](ev socketio.Event) T {
	var v T
	if ev.Args.Len() > 0 {
		// encoding/json fills every field that fits before it reports the one
		// that does not.
		_ = ev.Args.Decode(0, &v)
	}
	return v
}

// decodeConfiguration accepts the configuration wrapped or bare
// (wire-protocol §4.2).
func decodeConfiguration(ev socketio.Event) control.Configuration {
	wrapped := decode[struct {
		ClientConfiguration json.RawMessage `json:"clientConfiguration"`
	}](ev)
	if len(wrapped.ClientConfiguration) == 0 {
		return decode[control.Configuration](ev)
	}
	return decode[control.ConfigurationEnvelope](ev).ClientConfiguration
}

// cleanText cuts s to [maxText] characters and drops control characters except
// tab, line feed and carriage return (wire-protocol §4.4).
func cleanText(s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return -1
		}
		if n++; n > maxText {
			return -1
		}
		return r
	}, s)
}
