package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
)

// Turns records when the parts of a turn happen, and emits [event.TurnTimings] when the turn
// is over. It must be used on the session's queue only.
type Turns struct {
	// Over is called when the turn under way has ended; it may be nil.
	Over func()

	core *Core

	asked   *turn // of a typed text that the service has not begun to answer
	current *turn // that is being answered

	speechEnd   time.Time // of the visitor
	speechEndBy string
}

// turn is one record. Times are absolute until it is emitted.
type turn struct {
	event.TurnTimings
	start     time.Time
	marks     map[event.TurnMark]time.Time
	tools     []*toolTimes
	perceived bool
	failed    bool
	spoken    bool // speech was announced
}

type toolTimes struct {
	id, name                   string
	called, returned, answered time.Time
}

// recentSpeech is how long after the visitor's speech a turn may begin that answers it.
const recentSpeech = 30 * time.Second

func newTurn(from string) *turn {
	t := &turn{start: time.Now(), marks: map[event.TurnMark]time.Time{}}
	t.From, t.Estimated, t.Tools = from, []event.TurnMark{}, []event.ToolTiming{}
	return t
}

// mark records the first time of m.
func (t *turn) mark(m event.TurnMark, at time.Time, estimated bool) {
	if _, ok := t.marks[m]; ok {
		return
	}
	t.marks[m] = at
	if estimated {
		t.Estimated = append(t.Estimated, m)
	}
}

// Asked records that a text was sent. A text that is sent again, or is added while another
// awaits its answer, belongs to the same turn.
func (t *Turns) Asked(clientTurnID string) {
	if t.asked == nil {
		t.asked = newTurn("typed")
		t.asked.mark(event.MarkSent, t.asked.start, false)
	}
	t.asked.ClientTurnID = clientTurnID
}

// Unanswered records that no answer to the text comes.
func (t *Turns) Unanswered(clientTurnID string) {
	if t.asked != nil && t.asked.ClientTurnID == clientTurnID {
		t.emit(t.asked, "failed")
		t.asked = nil
	}
}

// UserSpeechEnded records the end of the visitor's speech, so far.
func (t *Turns) UserSpeechEnded(at time.Time, by string) { t.speechEnd, t.speechEndBy = at, by }

// Begin records that the service answers. An utterance that begins no new turn continues the
// one under way.
func (t *Turns) Begin(turnID, speechID string, isNew bool) {
	if !isNew && t.current != nil {
		t.current.SpeechID = cmp.Or(speechID, t.current.SpeechID)
		if t.asked != nil { // a text that was added to the question
			t.current.ClientTurnID, t.asked = t.asked.ClientTurnID, nil
		}
		return
	}
	t.End("")
	t.current, t.asked = t.asked, nil
	if t.current == nil {
		t.current = newTurn("agent") // unless the visitor's words follow
	}
	t.current.TurnID, t.current.SpeechID = turnID, speechID
}

// Transcript records the visitor's words, as the service repeats them.
func (t *Turns) Transcript() {
	c := t.current
	if c == nil {
		return
	}
	now := time.Now()
	c.mark(event.MarkTranscript, now, false)
	if c.From != "agent" {
		return
	}
	c.From, c.SpeechEndBy = "spoken", "service"
	if !t.speechEnd.IsZero() && now.Sub(t.speechEnd) < recentSpeech {
		c.SpeechEndBy = t.speechEndBy
		c.start = t.speechEnd
	}
	c.mark(event.MarkUserSpeechEnd, c.start, c.SpeechEndBy == "service")
	t.speechEnd = time.Time{}
}

// Segment records a segment of the answer. An utterance of another turn is ignored; "" is any.
func (t *Turns) Segment(seg *converse.Segment) {
	c := t.current
	if c == nil || seg.SpeechID != "" && c.SpeechID != "" && seg.SpeechID != c.SpeechID {
		return
	}
	now := time.Now()
	if seg.Type != "" && seg.Type != converse.Keepalive {
		c.mark(event.MarkFirstSegment, now, false)
	}
	if seg.Type.Spoken() && seg.ContentString() != "" {
		c.mark(event.MarkFirstText, now, false)
		c.perceived = true
	}
	if _, widget := seg.Runtime(); widget {
		c.perceived = true
	}
	c.failed = c.failed || seg.Type == converse.Error
	c.ThreadID = cmp.Or(c.ThreadID, seg.ThreadID)
	c.MessageID = cmp.Or(c.MessageID, seg.MessageID)
}

// Announced records that speech will follow, and reports whether it is the first of the turn.
func (t *Turns) Announced(speechID string) (first bool) {
	if t.current == nil || t.current.SpeechID != speechID {
		return false
	}
	first = !t.current.spoken
	t.current.spoken = true
	return first
}

// Mark records something of the turn under way.
func (t *Turns) Mark(m event.TurnMark, at time.Time, estimated bool) {
	if t.current != nil {
		t.current.mark(m, at, estimated)
	}
}

// SpeechEnded records the end of an utterance that was spoken, as the service reports it. The
// service's report that it began is an estimate of the first sound, if that was not measured.
func (t *Turns) SpeechEnded(speechID string, began time.Time) {
	c := t.current
	if c == nil || c.SpeechID != speechID {
		return
	}
	c.perceived = true
	if !began.IsZero() {
		c.mark(event.MarkFirstSound, began, true)
	}
	c.mark(event.MarkSpeechEnd, time.Now(), true)
	t.complete()
}

// TextEnded records that the brain has finished.
func (t *Turns) TextEnded(speechID string) {
	if c := t.current; c != nil && c.SpeechID == speechID {
		c.mark(event.MarkTextEnd, time.Now(), false)
		t.complete()
	}
}

// complete ends the turn when its text and its speech have ended.
func (t *Turns) complete() {
	c := t.current
	_, text := c.marks[event.MarkTextEnd]
	_, speech := c.marks[event.MarkSpeechEnd]
	_, said := c.marks[event.MarkFirstText]
	if text && (speech || !c.spoken && !said) {
		t.End("")
	}
}

// Interrupted ends the turn under way.
func (t *Turns) Interrupted(began time.Time) {
	if t.current == nil {
		return
	}
	if !began.IsZero() {
		t.current.mark(event.MarkFirstSound, began, true)
	}
	t.current.mark(event.MarkInterrupted, time.Now(), false)
	t.End("interrupted")
}

// Close ends all turns: the session is over.
func (t *Turns) Close() {
	t.End("ended")
	if t.asked != nil {
		t.emit(t.asked, "ended")
		t.asked = nil
	}
}

// End ends the turn under way with that outcome; "" is answered, empty or failed, as it was.
func (t *Turns) End(outcome string) {
	c := t.current
	if c == nil {
		return
	}
	t.current = nil
	if t.Over != nil {
		t.Over()
	}
	switch {
	case outcome != "":
	case c.failed:
		outcome = "failed"
	case c.perceived:
		outcome = "answered"
	default:
		outcome = "empty"
	}
	t.emit(c, outcome)
}

func (t *Turns) emit(c *turn, outcome string) {
	now := time.Now()
	since := func(at time.Time) int64 { return at.Sub(c.start).Milliseconds() }
	e := c.TurnTimings
	e.Outcome, e.DurationMs = outcome, since(now)
	e.Marks = make(map[event.TurnMark]int64, len(c.marks))
	for m, at := range c.marks {
		e.Marks[m] = since(at)
	}
	e.Estimated = slices.Clone(c.Estimated)
	for _, tool := range c.tools {
		timing := event.ToolTiming{ID: tool.id, Name: tool.name, Called: since(tool.called)}
		if !tool.returned.IsZero() {
			timing.Returned = new(since(tool.returned))
		}
		if !tool.answered.IsZero() {
			timing.Answered = new(since(tool.answered))
		}
		e.Tools = append(e.Tools, timing)
	}
	t.core.EmitAt(e, now)
}

// called records a call of a client tool.
func (t *Turns) called(call event.ToolCall) *toolTimes {
	times := &toolTimes{id: call.ToolMetadata.ID, name: call.Name, called: time.Now()}
	if t.current != nil {
		t.current.tools = append(t.current.tools, times)
	}
	return times
}

// answered records that the brain has the answer to the call id.
func (t *Turns) answered(id string) {
	if t.current == nil {
		return
	}
	for _, tool := range t.current.tools {
		if tool.id == id {
			tool.answered = time.Now()
		}
	}
}
