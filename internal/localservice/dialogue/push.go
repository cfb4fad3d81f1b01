package dialogue

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

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
// template filled in. It does not wait for a turn that runs there.
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
		if owner.Agent, err = s.cfg.Store.AgentByConfig(ctx, thread.PartnerID, thread.ConfigID); err != nil {
			return store.Message{}, fmt.Errorf("agent of the thread: %w", err)
		}
	}
	if len(p.Vars) > 0 && !owner.Agent.Profile.AllowClientVariables {
		return store.Message{}, ErrNoVariables
	}
	vars := thread.Vars
	if len(p.Vars) > 0 {
		thread, err = s.cfg.Store.UpdateThread(ctx, scope, thread.ID, func(t *store.Thread) error {
			t.Vars = merged(t.Vars, p.Vars)
			return CheckVars(t.Vars)
		})
		if err != nil {
			return store.Message{}, err
		}
		vars = thread.Vars
	}
	m := store.Message{ID: uuid.NewString(), ThreadID: thread.ID, Role: store.AI}
	if p.System {
		m.Role = store.System
	}
	text := brain.Render(p.Content, variables(owner, thread, Context{ContextID: thread.ContextID}, vars, "", m.ID, false))
	if utf8.RuneCountInString(text) > MaxText {
		return store.Message{}, ErrTooLong
	}
	m.Parts = []store.Part{spokenPart(text, false)}
	return m, s.cfg.Store.AddMessage(ctx, &m)
}
