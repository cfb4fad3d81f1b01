package converse

import (
	"encoding/json"
	"strings"
)

// maxWidget bounds the text of a widget, in bytes: what may come whole may come in
// pieces.
const maxWidget = MaxLine

// Assembler puts the widgets of a conversation together from the pieces in which
// they come (wire-protocol §4.4.3). The zero value is ready.
type Assembler struct {
	open   *Widget // without a body yet
	text   strings.Builder
	object json.RawMessage // content that was no text
	ended  bool            // the piece that says it is the last was met
}

// Add takes any segment. It returns the widget that ended because the segment
// begins another, or what of it could not be read, and the one whose last piece the
// segment says it is: what follows may be a tool that takes minutes.
func (a *Assembler) Add(s *Segment) (done []Widget, malformed []Malformed) {
	if s.Type == UserInterruption {
		a.Discard()
		return nil, nil
	}
	runtime, ok := s.Runtime()
	if !ok {
		return nil, nil
	}
	switch {
	case a.open == nil:
		a.begin(s, runtime)
	case runtime == "": // goes on with whatever is open
	// Of two widgets of one kind, the second begins where the first has ended.
	case runtime != a.open.Runtime || s.SpeechID != a.open.SpeechID || a.ended && s.SegmentStart:
		done, malformed = a.flush(true)
		a.begin(s, runtime)
	}
	a.put(s.Content)
	if s.SegmentEnd && !a.ended {
		a.ended = true
		done = append(done, a.whole()...)
	}
	return done, malformed
}

// End ends the turn, and with it the widget that is still open.
func (a *Assembler) End() (done []Widget, malformed []Malformed) { return a.flush(false) }

// Discard drops the widget that is open: the turn was interrupted.
func (a *Assembler) Discard() { *a = Assembler{} }

func (a *Assembler) begin(s *Segment, runtime string) {
	*a = Assembler{open: &Widget{Runtime: runtime, SpeechID: s.SpeechID}}
	if s.Metadata != nil {
		a.open.WidgetName = s.Metadata.WidgetName
	}
}

// put takes the content of a piece: text is added to text, an object or an array
// replaces everything.
func (a *Assembler) put(content json.RawMessage) {
	var text string
	switch {
	case len(content) > 0 && (content[0] == '{' || content[0] == '['):
		a.text.Reset()
		a.object = content
	case json.Unmarshal(content, &text) == nil && a.text.Len()+len(text) <= maxWidget:
		a.text.WriteString(text)
	}
}

// whole ends the open widget if all of it is there. JSON that is none yet waits for
// what may still come, whatever its last piece said.
func (a *Assembler) whole() []Widget {
	c := parseContent(a.object, a.text.String())
	if c.broken() || c.blank() {
		return nil
	}
	return []Widget{a.fill(c)}
}

// flush ends the open widget. A text that is cut off by another widget and began
// like JSON is reported; at the end of the turn what there is has to do.
func (a *Assembler) flush(cut bool) (done []Widget, malformed []Malformed) {
	if a.open == nil {
		return nil, nil
	}
	c := parseContent(a.object, a.text.String())
	w := a.fill(c)
	switch {
	case c.blank():
		return nil, nil // it was announced and did not come
	case cut && c.broken():
		return nil, []Malformed{{Runtime: w.Runtime, WidgetName: w.WidgetName, SpeechID: w.SpeechID, Raw: c.text}}
	}
	return []Widget{w}, nil
}

// fill returns the open widget with c, and forgets it.
func (a *Assembler) fill(c content) Widget {
	w := *a.open
	w.fill(c)
	*a = Assembler{}
	return w
}
