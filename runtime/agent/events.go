package agent

import (
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
)

// StateChanged is emitted at every change of state. Reason is user_requested or
// transport_failed.
type StateChanged struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty" ts:"'user_requested' | 'transport_failed'"`
}

// TransportChanged is emitted before a transport connects, so that listeners can be
// attached to the transport itself, and again with the old transport when a switch fails.
type TransportChanged struct {
	Mode Mode `json:"mode"`
	// Transport is a *[avatar.Session] or a *[chat.Session].
	Transport any `json:"-"`
}

// ModeChanged is emitted after a successful switch. If ThreadContinuity is false, the
// conversation continues in a new thread.
type ModeChanged struct {
	Mode             Mode `json:"mode"`
	ThreadContinuity bool `json:"threadContinuity"`
}

// Name implements [event.Event].
func (StateChanged) Name() string     { return "stateChange" }
func (TransportChanged) Name() string { return "transportChanged" }
func (ModeChanged) Name() string      { return "modeChanged" }

// The events of the transports that are passed on (session §A.3.3), and the
// widgets and unconfirmed turns.
type (
	Transcript          = event.Transcript
	TurnStarted         = event.TurnStarted
	TurnEnded           = event.TurnEnded
	ToolCalled          = event.ToolCalled
	ToolCallResult      = event.ToolCallResult
	ToolCallInvalid     = event.ToolCallInvalid
	OAuthRequired       = event.OAuthRequired
	OAuthRequiredResult = event.OAuthRequiredResult
	WidgetShown         = event.WidgetShown
	ResponsePending     = event.ResponsePending
	ResponseSettled     = event.ResponseSettled
	AgentActionDenied   = avatar.AgentActionDenied
	SpeechChunk         = avatar.SpeechChunk
	AvatarStartTalking  = avatar.AvatarStartTalking
	AvatarStopTalking   = avatar.AvatarStopTalking
	Interrupted         = avatar.Interrupted
	TurnUnconfirmed     = avatar.TurnUnconfirmed
	MediaReady          = avatar.MediaReady
	ConnectTimings      = avatar.ConnectTimings
	MediaRecovering     = avatar.MediaRecovering
	MediaRecovered      = avatar.MediaRecovered
	Warning             = event.Warning
	Failed              = event.Failed
	Ended               = event.Ended
	TurnTimings         = event.TurnTimings
)

// passedOn reports whether an event of a transport is one of the session's too.
func passedOn(e event.Event) bool {
	switch e.(type) {
	case Transcript, TurnStarted, TurnEnded, ToolCalled, ToolCallResult, ToolCallInvalid, OAuthRequired, OAuthRequiredResult,
		WidgetShown, ResponsePending, ResponseSettled, AgentActionDenied, SpeechChunk, AvatarStartTalking, AvatarStopTalking,
		Interrupted, TurnUnconfirmed, MediaReady, ConnectTimings, MediaRecovering, MediaRecovered, Warning, Failed,
		TurnTimings:
		return true
	}
	return false
}
