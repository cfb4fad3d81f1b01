//go:build js && wasm

package page

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// SessionHooks are the functions among the options of every session.
type SessionHooks struct {
	OnAuditEvent js.Value `json:"onAuditEvent"`
	Logger       js.Value `json:"logger"`
}

// Into sets them in the options of a session.
func (h *SessionHooks) Into(o *session.Options) {
	o.OnAuditEvent = Hook[event.Audit](h.OnAuditEvent)
	o.Log = Logger(h.Logger)
}
