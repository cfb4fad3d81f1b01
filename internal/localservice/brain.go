package localservice

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/lifecycle"
)

// newBrain makes the brain that o asks for, gives it what it answers from, and
// puts the script before it. The model is what reads finished conversations, nil
// without one.
func (s *Service) newBrain(ctx context.Context, script *brain.Script, o *Options) (_ *brain.Scripted, model lifecycle.Model, _ error) {
	passages, err := brain.ReadKnowledge(o.Knowledge)
	if err != nil {
		return nil, nil, err
	}
	if err := s.store.SetDocuments(ctx, passages); err != nil {
		return nil, nil, fmt.Errorf("store knowledge: %w", err)
	}
	var thinker brain.Brain
	switch {
	case o.Brain == BrainDemo:
		thinker = &brain.Demo{Knowledge: s.store, Pace: brain.DefaultPace}
	case o.Brain != BrainOpenAI:
		return nil, nil, fmt.Errorf("there is no brain %q, want %s or %s", o.Brain, BrainDemo, BrainOpenAI)
	case o.Chat.BaseURL == "" || o.Chat.Model == "":
		return nil, nil, errors.New("the brain openai needs the address of an endpoint and a model")
	default:
		chat := brain.NewChat(o.Chat, s.store, s.log)
		s.onClose(func() error { chat.Close(); return nil })
		thinker, model = chat, chat
	}
	return &brain.Scripted{Script: script, Fallback: thinker, Pace: brain.DefaultPace}, model, nil
}

// readScript reads the script of o, nil when there is none.
func readScript(o *Options) (*brain.Script, error) {
	if len(o.Script) == 0 {
		return nil, nil
	}
	return brain.ParseScript(o.Script)
}

// runRules works off what follows from conversations, until Close.
func (s *Service) runRules(model lifecycle.Model) {
	engine := lifecycle.New(lifecycle.Config{Store: s.store, Model: model, Logger: s.log})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.tasks.Go(func() {
		defer close(ended)
		engine.Run(ctx)
	})
	s.onClose(func() error {
		stop()
		<-ended // before the store is closed
		return nil
	})
}
