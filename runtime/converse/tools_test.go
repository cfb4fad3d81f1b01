package converse

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func toolSegment(content string) *Segment {
	return &Segment{Type: Tool, Content: content}
}

func TestParseCallFollowsTheProtocolsExamples(t *testing.T) {
	for content, want := range map[string]Call{
		`go_to_page {"page": 4}`:    {Name: "go_to_page", Args: json.RawMessage(`{"page": 4}`)},
		`ping`:                      {Name: "ping", Args: json.RawMessage(`{}`)},
		`open_doc {"a":1}{"b":2}`:   {Name: "open_doc", Args: json.RawMessage(`{"b":2}`), Fused: []json.RawMessage{json.RawMessage(`{"a":1}`)}},
		`go_to_page {"page":`:       {Name: "go_to_page", Args: json.RawMessage(`{}`)},
		`say {"t":"a } { \" b"}`:    {Name: "say", Args: json.RawMessage(`{"t":"a } { \" b"}`)},
		`a {"x":1} {"y":2} [3]{"z"`: {Name: "a", Args: json.RawMessage(`{"y":2}`), Fused: []json.RawMessage{json.RawMessage(`{"x":1}`)}},
	} {
		want.Raw = content
		got, ok := ParseCall(toolSegment(content))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseCall(%q) = %+v, %v; want %+v", content, got, ok, want)
		}
	}
	for _, content := range []string{"", "   ", `{"a":1}`} {
		if got, ok := ParseCall(toolSegment(content)); ok {
			t.Errorf("ParseCall(%q) = %+v, want no call", content, got)
		}
	}
}

func TestALongCallKeepsItsArguments(t *testing.T) {
	args := `{"note":"` + strings.Repeat("n", MaxLine/4) + `"}`
	segment, _ := Decode([]byte(`{"type":"tool","content":` + quoted("save_note "+args) + `}`))
	if got, ok := ParseCall(&segment); !ok || got.Name != "save_note" || string(got.Args) != args {
		t.Errorf("%v, %q with %d bytes, want %d", ok, got.Name, len(got.Args), len(args))
	}
}

func TestArgumentsMayComeBesideTheText(t *testing.T) {
	for _, c := range []struct{ content, beside, want string }{
		{`go`, `{"page":4}`, `{"page":4}`},
		{`go {"page":`, `{"page":4}`, `{"page":4}`},
		{`go {"page":5}`, `{"page":4}`, `{"page":5}`},
		{`go {}`, `{"page":4}`, `{}`},
		{`go`, `[4]`, `{}`},
		{`go`, `null`, `{}`},
		{`go`, ``, `{}`},
	} {
		s := toolSegment(c.content)
		s.ToolMetadata = &ToolMetadata{Args: json.RawMessage(c.beside)}
		if got, ok := ParseCall(s); !ok || got.Name != "go" || string(got.Args) != c.want {
			t.Errorf("%s beside %s: %s %s, want %s", c.beside, c.content, got.Name, got.Args, c.want)
		}
	}
}

func TestACallIsText(t *testing.T) {
	for _, content := range []string{`{"name":"ping"}`, `["ping",{"a":1}]`, `5`, `true`, `null`, ``} {
		s := &Segment{Type: Tool, Content: json.RawMessage(content), ToolMetadata: &ToolMetadata{ID: "ti-4", Name: "ping", WaitForResponse: true}}
		if got, ok := ParseCall(s); ok || !reflect.DeepEqual(got, Call{}) {
			t.Errorf("content %s: %+v, want no call", content, got)
		}
	}
}

func TestBlockingIsTakenFromTheSegment(t *testing.T) {
	s := toolSegment(`save_note {"note":"x"}`)
	s.ToolMetadata = &ToolMetadata{ID: "ti-4", Name: "save_note", Type: "client", WaitForResponse: true}
	got, ok := ParseCall(s)
	if !ok || got.ID != "ti-4" || got.Kind != "client" || !got.Blocking {
		t.Errorf("ParseCall = %+v, %v", got, ok)
	}
}

func TestResponseName(t *testing.T) {
	for content, want := range map[string]string{
		"show_chart responded with size 113":  "show_chart",
		"  open_doc responded ":               "open_doc",
		"open_doc\n\tresponded with size 1":   "open_doc",
		"open_doc respondedly":                "",
		"responded":                           "",
		"the tool open_doc responded quickly": "",
		"":                                    "",
	} {
		expect.Equal(t, ResponseName(&Segment{Content: content}), want, "ResponseName(%q)", content)
	}
}

func TestFusedCallsAreRecoveredFromTheirResults(t *testing.T) {
	var d Dispatcher
	first, _ := ParseCall(toolSegment(`open_doc {"id":1}{"id":2}`))
	if !d.Call(first) || string(first.Args) != `{"id":2}` {
		t.Fatalf("first call = %+v", first)
	}
	second, ok := d.Response(&Segment{Content: "show_chart responded with size 113"})
	if !ok || second.Name != "show_chart" || string(second.Args) != `{"id":1}` {
		t.Errorf("recovered %+v, %v", second, ok)
	}
	if c, ok := d.Response(&Segment{Content: "open_doc responded with size 104"}); ok {
		t.Errorf("a tool that was dispatched by name was dispatched again: %+v", c)
	}
}

func TestARepeatedCallRunsOncePerTurn(t *testing.T) {
	var d Dispatcher
	one, _ := ParseCall(toolSegment(`f {"a":1,"b":{"d":[1,2],"c":12345678901234567890}}`))
	same, _ := ParseCall(toolSegment(`f { "b": {"c":12345678901234567890, "d":[1,2]}, "a":1}`))
	other, _ := ParseCall(toolSegment(`f {"a":1,"b":{"d":[2,1],"c":12345678901234567890}}`))
	if !d.Call(one) || d.Call(same) || !d.Call(other) {
		t.Error("want: first runs, the same with other key order does not, another order of an array does")
	}
	d.NewSpeech()
	if d.Call(one) {
		t.Error("a continuation of the turn ran the call again")
	}
	d.NewTurn()
	if !d.Call(one) {
		t.Error("a new turn did not run the call")
	}
}

// TestCallsOfATurnAreBounded in bytes, because they are remembered.
func TestCallsOfATurnAreBounded(t *testing.T) {
	var d Dispatcher
	run := func(n int) (ran int) {
		for i := range n {
			call, _ := ParseCall(toolSegment(fmt.Sprintf(`go {"n":%d,"note":"%s"}`, i, strings.Repeat("x", 100_000))))
			if d.Call(call) {
				ran++
			}
		}
		return ran
	}
	if ran := run(30); ran != MaxKept/200_000 { // text and arguments
		t.Errorf("%d calls ran", ran)
	}
	if d.NewTurn(); run(1) != 1 {
		t.Error("the next turn has no room")
	}
}

func TestCanonical(t *testing.T) {
	for raw, want := range map[string]string{
		` {"b" : [ 1 , {"d":null,"c":"x\u0041"} , [ ] , [[2]] ] , "a":12345678901234567890 } `: `{"a":12345678901234567890,"b":[1,{"c":"xA","d":null},[],[[2]]]}`,
		`{"a":1,"a":2}`: `{"a":2}`,
		` "[" `:         `"["`,
		` -0.50 `:       `-0.50`,
		`{}`:            `{}`,
		`{"a":`:         `{"a":`,
	} {
		expect.Equal(t, Canonical([]byte(raw)), want, "%s", raw)
	}
}

// TestDeepValuesAreCanonicalSoon: a recursive decoder that descends a thousand levels
// overflows the stack of a page's program.
func TestDeepValuesAreCanonicalSoon(t *testing.T) {
	const size = 1 << 18
	for _, levels := range []int{MaxDepth, MaxDepth + 1, 10_000} {
		for _, level := range [][2]string{{`{"b":`, `,"a":1}`}, {`{"a":`, `}`}, {`[`, `]`}} {
			nested := func(before, after, within string) string {
				return strings.Repeat(before, levels) + within + strings.Repeat(after, levels)
			}
			long := `"` + strings.Repeat("y", size-len(nested(level[0], level[1], ""))) + `"`
			start := time.Now()
			got := Canonical([]byte(" " + nested(level[0], level[1], long)))
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%d levels of %s took %s", levels, level[0], took)
			}
			want := nested(level[0], level[1], long)
			if level[1] == `,"a":1}` && levels <= MaxDepth {
				want = nested(`{"a":1,"b":`, `}`, long)
			}
			expect.Equal(t, got, want, "%d levels of %s became", levels, level[0])
		}
	}
}
