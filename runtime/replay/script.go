package replay

import (
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
	spoken := false
	for _, e := range r.Entries {
		switch e.Event {
		case "userStartedTalking":
			spoken = true
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
				answer.Steps = append(answer.Steps, step{Tool: &toolStep{call.Name, literal(call.Args), call.Metadata.Wait}})
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
	text := string(literal([]byte(piece.ContentString())))
	switch piece.Type {
	case converse.Text, converse.Avatar:
		if last.Say != "" {
			last.Say += text
		} else if text != "" {
			r.Steps = append(r.Steps, step{Say: text})
		}
	case converse.AvatarFiller:
		r.Steps = append(r.Steps, step{Filler: text})
	case converse.Error:
		r.Steps = append(r.Steps, step{Error: text})
	case converse.WidgetPiece:
		if piece.SegmentStart || last.Widget == nil {
			w := &widgetStep{}
			if piece.Metadata != nil {
				w.Runtime = piece.Metadata.RuntimeName
			}
			r.Steps = append(r.Steps, step{Widget: w})
			last = &r.Steps[len(r.Steps)-1]
		}
		last.Widget.Fragments = append(last.Widget.Fragments, text)
	}
}

// literal keeps a text from being read as a template.
func literal(text []byte) []byte {
	return []byte(strings.ReplaceAll(string(text), "{{", "{ {"))
}
