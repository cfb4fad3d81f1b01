package converse

import (
	"slices"
	"strings"
)

// Limits bound what a [Collector] takes of a turn; 0 is no limit.
type Limits struct {
	ToolSegments int // before the turn counts as a spiral of tool calls
	CallsPerTool int // of one name; more are left out
	Segments     int // before the turn is cut
}

// OnceLimits are the limits of [Brain.Once] (wire-protocol §9.5).
var OnceLimits = Limits{ToolSegments: 8, CallsPerTool: 3, Segments: 2000}

// Turn is an answer as a whole (session-api A.2.2, sendText, and D.10).
type Turn struct {
	// Text is the spoken pieces in one.
	Text string `json:"text"`
	// ThreadID continues the conversation, MessageID is for feedback.
	ThreadID  string `json:"threadId"`
	MessageID string `json:"messageId"`
	// Segments are all pieces as they came.
	Segments []Segment `json:"segments"`
	Widgets  []Widget  `json:"widgets"`
	// Malformed are widgets that could not be read.
	Malformed []Malformed `json:"malformedWidgets,omitempty"`
	// ToolCalls are the distinct calls. Those of which only the result tells the
	// name are in Fused of the call they came with (wire-protocol §10.6).
	ToolCalls []Call `json:"toolCalls"`
	// Errors are the error segments.
	Errors []Segment `json:"errors"`
	// SpiralStopped says that the turn was left because it called tools only.
	SpiralStopped bool `json:"spiralStopped"`
	// Truncated says that it was left because it had too many segments.
	Truncated bool `json:"truncated"`
}

// Empty reports whether the turn brought nothing at all, which is how the
// service refuses variables it does not allow (wire-protocol §10.3).
func (t Turn) Empty() bool {
	for i := range t.Segments {
		switch kind := t.Segments[i].Type; kind {
		case Think, Keepalive, Share, Thread:
		default:
			if !kind.Spoken() {
				return false
			}
		}
	}
	return t.Text == ""
}

// Collector puts a turn together. The zero value has no limits and is ready.
type Collector struct {
	Limits Limits

	turn     Turn
	text     strings.Builder
	widgets  Assembler
	dispatch Dispatcher
	tools    int
	named    map[string]int // calls by name
}

// Add takes the next segment. It returns false, and leaves the segment out, when
// a limit ends the turn.
func (c *Collector) Add(s Segment) bool {
	if c.Limits.Segments > 0 && len(c.turn.Segments) == c.Limits.Segments {
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
	if c.turn.ThreadID == "" {
		c.turn.ThreadID = s.ThreadID
	}
	if c.turn.MessageID == "" {
		c.turn.MessageID = s.MessageID
	}
	if s.Type.Spoken() {
		c.text.WriteString(s.ContentString())
	}
	if s.Type == Error {
		c.turn.Errors = append(c.turn.Errors, s)
	}
	c.take(c.widgets.Add(&s))
	c.turn.Segments = append(c.turn.Segments, s)
	return true
}

// End says that no segment follows, and ends the widget that is still open.
func (c *Collector) End() { c.take(c.widgets.End()) }

// Turn returns the turn so far. Later segments don't change it.
func (c *Collector) Turn() Turn {
	t := c.turn
	t.Text = c.text.String()
	// Clipped, so that appending to them does not reach into what follows.
	t.Segments, t.Errors = slices.Clip(t.Segments), slices.Clip(t.Errors)
	t.Widgets, t.Malformed, t.ToolCalls = slices.Clip(t.Widgets), slices.Clip(t.Malformed), slices.Clip(t.ToolCalls)
	return t
}

func (c *Collector) call(s *Segment) {
	call, ok := ParseCall(s)
	if !ok || c.Limits.CallsPerTool > 0 && c.named[call.Name] == c.Limits.CallsPerTool || !c.dispatch.Call(call) {
		return
	}
	if c.named == nil {
		c.named = map[string]int{}
	}
	c.named[call.Name]++
	c.turn.ToolCalls = append(c.turn.ToolCalls, call)
}

func (c *Collector) take(done []Widget, malformed []Malformed) {
	c.turn.Widgets = append(c.turn.Widgets, done...)
	c.turn.Malformed = append(c.turn.Malformed, malformed...)
}
