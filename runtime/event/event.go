// Package event declares the events that sessions of more than one kind send to their
// listeners, each event once: the live session, the chat session and the agent
// session emit the same types, so that one listener serves all of them
// (session-api A.1.5, A.2.3, A.3.3).
//
// What only one kind emits stands in the events.go of that package, beside the
// list of those here that it emits too. The package must not know how a session
// works.
package event

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

//go:generate go run ../../internal/typegen

// Event is something that happened in a session.
type Event interface {
	// Name is the event's name in JavaScript.
	Name() string
}

// Diagnostic is an event with text of errors, which may quote secrets.
type Diagnostic interface {
	Event
	// Redacted returns the event as the application gets it.
	Redacted() Event
}

// ResponsePending says that the brain was prompted; strictly paired with
// [ResponseSettled].
type ResponsePending struct{}

// ResponseSettled ends [ResponsePending].
type ResponseSettled struct{}

// BrainStalled is emitted every brainStallMs of silence; Count grows.
type BrainStalled struct {
	AfterMs int64 `json:"afterMs"`
	Count   int   `json:"count"`
}

// BrainSegment is every piece the brain pushes that passed the action gate.
type BrainSegment struct {
	converse.Segment
}

// WidgetShown is a widget of the answer, put together from its pieces and read.
type WidgetShown struct {
	converse.Widget
}

// TurnStarted begins a piece of speech, or a turn in text. SpeechID is null
// where nothing is spoken.
type TurnStarted struct {
	SpeechID  *string `json:"speechId"`
	TurnID    string  `json:"turnId"`
	IsNewTurn bool    `json:"isNewTurn"`
}

// TurnEnded ends it, once.
type TurnEnded struct {
	SpeechID *string `json:"speechId"`
	TurnID   string  `json:"turnId,omitempty"`
}

// Transcript is what was said: "user" once per turn; "final" a whole sentence
// before its sound, in text a piece of the answer as it streams; "partial" a
// timed piece of the utterance now playing.
type Transcript struct {
	Type     string  `json:"type" ts:"'user' | 'final' | 'partial'"`
	Text     string  `json:"text"`
	SpeechID *string `json:"speechId"`
	Words    []Word  `json:"words,omitempty"`
}

// Word is one word of a partial transcript, in milliseconds from the start of
// the utterance.
type Word struct {
	Word    string `json:"word"`
	StartMs int64  `json:"startMs"`
}

// ToolCall is a client command of the brain (session-api A.1.7).
type ToolCall struct {
	Name         string          `json:"name"`
	Args         json.RawMessage `json:"args" ts:"Record<string, unknown>"`
	Raw          string          `json:"raw"`
	ToolMetadata ToolMetadata    `json:"toolMetadata"`
	// FusedArgs are argument objects that came in the same piece and belong to
	// other tools.
	FusedArgs []json.RawMessage `json:"fusedArgs,omitempty" ts:"Record<string, unknown>[]"`
}

// ToolMetadata tells how a call is answered.
type ToolMetadata struct {
	ID              string `json:"id,omitempty"`
	WaitForResponse bool   `json:"waitForResponse"`
	Type            string `json:"type,omitempty"`
}

// ToolCalled is emitted once per distinct call and turn, before its handlers.
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

// SessionCompleted is emitted once per attempt to tell the service that the
// conversation is over.
type SessionCompleted struct {
	Reason     string `json:"reason"`
	Sent       bool   `json:"sent"`
	Suppressed bool   `json:"suppressed"`
	Peers      int    `json:"peers"`
}

// Warning is something a page may want to know and need not act on.
type Warning struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Detail  string     `json:"detail,omitempty"`
	// Kind is video or audio for playback_blocked and media_attach_failed.
	Kind string `json:"kind,omitempty" ts:"'video' | 'audio'"`
	// RequestVarKeys are names only.
	RequestVarKeys []string `json:"requestVarKeys,omitempty"`
}

// Redacted implements [Diagnostic].
func (w Warning) Redacted() Event {
	w.Detail = fault.Redact(w.Detail)
	return w
}

// Failed is a problem that ends the session, or an attempt or a turn that failed:
// only a fatal code, or the event ended after it, means the end.
type Failed struct {
	*fault.Error
}

// Ended is emitted once for every end of a session, with its reason.
type Ended struct {
	Reason string `json:"reason,omitempty" ts:"EndReason"`
}

// EndReason is why a session has ended. After a loss it is the code of the error event
// before; what the page gave to disconnect() stands for itself.
type EndReason string

// The reasons that are no codes of errors.
const (
	EndDisconnect EndReason = "disconnect"         // by the application
	EndStop       EndReason = "stop"               // by its stop button
	EndPageHide   EndReason = "pagehide"           // the visitor has left the page
	EndIdle       EndReason = "idle_timeout"       // nothing has happened for too long
	EndOver       EndReason = "conversation_ended" // by the service
	// The service, or a broken message of it, has closed the connection.
	EndServer   EndReason = "io server disconnect"
	EndProtocol EndReason = "parse error"
)

// Kickoff is the first user turn of a session, which it sends by itself
// (wire-protocol §7.6).
type Kickoff struct {
	Text string `json:"text"`
	// Echo shows the text as a user transcript.
	Echo bool `json:"echo"`
	// Sent is set in a snapshot once it has left.
	Sent bool `json:"sent"`
}

// Audit is a redacted security event (session-api C.4). A session can't know every field:
// those are null.
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
	// Action is the type without its area.
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
