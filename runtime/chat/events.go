package chat

import "github.com/agentruntime/agentruntime/runtime/event"

// StateChanged is emitted at every change of state.
type StateChanged struct {
	State State `json:"state"`
}

// Name implements [event.Event].
func (StateChanged) Name() string { return "stateChange" }

// The events that a chat session shares with other kinds (session §A.2.3).
type (
	Transcript          = event.Transcript
	TurnStarted         = event.TurnStarted
	TurnEnded           = event.TurnEnded
	ResponsePending     = event.ResponsePending
	ResponseSettled     = event.ResponseSettled
	BrainStalled        = event.BrainStalled
	BrainSegment        = event.BrainSegment
	WidgetShown         = event.WidgetShown
	ToolCalled          = event.ToolCalled
	ToolCallResult      = event.ToolCallResult
	ToolCallInvalid     = event.ToolCallInvalid
	ToolSpiralDetected  = event.ToolSpiralDetected
	OAuthRequired       = event.OAuthRequired
	OAuthRequiredResult = event.OAuthRequiredResult
	SessionCompleted    = event.SessionCompleted
	Warning             = event.Warning
	Failed              = event.Failed
	Ended               = event.Ended
	TurnTimings         = event.TurnTimings
)
