package localservice

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/lifecycle"
)

// newBrain stores the documents and returns the brain that o selects, behind the
// script; h is for its endpoint. The model evaluates finished conversations; it is nil for the demo brain.
func (s *Service) newBrain(ctx context.Context, o *Options, h *http.Client) (_ *brain.Scripted, model lifecycle.Model, _ error) {
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
		return nil, nil, errors.New("the brain openai needs Chat.BaseURL and Chat.Model (-chat-url, -chat-model)")
	default:
		chat := brain.NewChat(o.Chat, h, s.store, s.log)
		thinker, model = chat, chat
	}
	scripted := &brain.Scripted{Fallback: thinker, Pace: brain.DefaultPace}
	return scripted, model, scripted.SetScript(o.Script)
}
