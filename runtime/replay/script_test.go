package replay

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/template"
)

// answered returns the steps of the script of a recording with one turn, which has these segments.
func answered(t *testing.T, segments ...string) []step {
	t.Helper()
	lines := []string{`{"t":1,"event":"transcript","data":{"type":"user","text":"Go"}}`}
	for _, segment := range segments {
		lines = append(lines, `{"t":2,"event":"brainSegment","data":`+segment+`}`)
	}
	text := must.Get(read(t, lines...).Script())(t)
	var s script
	if err := json.Unmarshal(text, &s); err != nil || len(s.Rules) != 1 {
		t.Fatalf("%s, %v", text, err)
	}
	return s.Rules[0].Steps
}

// TestAScriptHasNoTemplates, however many braces there are, and where a text was cut.
func TestAScriptHasNoTemplates(t *testing.T) {
	for name, segments := range map[string][]string{
		"two braces":            {`{"type":"avatar","content":"{{name}}"}`},
		"three braces":          {`{"type":"avatar","content":"{{{name}}}"}`},
		"four braces":           {`{"type":"avatar","content":"{{{{name}}}}"}`},
		"cut between them":      {`{"type":"avatar","content":"Hi {"}`, `{"type":"avatar","content":"{name}}"}`},
		"three in a filler":     {`{"type":"avatar-filler","content":"{{{name}}}"}`},
		"three in an error":     {`{"type":"error","content":"{{{name}}}"}`},
		"three in a widget":     {`{"type":"unisphere-tool","content":"{{{name}}}","metadata":{"runtimeName":"summary-tool"}}`},
		"three in its contents": {`{"type":"unisphere-tool","content":{"text":"{{{name}}}"},"metadata":{"runtimeName":"summary-tool"}}`},
	} {
		steps := answered(t, segments...)
		if len(steps) != 1 {
			t.Fatalf("%s: %+v", name, steps)
		}
		text := steps[0].Say + steps[0].Filler + steps[0].Error
		if w := steps[0].Widget; w != nil {
			text += w.Fragments[0]
		}
		if names := template.Names(text); text == "" || names != nil {
			t.Errorf("%s: %q has the names %q", name, text, names)
		}
	}
}

// TestEachStepOfAScriptIsAllowed by the local service: it has one kind and is not empty, and a widget has its runtime.
func TestEachStepOfAScriptIsAllowed(t *testing.T) {
	widget := func(runtime string, fragments ...string) step { return step{Widget: &widgetStep{runtime, fragments}} }
	for name, test := range map[string]struct {
		segments []string
		want     []step
	}{
		"no words in a filler": {
			[]string{`{"type":"avatar-filler","content":""}`, `{"type":"avatar","content":"Yes."}`},
			[]step{{Say: "Yes."}},
		},
		"an error without words": {[]string{`{"type":"error","content":""}`}, []step{{Error: " "}}},
		"a widget whose type is its runtime": {
			[]string{`{"type":"followups","content":"questions:\n- a","segmentStart":true}`, `{"type":"followups","content":"\n- b","segmentEnd":true}`},
			[]step{widget("followups", "questions:\n- a", "\n- b")},
		},
		"a widget in two parts": {
			[]string{
				`{"type":"unisphere-tool","content":"questions:\n- a","segmentStart":true,"metadata":{"runtimeName":"followups-tool"}}`,
				`{"type":"avatar","content":"Yes."}`, `{"type":"unisphere-tool","content":"\n- b","segmentEnd":true}`,
			},
			[]step{widget("followups-tool", "questions:\n- a", "\n- b"), {Say: "Yes."}},
		},
		"two widgets without marks": {
			[]string{
				`{"type":"unisphere-tool","content":"title: a","metadata":{"runtimeName":"summary-tool"}}`,
				`{"type":"unisphere-tool","content":"- b","metadata":{"runtimeName":"followups-tool"}}`,
			},
			[]step{widget("summary-tool", "title: a"), widget("followups-tool", "- b")},
		},
		"the rest of a widget of the turn before": {[]string{`{"type":"unisphere-tool","content":"- b"}`}, []step{{Say: " "}}},
	} {
		if got := answered(t, test.segments...); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %s\nwant %s", name, jsonOf(got), jsonOf(test.want))
		}
	}
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
