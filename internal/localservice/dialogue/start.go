package dialogue

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/toolrun"
)

// withRemote returns the agent's profile with the tools of its MCP servers.
func (s *Service) withRemote(ctx context.Context, who Caller, vars map[string]any) store.Profile {
	p := who.Agent.Profile
	if len(p.Servers) == 0 {
		return p
	}
	var names []string
	for _, t := range p.Tools {
		names = append(names, t.Name)
	}
	p.Tools = append(slices.Clone(p.Tools), s.cfg.Tools.Remote(ctx, p.Servers, names, secretVariables(who, vars))...)
	return p
}

// startTools runs the start tools of a new thread, in order, and stores the results of
// those that it waits for. A tool that fails does not fail the conversation, and none is
// in the stream (service.md, Intellect).
func (s *Service) startTools(ctx context.Context, who Caller, t store.Thread, c Context) {
	tools := who.Agent.Profile.StartTools
	if len(tools) == 0 {
		return
	}
	if !who.Agent.Profile.AllowClientVariables {
		c.Vars = nil
	}
	vars := secretVariables(who, variables(who, t, c, c.Vars, "", "", true))
	var results []store.ToolResult
	for i := range tools {
		tool := &tools[i]
		switch {
		case !toolrun.Here(tool):
			s.cfg.Logger.Warn("start tool skipped: it runs in a page", "tool", tool.Name)
		case tool.Type == store.APITool && tool.WaitForResponse:
			results = append(results, store.ToolResult{Tool: tool.Name, Result: s.cfg.Tools.Run(ctx, tool, nil, vars)})
		default:
			s.cfg.Tools.Start(tool, nil, vars)
		}
	}
	if len(results) == 0 {
		return
	}
	if err := s.cfg.Store.ChangeThreadState(ctx, t.ID, func(state *store.ThreadState) { state.Started = results }); err != nil {
		s.cfg.Logger.Error("results of start tools not stored", "thread", store.ThreadLabel(t.ID), "error", err)
	}
}

// keepSkill keeps a loaded skill in the prompts of the thread.
func (s *Service) keepSkill(ctx context.Context, threadID, name string) error {
	return s.cfg.Store.ChangeThreadState(ctx, threadID, func(state *store.ThreadState) {
		if !slices.Contains(state.Skills, name) {
			state.Skills = append(state.Skills, name)
		}
	})
}
