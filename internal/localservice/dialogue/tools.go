package dialogue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// ErrUnknownCall means that no tool call with that id was made for the caller.
var ErrUnknownCall = errors.New("no such tool call")

// rememberedCalls is how many finished calls are kept, so that a late answer is not
// refused like a wrong one.
const rememberedCalls = 4096

// Results of tools without an answer. A page that does not answer is not a failure (local-service choice E8).
var (
	timedOut   = json.RawMessage(`{"status":"timeout"}`)
	dispatched = json.RawMessage(`{"status":"dispatched"}`)
)

// calls are the tool calls that wait for an answer, and the last finished ones.
type calls struct {
	byID     map[string]*pending
	finished []string // oldest first
}

type pending struct {
	owner  store.Scope
	name   string
	answer chan json.RawMessage // nil once the call is finished
}

// ToolAnswer is what a page answers to a blocking client tool
// (protocol §9.8).
type ToolAnswer struct {
	Name         string
	ID           string
	InvocationID string
	Response     json.RawMessage // a JSON object
}

// ToolResponse hands an answer to the turn that waits for it. An answer that
// comes too late, or twice, is accepted and dropped; one without a call of this
// caller is [ErrUnknownCall].
func (s *Service) ToolResponse(scope store.Scope, a ToolAnswer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.calls.byID[a.ID]
	if p == nil || a.InvocationID != a.ID || a.Name != p.name || !scope.Reaches(p.owner) {
		return ErrUnknownCall
	}
	if p.answer != nil {
		p.answer <- a.Response // doesn't block: the channel is buffered, and retire removes it
		s.retire(a.ID, p)
	}
	return nil
}

// expect registers a call, before it is sent to the page.
func (s *Service) expect(owner store.Scope, name string) (id string, answer <-chan json.RawMessage) {
	p := &pending{owner: owner, name: name, answer: make(chan json.RawMessage, 1)}
	id = uuid.NewString()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls.byID[id] = p
	return id, p.answer
}

// retire marks a call as finished. The caller must hold mu.
func (s *Service) retire(id string, p *pending) {
	p.answer = nil
	s.calls.finished = append(s.calls.finished, id)
	if len(s.calls.finished) > rememberedCalls {
		delete(s.calls.byID, s.calls.finished[0])
		s.calls.finished = s.calls.finished[1:]
	}
}

// giveUp marks a call as finished unless an answer has finished it already.
func (s *Service) giveUp(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.calls.byID[id]; p != nil && p.answer != nil {
		s.retire(id, p)
	}
}

// await waits for the answer to a call, as long as the tool's time-out allows.
func await(ctx context.Context, answer <-chan json.RawMessage, tool store.ToolDef) (brain.Result, error) {
	select {
	case response := <-answer:
		return brain.Result{Response: response, Answered: true}, nil
	case <-time.After(tool.Timeout()):
		return brain.Result{Response: timedOut}, nil
	case <-ctx.Done():
		return brain.Result{}, ctx.Err()
	}
}
