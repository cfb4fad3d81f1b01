//go:build js && wasm

package page

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// Listen returns the listener that hands a session's events to the page.
func (h *Handle) Listen() func(event.Event) {
	return func(e event.Event) {
		var payload any = e
		if failed, ok := e.(event.Failed); ok {
			payload = failed.Error // becomes an AgentError
		}
		h.Emit(e.Name(), payload)
	}
}

// The methods that sessions of every kind have.

// Disconnect makes the method disconnect of one.
func Disconnect(f func(keep bool, reason string)) Now {
	return func(c Call) (any, error) {
		var options struct {
			Final  *bool  `json:"final"`
			Reason string `json:"reason"`
		}
		if err := c.Into("options", 0, &options); err != nil {
			return nil, err
		}
		f(Off(options.Final), options.Reason)
		return nil, nil
	}
}

// RespondToTool makes the method respondToTool of one.
func RespondToTool(f func(context.Context, string, map[string]any) (session.ToolAnswer, error)) Later {
	return func(ctx context.Context, c Call) (any, error) {
		var (
			id       string
			response map[string]any
		)
		if err := c.Into("id", 0, &id); err != nil {
			return nil, err
		}
		if err := c.Into("response", 1, &response); err != nil {
			return nil, err
		}
		return f(ctx, id, response)
	}
}
