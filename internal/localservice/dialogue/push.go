package dialogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// ErrNoVariables means that the thread's agent takes no client variables.
var ErrNoVariables = errors.New("the agent takes no client variables")

// Push is a message that a partner's server puts into a thread.
type Push struct {
	ThreadID string
	Content  string         // a template over the variables of the thread and sys__*
	Vars     map[string]any // merged into those stored with the thread; see [CheckVars]
	// System marks a message that only the brain reads and the agent does not say.
	System bool
}

// Push appends a message to a thread that the scope reaches, and returns it with its
// template filled in. It does not wait for a turn that runs there. For a repeated request
// ([store.WithRequest]) it changes nothing, and fails with [store.ErrRepeated]; the message
// has only its id and its thread then.
func (s *Service) Push(ctx context.Context, scope store.Scope, p Push) (store.Message, error) {
	thread, err := s.cfg.Store.Thread(ctx, scope, p.ThreadID)
	if err != nil {
		return store.Message{}, err
	}
	owner := Caller{
		Claims: token.Claims{PartnerID: thread.PartnerID, UserID: thread.UserID}, User: s.cfg.Users[thread.UserID],
		Agent: store.Agent{ID: store.DefaultAgentID, PartnerID: thread.PartnerID, Profile: store.DefaultProfile()},
	}
	if thread.ConfigID != 0 {
		if owner.Agent, err = s.agentOf(ctx, &thread); err != nil {
			return store.Message{}, fmt.Errorf("agent of the thread: %w", err)
		}
	}
	if len(p.Vars) > 0 && !owner.Agent.Profile.AllowClientVariables {
		return store.Message{}, ErrNoVariables
	}
	m := store.Message{ID: store.IDFor(ctx, "push", thread.ID), ThreadID: thread.ID, Role: store.AI}
	if p.System {
		m.Role = store.System
	}
	if repeated, err := s.cfg.Store.HasTurn(ctx, thread.ID, m.ID); err != nil || repeated {
		return m, cmp.Or(err, store.ErrRepeated)
	}
	state, err := s.cfg.Store.ThreadState(ctx, thread.ID)
	if err != nil {
		return store.Message{}, fmt.Errorf("read state: %w", err)
	}
	vars := withResults(merged(state.Vars, merged(thread.Vars, p.Vars)), state.Started) // as in a turn
	text := brain.Render(p.Content, variables(owner, thread, Context{ContextID: thread.ContextID}, vars, "", m.ID, false))
	if utf8.RuneCountInString(text) > MaxText {
		return store.Message{}, ErrTooLong
	}
	if len(p.Vars) > 0 { // of a push that is not refused
		_, err := s.cfg.Store.UpdateThread(ctx, scope, thread.ID, func(t *store.Thread) error {
			t.Vars = merged(t.Vars, p.Vars)
			return CheckVars(t.Vars)
		})
		if err != nil {
			return store.Message{}, err
		}
	}
	m.Parts = []store.Part{spokenPart(text, false)}
	return m, s.cfg.Store.AddQuestion(ctx, &m, []string{m.ID}, "") // checks again, in the transaction
}

// agentOf returns the agent of a thread with a configuration: the one that the thread names, as
// long as it has that configuration, otherwise any agent that has it.
func (s *Service) agentOf(ctx context.Context, t *store.Thread) (store.Agent, error) {
	agent, err := s.cfg.Store.Agent(ctx, t.PartnerID, t.AgentID)
	switch {
	case err == nil && agent.ConfigID == t.ConfigID:
		return agent, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return agent, err
	}
	return s.cfg.Store.AgentByConfig(ctx, t.PartnerID, t.ConfigID)
}
