//go:build js && wasm

package page

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// SessionHooks are the options of every session that are functions of the page.
type SessionHooks struct {
	OnAuditEvent js.Value `json:"onAuditEvent"`
	Logger       js.Value `json:"logger"`

	OnTokenNeeded js.Value `json:"onTokenNeeded"`
	TraceContext  js.Value `json:"traceContext"`
}

// Trace converts the option traceContext, which js/src/core/options.ts has made a function. An
// exception counts as none.
func Trace(fn js.Value) func() httpclient.TraceContext {
	if jsbridge.Absent(fn) {
		return nil
	}
	return func() (c httpclient.TraceContext) {
		if value, err := invoke(fn); err == nil && !jsbridge.Absent(value) {
			_ = jsbridge.FromJS("traceContext", value, &c)
		}
		return c
	}
}

// Into sets the hooks in the options of a session.
func (h *SessionHooks) Into(o *session.Options) {
	o.OnAuditEvent = Hook[event.Audit](h.OnAuditEvent)
	o.Log = Logger(h.Logger)
	o.TraceContext = Trace(h.TraceContext)
	o.OnTokenNeeded = Asked[string]("onTokenNeeded", h.OnTokenNeeded)
}
