package replay

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Turns returns the turns of a recording.
func (r *Recording) Turns() []Turn {
	var b TurnBuilder
	for _, e := range r.Entries {
		b.Add(e)
	}
	return b.Turns()
}

// TurnBuilder makes turns from the entries of a recording, in order. The zero value is ready to use.
type TurnBuilder struct {
	turns   []Turn
	talking int64 // when the visitor began to talk; 0 if typing

	agent         *Turn // the agent's turn that is under way; the fields below belong to it
	written       string
	spoken        string
	speaking      bool
	answerIsThere bool // the service has sent all of it, which it does before it is spoken
}

// payload has the fields of the events that make turns.
type payload struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	SpeechID *string         `json:"speechId"`
	Name     string          `json:"name"`
	Runtime  string          `json:"runtime"`
	Args     json.RawMessage `json:"args"`

	Cold, Recovered bool // of a session that is made again
}

// Add adds an entry.
func (b *TurnBuilder) Add(e Entry) {
	var p payload
	if json.Unmarshal(e.Data, &p) != nil {
		return // a payload of none of the events below
	}
	switch e.Event {
	case "userStartedTalking":
		b.talking = e.At
	case "transcript":
		switch p.Type {
		case "user":
			b.end()
			start := e.At
			if b.talking > 0 {
				start, b.talking = b.talking, 0
			}
			b.turns = append(b.turns, Turn{By: "visitor", Text: p.Text, StartMs: start, EndMs: e.At})
		case "final":
			b.begin(e.At)
			if p.SpeechID != nil {
				b.written = joined(b.written, p.Text)
			} else { // a piece of an answer in text, which may end in a word
				b.written += p.Text
			}
		}
	case "toolCall":
		b.begin(e.At).Tools = append(b.agent.Tools, ToolCall{p.Name, p.Args})
	case "widget":
		b.begin(e.At).Widgets = append(b.agent.Widgets, p.Runtime)
	}
	if b.agent == nil {
		return
	}
	switch e.Event {
	case "avatarStartTalking":
		b.speaking = true
	case "interrupted":
		b.agent.Interrupted, b.answerIsThere = true, true
	case "turnEnd":
		b.answerIsThere = true
	case "avatarStopTalking":
		b.spoken, b.speaking = joined(b.spoken, p.Text), false
	case "reconnecting", "reconnected":
		if !p.Cold && (e.Event == "reconnecting" || p.Recovered) {
			return
		}
		b.answerIsThere, b.speaking = true, false // the session that spoke is gone
	default:
		return
	}
	b.agent.EndMs = e.At
	if b.answerIsThere && !b.speaking {
		if b.agent.StartMs >= b.talking { // the visitor said no words
			b.talking = 0
		}
		b.end()
	}
}

// begin returns the agent's turn that is under way.
func (b *TurnBuilder) begin(at int64) *Turn {
	if b.agent == nil {
		b.agent = &Turn{By: "agent", StartMs: at}
		b.written, b.spoken, b.speaking, b.answerIsThere = "", "", false, false
	}
	b.agent.EndMs = at
	return b.agent
}

// end ends the agent's turn that is under way.
func (b *TurnBuilder) end() {
	if b.agent != nil {
		b.turns = append(b.turns, b.present())
		b.agent = nil
	}
}

// present is the agent's turn with its text: what was spoken, or what was written if the service did
// not say what was spoken.
func (b *TurnBuilder) present() Turn {
	turn := *b.agent
	turn.Text = cmp.Or(b.spoken, strings.TrimSpace(b.written))
	return turn
}

// Turns returns the turns so far. One that is under way is the last one.
func (b *TurnBuilder) Turns() []Turn {
	if b.agent == nil {
		return b.turns
	}
	return append(slices.Clip(b.turns), b.present())
}

func joined(a, b string) string { return strings.TrimSpace(a + " " + strings.TrimSpace(b)) }
