package event

// TurnTimings is emitted once for each turn, when it is over: at the end of its speech or,
// if nothing is spoken, of its text; when it is interrupted; or when the next turn begins.
// The turn began DurationMs before. In a page, the first sound and the first frame are
// measured only while the live session itself has a listener for this event.
type TurnTimings struct {
	// TurnID is absent for a turn that was not answered.
	TurnID string `json:"turnId,omitempty"`
	// SpeechID is that of the turn's last utterance.
	SpeechID string `json:"speechId,omitempty"`
	// ClientTurnID is the id that was sent with a typed turn.
	ClientTurnID string `json:"clientTurnId,omitempty"`
	// ThreadID and MessageID are the service's.
	ThreadID  string `json:"threadId,omitempty"`
	MessageID string `json:"messageId,omitempty"`
	// From is what began the turn: a text, the visitor's voice, or the agent itself.
	From    string `json:"from" ts:"'typed' | 'spoken' | 'agent'"`
	Outcome string `json:"outcome" ts:"'answered' | 'interrupted' | 'empty' | 'failed' | 'ended'"`
	// DurationMs is the time from the beginning of the turn to this event.
	DurationMs int64 `json:"durationMs"`
	// Marks has the milliseconds from the beginning of the turn, which is the end of the
	// visitor's speech, or when the text was sent. What did not happen is absent.
	Marks map[TurnMark]int64 `json:"marks" ts:"Partial<Record<TurnMark, number>>"`
	// Estimated are the marks that were derived from messages of the service.
	Estimated []TurnMark `json:"estimated"`
	// SpeechEndBy is what has found the end of the visitor's speech: the session's own
	// detector, the end of the source of a native microphone, or the service.
	SpeechEndBy string `json:"speechEndBy,omitempty" ts:"'detector' | 'source' | 'service'"`
	// Tools are the client tools that were called.
	Tools []ToolTiming `json:"tools"`
}

// TurnMark is something that happens in a turn.
type TurnMark string

// The marks.
const (
	MarkUserSpeechEnd TurnMark = "userSpeechEnd" // the visitor has stopped speaking
	MarkSent          TurnMark = "sent"          // the text was sent
	MarkTranscript    TurnMark = "transcript"    // the service has repeated what was said
	MarkFirstSegment  TurnMark = "firstSegment"  // of the brain, also one without text
	MarkFirstText     TurnMark = "firstText"     // of the answer
	MarkFirstSound    TurnMark = "firstSound"    // that is played; natively, that arrives
	MarkFirstFrame    TurnMark = "firstFrame"    // of the picture that moves with the sound
	MarkTextEnd       TurnMark = "textEnd"       // the brain has finished
	MarkSpeechEnd     TurnMark = "speechEnd"     // the avatar has finished
	MarkInterrupted   TurnMark = "interrupted"   // the visitor interrupted the avatar
)

// TurnMarks are all marks, in their usual order.
var TurnMarks = []TurnMark{
	MarkUserSpeechEnd, MarkSent, MarkTranscript, MarkFirstSegment, MarkFirstText,
	MarkFirstSound, MarkFirstFrame, MarkTextEnd, MarkSpeechEnd, MarkInterrupted,
}

// ToolTiming has the times of a call of a client tool, in milliseconds from the beginning of
// the turn.
type ToolTiming struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Called int64  `json:"called"`
	// Returned is when the last handler returned, Answered when respondToTool succeeded.
	Returned *int64 `json:"returned,omitempty"`
	Answered *int64 `json:"answered,omitempty"`
}

// Name implements [Event].
func (TurnTimings) Name() string { return "turnTimings" }
