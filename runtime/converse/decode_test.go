package converse

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// quoted returns s as a JSON string.
func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func TestDecodeReadsEveryField(t *testing.T) {
	got, ok := Decode([]byte(` {"role":"assistant","type":"tool","content":"f {}","segmentNumber":3,"et":1.25,
		"speechId":"s-1","threadId":"t-1","messageId":"m-1","segmentStart":true,"segmentEnd":true,"isFinal":true,
		"openingPhrase":"Hi","event":"x","status":{"a":[1]},
		"metadata":{"widgetName":"w","runtimeName":"r-tool","subtype":"s","tool_name":"n","tool_display_name":"N","step":2},
		"tool_metadata":{"id":"ti-4","name":"f","args":{"a":1},"type":"client","wait_for_response":true,"timeout":30}} `))
	want := Segment{
		Role: "assistant", Type: Tool, Content: "f {}", SegmentNumber: 3, Elapsed: 1.25,
		SpeechID: "s-1", ThreadID: "t-1", MessageID: "m-1", SegmentStart: true, SegmentEnd: true, IsFinal: true,
		OpeningPhrase: "Hi",
		Metadata: &Metadata{
			WidgetName: "w", RuntimeName: "r-tool", Subtype: "s", ToolName: "n", ToolDisplayName: "N",
			Extra: map[string]json.RawMessage{"step": raw(`2`)},
		},
		ToolMetadata: &ToolMetadata{
			ID: "ti-4", Name: "f", Args: raw(`{"a":1}`), Type: "client", WaitForResponse: true,
			Extra: map[string]json.RawMessage{"timeout": raw(`30`)},
		},
		Extra: map[string]json.RawMessage{"event": raw(`"x"`), "status": raw(`{"a":[1]}`)},
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("Decode = %+v, %v\nwant %+v", got, ok, want)
	}
}

func TestAFieldOfAnotherTypeCostsTheOthersNothing(t *testing.T) {
	const rest = `"type":"text","content":"hi"`
	for field, want := range map[string]Segment{
		`"role":7`:                         {},
		`"segmentNumber":"3"`:              {},
		`"segmentNumber":2.0`:              {SegmentNumber: 2},
		`"segmentNumber":2.5`:              {},
		`"segmentNumber":9007199254740993`: {}, // JavaScript has no such integer
		`"segmentNumber":1e400`:            {},
		`"et":"0.5"`:                       {},
		`"et":null`:                        {},
		`"threadId":{}`:                    {},
		`"isFinal":"true"`:                 {},
		`"isFinal":1`:                      {},
		`"metadata":"x"`:                   {},
		`"metadata":null`:                  {},
		`"metadata":{"runtimeName":1,"subtype":"s"}`:   {Metadata: &Metadata{Subtype: "s"}},
		`"tool_metadata":[]`:                           {},
		`"tool_metadata":{"id":4,"name":"f"}`:          {ToolMetadata: &ToolMetadata{Name: "f"}},
		`"tool_metadata":{"wait_for_response":"true"}`: {ToolMetadata: &ToolMetadata{}},
		`"Type":"error"`:                               {Extra: map[string]json.RawMessage{"Type": raw(`"error"`)}},
		`"ty\u0070e":"text"`:                           {},
	} {
		want.Type, want.Content = Text, "hi"
		for _, text := range []string{"{" + field + "," + rest + "}", "{" + rest + "," + field + "}"} {
			if got, ok := Decode([]byte(text)); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("Decode(%s) = %+v, %v; want %+v", text, got, ok, want)
			}
		}
	}
}

func TestOnlyObjectsAreSegments(t *testing.T) {
	for _, text := range []string{"", " ", "x", "7", "null", `"a"`, "[]", "{", `{"a":1}{`, `{"a":1,}`, strings.Repeat(`{"a":`, 20_000)} {
		if got, ok := Decode([]byte(text)); ok {
			t.Errorf("Decode(%.20q) = %+v", text, got)
		}
	}
	if got, ok := Decode([]byte("{}")); !ok || !reflect.DeepEqual(got, Segment{}) {
		t.Errorf("Decode({}) = %+v, %v", got, ok)
	}
}

func TestContentIsCleaned(t *testing.T) {
	long := strings.Repeat("é", MaxText)
	for content, want := range map[string]any{
		`"plain"`:             "plain",
		`"tab\tline\nfeed\r"`: "tab\tline\nfeed\r",
		`"bell\u0007 esc\u001b del` + "\x7f" + `"`: "bell esc del",
		`"lone \ud800"`:                    "lone \uFFFD",
		"\"bad \xc3\"":                     "bad \uFFFD",
		`"` + long + `"`:                   long,
		`"` + long + "\x7f" + `z"`:         long + "z", // however long
		`{"auth_url":"https://a.example"}`: raw(`{"auth_url":"https://a.example"}`),
		`[1, 2]`:                           raw(`[1, 2]`),
		`null`:                             nil,
	} {
		got, ok := Decode([]byte(`{"content":` + content + `}`))
		if !ok || !reflect.DeepEqual(got.Content, want) {
			t.Errorf("content %.40s became %.60v, %v; want %.60v", content, got.Content, ok, want)
		}
	}
	if got, _ := Decode([]byte(`{"threadId":"a\u0000b","type":"te\u0007xt"}`)); got.ThreadID != "ab" || got.Type != Text {
		t.Errorf("ids are not cleaned: %+v", got)
	}
}

// TestWhatIsHeardIsCut, except tool calls and widgets, whose JSON would become invalid.
func TestWhatIsHeardIsCut(t *testing.T) {
	long := strings.Repeat("é", MaxText)
	whole := long + "z"
	object := raw(`{"a":"` + whole + `"}`)
	for _, c := range []struct {
		s    Segment
		want any
	}{
		{Segment{Type: Avatar, Content: whole}, long},
		{Segment{Type: "code", Content: whole}, long},
		{Segment{Type: Text, Content: long}, long},
		{Segment{Type: Tool, Content: whole}, whole},
		{Segment{Type: WidgetPiece, Content: whole}, whole},
		{Segment{Type: "followups", Content: whole}, whole},
		{Segment{Type: Share, Content: object}, object},
		{Segment{Type: Think}, nil},
	} {
		if c.s.Cut(); !reflect.DeepEqual(c.s.Content, c.want) {
			t.Errorf("%s became %d bytes", c.s.Type, len(c.s.ContentString()))
		}
	}
}

func TestASegmentDoesNotReferToItsLine(t *testing.T) {
	line := []byte(`{"type":"text","content":"hi","threadId":"t","more":{"a":1},"tool_metadata":{"args":{"b":2},"c":3},"metadata":{"d":4}}`)
	got, _ := Decode(line)
	want, _ := Decode(bytes.Clone(line))
	for i := range line {
		line[i] = 'x'
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the segment changed with the line: %+v", got)
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"a\x00b\x1fc\x7fd\te\nf\rg":    "abcd\te\nf\rg",
		"\xff\xfe":                     "\uFFFD",
		strings.Repeat("\x01", 9000):   "",
		strings.Repeat("世", MaxText+1): strings.Repeat("世", MaxText),
	} {
		expect.Equal(t, Clean(text), want, "Clean(%.20q)", text)
	}
}
