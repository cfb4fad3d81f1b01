package httpclient

import (
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TraceContext is a W3C trace context, which joins what the service logs of a request to the
// trace of the application. The zero value is none.
type TraceContext struct {
	// Traceparent is version, trace id, parent id and flags in lower-case hex digits:
	// 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.
	Traceparent string `json:"traceparent"`
	// Tracestate is what vendors add, at most 512 printable ASCII characters.
	Tracestate string `json:"tracestate,omitempty"`
}

// maxTracestate is how much of a tracestate every implementation passes on.
const maxTracestate = 512

// Check returns bad_request unless the context is valid or zero.
func (t TraceContext) Check() error {
	if t == (TraceContext{}) {
		return nil
	}
	if !validTraceparent(t.Traceparent) {
		return fault.New(fault.BadRequest, "traceparent must be a W3C trace context, such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	}
	if len(t.Tracestate) > maxTracestate || strings.ContainsFunc(t.Tracestate, func(c rune) bool { return c < ' ' || c > '~' }) {
		return fault.New(fault.BadRequest, "tracestate must be at most 512 printable ASCII characters")
	}
	return nil
}

// validTraceparent accepts version 00 only: what this runtime sends has no later form.
func validTraceparent(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" {
		return false
	}
	for i, digits := range []int{2, 32, 16, 2} {
		if len(parts[i]) != digits || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}
