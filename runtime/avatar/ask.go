package avatar

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// Answer is what the agent said to a typed turn.
type Answer struct {
	// Text is the text that was really spoken, shorter than the answer if that was
	// interrupted.
	Text string
	event.Utterance
}

// asked is the place of a typed turn among the events.
type asked struct{}

func (asked) Name() string { return "" }

// Ask sends text as one user turn, as [Session.Speak] does, and waits until the agent has
// spoken its next utterance after it. An answer without speech has none, so that ctx should
// have a deadline.
//
// Errors: those of Speak; the error with which the session fails meanwhile; network_error
// for a turn that may be lost; invalid_state when the session ends first; aborted or timeout
// at the end of ctx.
func (s *Session) Ask(ctx context.Context, text string) (Answer, error) {
	events := s.core.Subscribe()
	defer events.Stop()
	sent, err := s.start(ctx, text, func() { events.Add(asked{}) })()
	if err != nil {
		return Answer{}, err
	}
	if !sent {
		return Answer{}, endedFirst()
	}
	begun, after := map[string]bool{}, false
	for {
		e, ok := events.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return Answer{}, session.EndOf(ctx)
		case !ok:
			return Answer{}, endedFirst()
		}
		switch e := e.(type) {
		case asked:
			after = true
		case event.TurnStarted:
			if after && e.SpeechID != nil {
				begun[*e.SpeechID] = true
			}
		case event.AvatarStopTalking:
			if begun[e.SpeechID] {
				return Answer(e), nil
			}
		case event.TurnUnconfirmed:
			if after && strings.Contains(e.Text, text) {
				return Answer{}, fault.New(fault.NetworkError, "the turn may be lost: the service has not confirmed it")
			}
		case event.Failed:
			return Answer{}, e.Error
		case event.Ended:
			return Answer{}, endedFirst()
		case StateChanged:
			if e.State == Disconnected {
				return Answer{}, endedFirst()
			}
		}
	}
}

func endedFirst() *fault.Error {
	return fault.New(fault.InvalidState, "the session ended before the answer")
}
