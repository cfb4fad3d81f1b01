package converse

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func collect(limits Limits, segments ...Segment) (Turn, int) {
	c := Collector{Limits: limits}
	taken := 0
	for _, s := range segments {
		if !c.Add(s) {
			break
		}
		taken++
	}
	c.End()
	return c.Turn(), taken
}

func TestASpiralOfToolCallsIsLeft(t *testing.T) {
	var segments []Segment
	for i := range 20 {
		segments = append(segments, Segment{Type: Think}, *toolSegment(fmt.Sprintf("t%d {}", i)))
	}
	turn, taken := collect(TurnLimits, segments...)
	if !turn.SpiralStopped || turn.Truncated || taken != 17 || len(turn.ToolCalls) != 8 || len(turn.Segments) != 17 {
		t.Errorf("took %d segments and %d calls; stopped: %v", taken, len(turn.ToolCalls), turn.SpiralStopped)
	}
	if turn, taken := collect(TurnLimits, segments[:16]...); turn.SpiralStopped || taken != 16 {
		t.Errorf("eight calls are a spiral already: took %d", taken)
	}
	if turn, taken := collect(Limits{}, segments...); turn.SpiralStopped || taken != 40 || len(turn.ToolCalls) != 20 {
		t.Errorf("without limits: took %d", taken)
	}
}

func TestAToolIsCalledAFewTimesPerTurnAtMost(t *testing.T) {
	segments := []Segment{
		*toolSegment(`f {"a":1}`), *toolSegment(`f { "a": 1 }`), *toolSegment(`g`), *toolSegment(`f {"a":2}`),
		*toolSegment(`f {"a":3}`), *toolSegment(`f {"a":4}`), *toolSegment(`{"a":5}`),
	}
	turn, _ := collect(TurnLimits, segments...)
	var got []string
	for _, c := range turn.ToolCalls {
		got = append(got, c.Name+string(c.Args))
	}
	if want := []string{`f{"a":1}`, `g{}`, `f{"a":2}`, `f{"a":3}`}; !reflect.DeepEqual(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestALongTurnIsCut(t *testing.T) {
	segments := make([]Segment, 2001)
	for i := range segments {
		segments[i] = Segment{Type: Text, Content: "a"}
	}
	turn, taken := collect(TurnLimits, segments...)
	if !turn.Truncated || taken != 2000 || len(turn.Text) != 2000 {
		t.Errorf("took %d segments, %d bytes of text; truncated: %v", taken, len(turn.Text), turn.Truncated)
	}
	if turn, _ := collect(TurnLimits, segments[:2000]...); turn.Truncated {
		t.Error("2000 segments are too many already")
	}
}

// TestEveryTextOfASegmentCounts for the limit in bytes, in whichever field it is.
func TestEveryTextOfASegmentCounts(t *testing.T) {
	const fill = 100_000
	long := strings.Repeat("x", fill)
	content, extra := raw(long), map[string]json.RawMessage{"a": raw(long)}
	for name, s := range map[string]Segment{
		"role": {Role: long}, "type": {Type: Type(long)}, "content": {Content: content}, "speechId": {SpeechID: long},
		"threadId": {ThreadID: long}, "messageId": {MessageID: long}, "openingPhrase": {OpeningPhrase: long}, "extra": {Extra: extra},
		"widgetName": {Metadata: &Metadata{WidgetName: long}}, "runtimeName": {Metadata: &Metadata{RuntimeName: long}},
		"subtype": {Metadata: &Metadata{Subtype: long}}, "tool_name": {Metadata: &Metadata{ToolName: long}},
		"tool_display_name": {Metadata: &Metadata{ToolDisplayName: long}}, "metadata": {Metadata: &Metadata{Extra: extra}},
		"tool id": {ToolMetadata: &ToolMetadata{ID: long}}, "tool name": {ToolMetadata: &ToolMetadata{Name: long}},
		"tool args": {ToolMetadata: &ToolMetadata{Args: content}}, "tool type": {ToolMetadata: &ToolMetadata{Type: long}},
		"tool_metadata": {ToolMetadata: &ToolMetadata{Extra: extra}},
	} {
		turn, taken := collect(Limits{Bytes: 10*fill + 1000}, slices.Repeat([]Segment{s}, 20)...)
		if !turn.Truncated || taken != 10 || len(turn.Segments) != 10 {
			t.Errorf("%s: took %d segments, truncated: %v", name, taken, turn.Truncated)
		}
	}
	keys := map[string]json.RawMessage{}
	for i := range 10_000 {
		keys[strconv.Itoa(i)] = raw("1")
	}
	if s := (&Segment{Extra: keys}); s.Size() < 500_000 {
		t.Errorf("10,000 keys count as %d bytes", s.Size())
	}
}

func TestConsentIsAskedForOnce(t *testing.T) {
	ask := func(content string) Segment {
		s, _ := Decode([]byte(`{"type":"interruption","content":` + content +
			`,"metadata":{"subtype":"oauth_required","tool_name":"mail","tool_display_name":"Mail"}}`))
		return s
	}
	turn, _ := collect(Limits{},
		ask(`{"auth_url":"https://a.example/x"}`), ask(`"https://a.example/x"`), ask(`"https://b.example"`),
		ask(`"javascript:alert(1)"`), ask(`{}`), ask(`null`),
		Segment{Type: Interruption, Content: "https://c.example"},
		Segment{Type: UserInterruption, Content: "https://d.example", Metadata: &Metadata{Subtype: "oauth_required"}},
	)
	want := []Consent{{"https://a.example/x", "mail", "Mail"}, {"https://b.example", "mail", "Mail"}}
	if !reflect.DeepEqual(turn.Consents, want) {
		t.Errorf("consents %+v, want %+v", turn.Consents, want)
	}
}

func TestATurnSoFarStaysAsItWas(t *testing.T) {
	var c Collector
	c.Add(Segment{Type: Text, Content: "a"})
	before := c.Turn()
	c.Add(Segment{Type: Text, Content: "b"})
	_ = append(before.Segments, Segment{Type: Error})
	after := c.Turn()
	if before.Text != "a" || len(before.Segments) != 1 || after.Text != "ab" || after.Segments[1].Type != Text {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestALeanCollectorKeepsWhatATurnIsJudgedBy(t *testing.T) {
	var shown []Widget
	c := Collector{Lean: true, Limits: Limits{Segments: 301}, OnWidget: func(w Widget) { shown = append(shown, w) }}
	for range 100 {
		c.Add(Segment{Type: Text, Content: "0123456789abcdef", ThreadID: "t", MessageID: "m"})
		c.Add(Segment{Type: Error, Content: "x"})
		c.Add(*toolSegment(`f {}`))
	}
	c.Add(*pieces("followups-tool", `{"items":["a"]}`)[0])
	if c.Add(Segment{Type: Text}) {
		t.Error("a segment above the limit was taken")
	}
	c.End()
	turn := c.Turn()
	if turn.Segments != nil || turn.ToolCalls != nil || turn.Widgets != nil || len(turn.Errors) != maxLeanErrors || turn.ThreadID != "t" || turn.MessageID != "m" || turn.Empty {
		t.Errorf("the turn is %+v", turn)
	}
	if want := []Widget{{Runtime: RuntimeFollowups, WidgetName: "w", Followups: &Followups{Questions: []string{"a"}}}}; !reflect.DeepEqual(shown, want) {
		t.Errorf("shown %+v", shown)
	}
}

// TestACollectorThatBecomesLeanKeepsNoMore, as that of a session whose answer exceeds what is kept.
func TestACollectorThatBecomesLeanKeepsNoMore(t *testing.T) {
	var c Collector
	add := func() {
		for range maxLeanErrors + 1 {
			c.Add(Segment{Type: Error, Content: "no"})
		}
	}
	add()
	c.Lean = true
	add()
	if n := len(c.Turn().Errors); n != maxLeanErrors+1 {
		t.Errorf("%d errors were kept of %d", n, maxLeanErrors+1)
	}
}
