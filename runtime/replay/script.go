package replay

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// script is what the local service's option -script reads (docs/local-service.md).
type script struct {
	Hear  []string `json:"hear,omitempty"`
	Rules []rule   `json:"rules"`
}

type rule struct {
	When  when   `json:"when"`
	Once  bool   `json:"once"`
	Steps []step `json:"steps"`
}

type when struct {
	Exact string `json:"exact"`
}

type step struct {
	Say    string      `json:"say,omitempty"`
	Filler string      `json:"filler,omitempty"`
	Error  string      `json:"error,omitempty"`
	Tool   *toolStep   `json:"tool,omitempty"`
	Widget *widgetStep `json:"widget,omitempty"`
}

type toolStep struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Wait bool            `json:"wait"`
}

type widgetStep struct {
	Runtime   string   `json:"runtime"`
	Fragments []string `json:"fragments"`
}

// Script returns the answers of a recording as a script for the local service: each turn of the visitor is answered as
// it was, once. What an agent says first belongs to the agent, and is not in the script. Texts with {{ would be
// templates; a space comes between the braces.
func (r *Recording) Script() ([]byte, error) {
	var s script
	var answer *rule
	spoken, answered := false, false
	for _, e := range r.Entries {
		switch e.Event {
		case "userStartedTalking":
			spoken, answered = true, false
		case "turnStart":
			answered = spoken
		case "turnEnd":
			if answered { // the visitor said no words
				spoken = false
			}
		case "transcript":
			var t payload
			if json.Unmarshal(e.Data, &t) != nil || t.Type != "user" {
				continue
			}
			if spoken {
				s.Hear, spoken = append(s.Hear, t.Text), false
			}
			s.Rules = append(s.Rules, rule{When: when{t.Text}, Once: true})
			answer = &s.Rules[len(s.Rules)-1]
		case "toolCall":
			var call struct {
				Name     string          `json:"name"`
				Args     json.RawMessage `json:"args"`
				Metadata struct {
					Wait bool `json:"waitForResponse"`
				} `json:"toolMetadata"`
			}
			if answer != nil && json.Unmarshal(e.Data, &call) == nil {
				answer.Steps = append(answer.Steps, step{Tool: &toolStep{call.Name, json.RawMessage(literal(string(call.Args))), call.Metadata.Wait}})
			}
		case "brainSegment":
			var piece converse.Segment
			if answer == nil || json.Unmarshal(e.Data, &piece) != nil {
				continue
			}
			answer.add(&piece)
		}
	}
	for i := range s.Rules {
		if s.Rules[i].Steps == nil { // a rule needs a step
			s.Rules[i].Steps = []step{{Say: " "}}
		}
	}
	return json.MarshalIndent(s, "", "  ")
}

// add adds a segment of the answer.
func (r *rule) add(piece *converse.Segment) {
	last := &step{}
	if n := len(r.Steps); n > 0 {
		last = &r.Steps[n-1]
	}
	text := literal(piece.ContentString())
	switch piece.Type {
	case converse.Text, converse.Avatar:
		if last.Say != "" {
			last.Say = literal(last.Say + text) // the braces may be in two pieces
		} else if text != "" {
			r.Steps = append(r.Steps, step{Say: text})
		}
	case converse.AvatarFiller:
		if text != "" {
			r.Steps = append(r.Steps, step{Filler: text})
		}
	case converse.Error:
		r.Steps = append(r.Steps, step{Error: cmp.Or(text, " ")}) // a step needs a text
	default:
		if runtime, ok := piece.Runtime(); ok {
			r.addWidget(piece, runtime, text)
		}
	}
}

// addWidget adds a piece of a widget. One without a runtime belongs to the last widget of the answer, if there is one.
func (r *rule) addWidget(piece *converse.Segment, runtime, text string) {
	var open *widgetStep
	for _, s := range r.Steps {
		open = cmp.Or(s.Widget, open)
	}
	if runtime != "" && (open == nil || piece.SegmentStart || converse.NormalizeRuntime(open.Runtime) != runtime) {
		open = &widgetStep{Runtime: runtime}
		if piece.Metadata != nil && piece.Metadata.RuntimeName != "" {
			open.Runtime = piece.Metadata.RuntimeName
		}
		r.Steps = append(r.Steps, step{Widget: open})
	}
	if open != nil {
		open.Fragments = append(open.Fragments, text)
	}
}

// literal keeps a text from being read as a template.
func literal(text string) string {
	for strings.Contains(text, "{{") { // again for more than two in a row
		text = strings.ReplaceAll(text, "{{", "{ {")
	}
	return text
}
