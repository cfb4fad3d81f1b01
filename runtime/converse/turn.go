package converse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Limits bound what a [Collector] takes of a turn; 0 is no limit.
type Limits struct {
	ToolSegments int // before the turn counts as a spiral of tool calls
	CallsPerTool int // of one name; more are left out
	Segments     int // before the turn is cut
	Bytes        int // of segments, by [Segment.Size], before the turn is cut
}

// MaxKept is how many bytes of segments are kept of a turn: more than any answer of a
// model has, and few enough that an endless reply can't fill the memory.
const MaxKept = 4 << 20

// TurnLimits are the limits of [Client.Turn] (protocol §9.5).
var TurnLimits = Limits{ToolSegments: 8, CallsPerTool: 3, Segments: 2000, Bytes: MaxKept}

// Turn is an answer as a whole (session §A.2.2, sendText, and D.10).
type Turn struct {
	// Text is the text of all spoken segments in one, without the widgets.
	Text string `json:"text"`
	// ThreadID is the id with which the conversation can be continued.
	ThreadID string `json:"threadId"`
	// MessageID is the id of the answer, for feedback.
	MessageID string `json:"messageId"`
	// Segments are all segments in the order in which they arrived.
	Segments []Segment `json:"segments"`
	Widgets  []Widget  `json:"widgets"`
	// Malformed are widgets that could not be read.
	Malformed []Malformed `json:"malformedWidgets,omitempty"`
	// ToolCalls are the distinct calls. If only the result of a call has its tool's name,
	// its arguments are in fusedArgs of the call with which they arrived (protocol
	// §10.6).
	ToolCalls []Call `json:"toolCalls"`
	// Consents are the authorisations that tools wait for.
	Consents []Consent `json:"oauthRequired" ts:"OAuthRequired[]"`
	// Errors are the error segments. They fail the turn unless onErrorSegment selects
	// otherwise.
	Errors []Segment `json:"errors"`
	// SpiralStopped reports that the turn was stopped because it called tools too often.
	// A session never stops a turn for that.
	SpiralStopped bool `json:"spiralStopped"`
	// Truncated reports that the answer exceeds what is kept: 4 MiB, and 20,000 segments
	// in a session or 2,000 without one. Without a session the turn is stopped there.
	Truncated bool `json:"truncated"`
	// Empty reports that the answer had no content at all, which is how the service
	// refuses variables that it does not allow (protocol §10.3).
	Empty bool `json:"empty"`
	// Warnings are for the developer. A session emits them as events instead.
	Warnings []TurnWarning `json:"warnings,omitempty"`
}

// TurnWarning reports a turn that succeeded but may not have the intended result.
type TurnWarning struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	// RequestVarKeys are the names of the variables that were sent.
	RequestVarKeys []string `json:"requestVarKeys,omitempty"`
}

// warn returns the warnings for the turn of request r: if it is empty and had variables,
// the service may have refused them.
func (t *Turn) warn(r Request) []TurnWarning {
	if !t.Empty || len(r.RequestVars) == 0 {
		return nil
	}
	info, _ := fault.Lookup(fault.EmptyTurnWithRequestVars)
	return []TurnWarning{{Code: info.Code, Message: info.Meaning, RequestVarKeys: VarNames(r.RequestVars)}}
}

// Limits of a lean [Collector]: bytes of text, and error segments.
const (
	maxLeanText   = 64 << 10
	maxLeanErrors = 16
)

// Collector puts a turn together. The zero value has no limits and is ready.
type Collector struct {
	Limits Limits
	// Lean keeps only what the outcome of a turn depends on, and nothing that grows with
	// the answer: the ids, the first error segments and the beginning of the text.
	Lean bool
	// OnWidget, if not nil, is called with every widget when it is complete, and with
	// those that can't be read.
	OnWidget func(Widget)

	turn     Turn
	text     strings.Builder
	widgets  Assembler
	dispatch Dispatcher
	segments int
	bytes    int            // of segments
	tools    int            // segments of type Tool
	named    map[string]int // calls by name
	some     bool           // the turn is not empty
}

// Add takes the next segment. It returns false, and leaves the segment out, when
// a limit ends the turn.
func (c *Collector) Add(s Segment) bool {
	bytes := s.Size()
	if c.Limits.Segments > 0 && c.segments == c.Limits.Segments || c.Limits.Bytes > 0 && c.bytes+bytes > c.Limits.Bytes {
		c.turn.Truncated = true
		return false
	}
	if s.Type == Tool {
		if c.Limits.ToolSegments > 0 && c.tools == c.Limits.ToolSegments {
			c.turn.SpiralStopped = true
			return false
		}
		c.tools++
		c.call(&s)
	}
	c.segments++
	c.bytes += bytes
	c.turn.ThreadID = cmp.Or(c.turn.ThreadID, s.ThreadID)
	c.turn.MessageID = cmp.Or(c.turn.MessageID, s.MessageID)
	spoken := ""
	if s.Type.Spoken() {
		spoken = s.ContentString()
	}
	if !c.Lean || c.text.Len() <= maxLeanText {
		c.text.WriteString(spoken)
	}
	if s.Type == Error && !(c.Lean && len(c.turn.Errors) >= maxLeanErrors) {
		c.turn.Errors = append(c.turn.Errors, s)
	}
	if consent, ok := ParseConsent(&s); ok && !c.Lean && !slices.Contains(c.turn.Consents, consent) {
		c.turn.Consents = append(c.turn.Consents, consent)
	}
	c.take(c.widgets.Add(&s), true)
	switch s.Type {
	case Think, Keepalive, Share, Thread, "":
	default:
		c.some = c.some || !s.Type.Spoken() || spoken != ""
	}
	if !c.Lean {
		c.turn.Segments = append(c.turn.Segments, s)
	}
	return true
}

// End ends the widget that is still open. It must be called when no segment follows.
func (c *Collector) End() { c.take(c.widgets.End(), false) }

// Turn returns the turn so far. Later segments don't change it.
func (c *Collector) Turn() Turn {
	t := c.turn
	t.Text, t.Empty = c.text.String(), !c.some
	// Clipped, so that appending to them does not overwrite later elements.
	t.Segments, t.Errors = slices.Clip(t.Segments), slices.Clip(t.Errors)
	t.Consents = slices.Clip(t.Consents)
	t.Widgets, t.Malformed, t.ToolCalls = slices.Clip(t.Widgets), slices.Clip(t.Malformed), slices.Clip(t.ToolCalls)
	return t
}

func (c *Collector) call(s *Segment) {
	call, ok := ParseCall(s)
	if !ok || c.Lean || c.Limits.CallsPerTool > 0 && c.named[call.Name] == c.Limits.CallsPerTool || !c.dispatch.Call(call) {
		return
	}
	if c.named == nil {
		c.named = map[string]int{}
	}
	c.named[call.Name]++
	c.turn.ToolCalls = append(c.turn.ToolCalls, call)
}

// take adds widgets to the turn. Those that can't be read because another has cut them off are
// malformed.
func (c *Collector) take(widgets []Widget, cut bool) {
	for _, w := range widgets {
		if c.OnWidget != nil {
			c.OnWidget(w)
		}
		switch {
		case c.Lean:
		case cut && w.Error != "":
			c.turn.Malformed = append(c.turn.Malformed, Malformed{Runtime: w.Runtime, WidgetName: w.WidgetName, SpeechID: w.SpeechID, Raw: w.Raw})
		default:
			c.turn.Widgets = append(c.turn.Widgets, w)
		}
	}
}
