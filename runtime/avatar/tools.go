package avatar

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// What tool calls are handled and answered with.
type (
	ToolHandler    = session.ToolHandler
	ConsentHandler = session.ConsentHandler
	ToolAnswer     = session.ToolAnswer
)

// perception tells what a turn had for the visitor.
type perception struct {
	widgets   converse.Assembler // the one that is not complete yet
	perceived bool               // something was perceived in this turn
	unheard   int                // tool segments since the visitor last perceived anything
}

// OnToolCall registers a handler for the tool called name and returns the
// function that removes it. Handlers of one name run in the order of their
// registration; of several schemas the newest counts. The error is bad_request.
func (s *Session) OnToolCall(name string, h ToolHandler, schema converse.ArgsSchema) (remove func(), err error) {
	return s.tools.OnToolCall(name, h, schema)
}

// OnOAuthRequired registers a handler for requests of the visitor's consent and
// returns the function that removes it. The error is bad_request.
func (s *Session) OnOAuthRequired(h ConsentHandler) (remove func(), err error) {
	return s.tools.OnOAuthRequired(h)
}

// RespondToTool answers a call that the brain waits for. response is an object.
// Errors: bad_request, invalid_state.
func (s *Session) RespondToTool(ctx context.Context, id string, response map[string]any) (ToolAnswer, error) {
	if err := s.live(); err != nil {
		return ToolAnswer{}, err
	}
	return s.tools.Respond(ctx, id, response)
}
