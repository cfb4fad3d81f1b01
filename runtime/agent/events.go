package agent

import (
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

// passedOn reports whether an event of a transport is one of the session's too (session
// §A.3.3). The types and docs of the session's events are generated from its cases.
func passedOn(e event.Event) bool {
	switch e.(type) {
	case event.Transcript, event.TurnStarted, event.TurnEnded, event.TurnTimings, event.TurnUnconfirmed,
		event.ToolCalled, event.ToolCallResult, event.ToolCallInvalid, event.OAuthRequired, event.OAuthRequiredResult,
		event.WidgetShown, event.ResponsePending, event.ResponseSettled, event.AgentActionDenied,
		event.SpeechChunk, event.AvatarStartTalking, event.AvatarStopTalking, event.Interrupted,
		event.MediaReady, event.ConnectTimings, event.MediaRecovering, event.MediaRecovered,
		event.Warning, event.Failed, event.Ended:
		return true
	}
	return false
}
