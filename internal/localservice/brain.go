package localservice

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
)

// newBrain makes the brain that o asks for, gives it what it answers from, and
// puts the script before it.
func (s *Service) newBrain(ctx context.Context, script *brain.Script, o *Options) (brain.Brain, error) {
	passages, err := brain.ReadKnowledge(o.Knowledge)
	if err != nil {
		return nil, err
	}
	if err := s.store.SetKnowledge(ctx, passages); err != nil {
		return nil, fmt.Errorf("store knowledge: %w", err)
	}
	var thinker brain.Brain
	switch {
	case o.Brain == BrainDemo:
		thinker = &brain.Demo{Knowledge: s.store, Pace: brain.DefaultPace}
	case o.Brain != BrainOpenAI:
		return nil, fmt.Errorf("there is no brain %q, want %s or %s", o.Brain, BrainDemo, BrainOpenAI)
	case o.Chat.BaseURL == "" || o.Chat.Model == "":
		return nil, errors.New("the brain openai needs the address of an endpoint and a model")
	default:
		chat := brain.NewChat(o.Chat, s.store, s.log)
		s.onClose(func() error { chat.Close(); return nil })
		thinker = chat
	}
	return &brain.Scripted{Script: script, Fallback: thinker, Pace: brain.DefaultPace}, nil
}

// readScript reads the script of o, nil when there is none.
func readScript(o *Options) (*brain.Script, error) {
	if len(o.Script) == 0 {
		return nil, nil
	}
	return brain.ParseScript(o.Script)
}
