package socketio

import "encoding/json"

// RawArgs returns arguments of which the JSON text is known, for those who stand
// in for a socket.
func RawArgs(raw ...json.RawMessage) Args { return Args{raw: raw} }
