package dialogue

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// keepVariables stores what a tool's variables_mapping has picked of its reply: variables of
// the rest of the thread, which the client's own override, and of this turn's later tools.
// Variables that a client may not set are left out.
func (s *sink) keepVariables(ctx context.Context, tool *store.ToolDef, result brain.Result) error {
	if len(tool.VariablesMapping) == 0 {
		return nil
	}
	var picked struct {
		Variables map[string]any `json:"variables"`
	}
	if json.Unmarshal(result.Response, &picked) != nil || len(picked.Variables) == 0 || CheckVars(picked.Variables) != nil {
		s.service.cfg.Logger.Info("a tool set no variables: its reply has none, or a value that is not a scalar", "tool", tool.Name)
		return nil
	}
	maps.Copy(s.vars, picked.Variables)
	return stored(s.service.cfg.Store.ChangeThreadState(ctx, s.threadID, func(state *store.ThreadState) {
		state.Vars = merged(state.Vars, picked.Variables)
		if CheckVars(state.Vars) != nil { // too many of earlier tools
			state.Vars = picked.Variables
		}
	}))
}
