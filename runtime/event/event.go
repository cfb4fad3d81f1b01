// Package event declares the events that sessions send to their listeners, each event once:
// the live session, the chat session and the agent session emit the same types, so that one
// listener serves all of them (session §A.1.5, A.2.3, A.3.3).
//
// This file and turn.go have the events of every session that reaches the service itself,
// live.go what a live session emits besides; an agent session passes some of both on
// (runtime/agent, passedOn). Only the changes of a session's state are declared with its kind.
// The TypeScript types and the lists in docs/events.md are generated from these declarations
// and their comments. This package must not depend on how a session works.
package event

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

//go:generate go run ../../internal/typegen

// Event is something that happened in a session.
type Event interface {
	// Name is the event's name in JavaScript.
	Name() string
}

// Timed is an event with the time when it happened, which is before its listener is called:
// listeners receive events one after another.
type Timed struct {
	Event
	At time.Time
}

// Diagnostic is an event that contains error texts, which may quote secrets.
type Diagnostic interface {
	Event
	// Redacted returns the event without secrets, as the application receives it.
	Redacted() Event
}

// ResponsePending reports that the brain was prompted. Exactly one [ResponseSettled]
// follows it.
type ResponsePending struct{}

// ResponseSettled follows [ResponsePending] when the answer begins, or when none will come.
type ResponseSettled struct{}

// BrainStalled is emitted every brainStallMs while nothing of an expected answer
// arrives (session §A.1.5). AfterMs is brainStallMs, Count the number of the event since
// something arrived, from 1: AfterMs times Count is the time waited so far.
type BrainStalled struct {
	AfterMs int64 `json:"afterMs"`
	Count   int   `json:"count"`
}

// BrainSegment is emitted for every segment from the brain, except those that
// agentActions or onAgentAction refused.
type BrainSegment struct {
	converse.Segment
}

// WidgetShown is emitted when a widget of the answer is complete: its segments are
// joined and parsed. One that can't be read has an error, and its text.
type WidgetShown struct {
	converse.Widget
}

// TurnStarted marks the beginning of an utterance of the agent, or of a turn in text.
// SpeechID is null when nothing is spoken.
type TurnStarted struct {
	SpeechID  *string `json:"speechId"`
	TurnID    string  `json:"turnId"`
	IsNewTurn bool    `json:"isNewTurn"`
}

// TurnEnded marks the end of the utterance or turn that [TurnStarted] began. It is
// emitted once.
type TurnEnded struct {
	SpeechID *string `json:"speechId"`
	TurnID   string  `json:"turnId,omitempty"`
}

// Transcript carries what was said. "user" is the visitor's text, once per turn.
// "final" is a whole sentence of the agent before it is spoken or, in text, a piece of
// the answer as it streams. "partial" is a piece of the utterance that is playing, with
// the times of its words.
type Transcript struct {
	Type     string  `json:"type" ts:"'user' | 'final' | 'partial'"`
	Text     string  `json:"text"`
	SpeechID *string `json:"speechId"`
	Words    []Word  `json:"words,omitempty"`
}

// Word is one word of a partial transcript. StartMs is in milliseconds from the start
// of the utterance.
type Word struct {
	Word    string `json:"word"`
	StartMs int64  `json:"startMs"`
}

// ToolCall is a call of a client tool by the brain (session §A.1.7).
type ToolCall struct {
	Name         string          `json:"name"`
	Args         json.RawMessage `json:"args" ts:"Record<string, unknown>"`
	Raw          string          `json:"raw"`
	ToolMetadata ToolMetadata    `json:"toolMetadata"`
	// FusedArgs are argument objects that came in the same segment and belong to calls
	// of other tools.
	FusedArgs []json.RawMessage `json:"fusedArgs,omitempty" ts:"Record<string, unknown>[]"`
}

// ToolMetadata describes how a call is answered. With WaitForResponse the brain waits
// for respondToTool() with this ID.
type ToolMetadata struct {
	ID              string `json:"id,omitempty"`
	WaitForResponse bool   `json:"waitForResponse"`
	Type            string `json:"type,omitempty"`
}

// ToolCalled is emitted before the handlers of a call run. A call that is repeated
// unchanged in the same turn is ignored.
type ToolCalled struct {
	ToolCall
}

// ToolCallResult is emitted for every handler that returned something or failed.
type ToolCallResult struct {
	Call  ToolCall     `json:"call"`
	OK    bool         `json:"ok"`
	Value any          `json:"value,omitempty"`
	Error *fault.Error `json:"error,omitempty"`
}

// ToolCallInvalid replaces [ToolCalled] when the arguments don't fit the schema.
type ToolCallInvalid struct {
	Call   ToolCall `json:"call"`
	Errors []string `json:"errors"`
}

// ToolSpiralDetected is emitted once per turn that calls too many tools.
type ToolSpiralDetected struct {
	Count int `json:"count"`
	Limit int `json:"limit"`
}

// OAuthRequired asks the visitor to authorise a tool; once per URL and turn.
type OAuthRequired struct {
	AuthURL         string `json:"authUrl"`
	ToolName        string `json:"toolName,omitempty"`
	ToolDisplayName string `json:"toolDisplayName,omitempty"`
}

// OAuthRequiredResult is emitted for every handler of [OAuthRequired].
type OAuthRequiredResult struct {
	Result OAuthRequired `json:"result"`
	OK     bool          `json:"ok"`
	Value  any           `json:"value,omitempty"`
	Error  *fault.Error  `json:"error,omitempty"`
}

// SessionCompleted is emitted once per attempt to report the end of the conversation to
// the service. Suppressed means that Peers other tabs still have the thread.
type SessionCompleted struct {
	Reason     string `json:"reason"`
	Sent       bool   `json:"sent"`
	Suppressed bool   `json:"suppressed"`
	Peers      int    `json:"peers"`
}

// Warning reports a problem that does not end the session.
type Warning struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Detail  string     `json:"detail,omitempty"`
	// Kind is video or audio for playback_blocked and media_attach_failed.
	Kind string `json:"kind,omitempty" ts:"'video' | 'audio'"`
	// RequestVarKeys are the names of the variables, for empty_turn_with_request_vars.
	RequestVarKeys []string `json:"requestVarKeys,omitempty"`
}

// Redacted implements [Diagnostic].
func (w Warning) Redacted() Event {
	w.Detail = fault.Redact(w.Detail)
	return w
}

// Failed reports a problem that ends the session, or an attempt or a turn that failed.
// The session ends only if the code is fatal, or if the event ended follows.
type Failed struct {
	*fault.Error
}

// Ended is emitted once for every end of a session, with its reason.
type Ended struct {
	Reason string `json:"reason,omitempty" ts:"EndReason"`
}

// EndReason is why a session ended: the code of the error event before it, the reason
// that the page gave to disconnect(), or one of the other values.
type EndReason string

// The reasons that are not error codes.
const (
	EndDisconnect EndReason = "disconnect"         // by the application
	EndStop       EndReason = "stop"               // by its stop button
	EndPageHide   EndReason = "pagehide"           // the visitor has left the page
	EndIdle       EndReason = "idle_timeout"       // nothing has happened for too long
	EndOver       EndReason = "conversation_ended" // by the service
	// The service closed the connection, or sent a message that could not be parsed.
	EndServer   EndReason = "io server disconnect"
	EndProtocol EndReason = "parse error"
)

// Kickoff is the first user turn, which the session sends by itself
// (protocol §7.6).
type Kickoff struct {
	Text string `json:"text"`
	// Echo shows the text as a user transcript.
	Echo bool `json:"echo"`
	// Sent is true in a snapshot once the kickoff was sent.
	Sent bool `json:"sent"`
}

// Audit is a redacted security event (session §C.4). Fields that a session can't know
// are null.
type Audit struct {
	At       string `json:"ts"` // RFC 3339, in UTC
	Type     string `json:"type"`
	Severity string `json:"severity" ts:"'info' | 'warning'"`
	Outcome  string `json:"outcome"`
	// RequestID is the event's own id.
	RequestID string     `json:"requestId"`
	Actor     AuditActor `json:"actor"`
	// Target is the thread's id, empty before there is one.
	Target string `json:"target"`
	// Action is Type without its area, e.g. connect for session.connect.
	Action string `json:"action"`
	Scope  string `json:"scope" ts:"'session'"`
	Reason string `json:"reason"` // "" without one
	Source string `json:"source" ts:"'runtime'"`
	// ExpiresAt is the end of the token's life, which only the service knows.
	ExpiresAt *string        `json:"expiresAt"`
	Meta      map[string]any `json:"_meta"`
}

// AuditActor is the origin of an audit event.
type AuditActor struct {
	PartnerID string `json:"partnerId"`
	SubjectID string `json:"subjectId"`
	Kind      string `json:"kind" ts:"'user' | 'agent'"`
	// EntitlementEnforced is a privilege of the token, which only the service can read.
	EntitlementEnforced *bool `json:"entitlementEnforced"`
}

// Name implements [Event].
func (ResponsePending) Name() string     { return "responsePending" }
func (ResponseSettled) Name() string     { return "responseSettled" }
func (BrainStalled) Name() string        { return "brainStalled" }
func (BrainSegment) Name() string        { return "brainSegment" }
func (WidgetShown) Name() string         { return "widget" }
func (TurnStarted) Name() string         { return "turnStart" }
func (TurnEnded) Name() string           { return "turnEnd" }
func (Transcript) Name() string          { return "transcript" }
func (ToolCalled) Name() string          { return "toolCall" }
func (ToolCallResult) Name() string      { return "toolCallResult" }
func (ToolCallInvalid) Name() string     { return "toolCallInvalid" }
func (ToolSpiralDetected) Name() string  { return "toolSpiralDetected" }
func (OAuthRequired) Name() string       { return "oauthRequired" }
func (OAuthRequiredResult) Name() string { return "oauthRequiredResult" }
func (SessionCompleted) Name() string    { return "sessionCompleted" }
func (Warning) Name() string             { return "warning" }
func (Failed) Name() string              { return "error" }
func (Ended) Name() string               { return "ended" }
