package avatar

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
)

// decode reads the first argument of ev as T. What is missing or of another
// type stays zero: a field that changes its type must not cost the session the
// rest of the event (wire-protocol §0.3).
func decode[T any](ev socketio.Event) T {
	var v T
	if len(ev.Args) > 0 {
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
