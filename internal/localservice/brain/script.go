package brain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// maxPause bounds one pause or stall of a script, so that a slip of the keyboard
// is found when the file is read.
const maxPause = 10 * time.Minute

// Script is what a YAML file says: rules that match what the user said, and the
// steps of the answer. The first rule that matches is played.
//
//	hear: ["Good morning"]          # words of spoken turns, in order, for tests
//	rules:
//	  - when: {exact: [hello, hi]}  # or contains, trigger, any: true
//	    steps:
//	      - say: "Hello {{ user_name | default('there') }}."
//	      - pause: 200              # milliseconds
//	      - tool: {name: save_note, args: {note: call back}, wait: true, timeout: 5}
//	      - say: "The page said {{ tool.status }}."
//
// The other steps are filler, think, title, error (texts), share (true or false),
// keepalive: true, fused (a list of tools), widget: {runtime, body or fragments},
// segment (any segment, as JSON), consent: {tool, name}, repeat: {times, steps},
// and three that spoil the stream of a turn over HTTP: raw (a text that is written
// as it stands), stall (milliseconds) and cut: true. docs/local-service.md tells
// what they do.
type Script struct {
	Hear  []string `yaml:"hear"`
	Rules []rule   `yaml:"rules"`
}

// ParseScript reads and checks a script. An error names the line.
func ParseScript(text []byte) (*Script, error) {
	s := &Script{}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(s); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return s, nil
}

// rule is one answer and what it answers to.
type rule struct {
	When  condition `yaml:"when"`
	Steps []step    `yaml:"steps"`
}

// condition matches when any of its parts does.
type condition struct {
	Exact    texts `yaml:"exact"`
	Contains texts `yaml:"contains"`
	Trigger  texts `yaml:"trigger"`
	Any      bool  `yaml:"any"`
}

func (c *condition) matches(q *Question) bool {
	said := normal(q.Text)
	for _, text := range c.Exact {
		if said == normal(text) {
			return true
		}
	}
	for _, text := range c.Contains {
		if strings.Contains(said, normal(text)) {
			return true
		}
	}
	for _, trigger := range c.Trigger {
		if q.Trigger == trigger {
			return true
		}
	}
	return c.Any
}

// normal is how texts are compared: in lower case, with single spaces, without
// punctuation at the end.
func normal(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), " .,!?")
}

// texts is a list of texts that may be written as one text.
type texts []string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *texts) UnmarshalYAML(node ast.Node) error {
	if node.Type() == ast.SequenceType {
		return yaml.NodeToValue(node, (*[]string)(t))
	}
	*t = texts{""}
	return yaml.NodeToValue(node, &(*t)[0])
}

// UnmarshalYAML implements yaml.NodeUnmarshaler: it checks what a type can't.
func (r *rule) UnmarshalYAML(node ast.Node) error {
	type plain rule // without this method
	if err := yaml.NodeToValue(node, (*plain)(r), yaml.Strict()); err != nil {
		return err
	}
	c := r.When
	if !c.Any && len(c.Exact)+len(c.Contains)+len(c.Trigger) == 0 {
		return at(node, "a rule needs when: {exact, contains, trigger or any: true}")
	}
	if len(r.Steps) == 0 {
		return at(node, "a rule needs steps")
	}
	return nil
}

// step is one step of an answer; exactly one of its fields is set.
type step struct {
	Say       *string          `yaml:"say"`
	Filler    *string          `yaml:"filler"`
	Think     *string          `yaml:"think"`
	Title     *string          `yaml:"title"`
	Error     *string          `yaml:"error"`
	Share     *bool            `yaml:"share"`
	Keepalive *bool            `yaml:"keepalive"`
	Pause     *int             `yaml:"pause"` // milliseconds
	Tool      *scriptedCall    `yaml:"tool"`
	Fused     []scriptedCall   `yaml:"fused"`
	Widget    *scriptedWidget  `yaml:"widget"`
	Segment   *scriptedSegment `yaml:"segment"`
	Consent   *scriptedConsent `yaml:"consent"`
	Repeat    *scriptedRepeat  `yaml:"repeat"`
	Raw       *string          `yaml:"raw"`
	Stall     *int             `yaml:"stall"` // milliseconds
	Cut       *bool            `yaml:"cut"`
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (s *step) UnmarshalYAML(node ast.Node) error {
	type plain step
	if err := yaml.NodeToValue(node, (*plain)(s), yaml.Strict()); err != nil {
		return err
	}
	set := 0
	for _, is := range []bool{
		s.Say != nil, s.Filler != nil, s.Think != nil, s.Title != nil, s.Error != nil, s.Share != nil, s.Keepalive != nil,
		s.Pause != nil, s.Tool != nil, s.Fused != nil, s.Widget != nil, s.Segment != nil,
		s.Consent != nil, s.Repeat != nil, s.Raw != nil, s.Stall != nil, s.Cut != nil,
	} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return at(node, "a step is exactly one of say, filler, think, title, error, share, keepalive, pause, tool, fused, widget, segment, consent, repeat, raw, stall, cut")
	case !isPause(s.Pause):
		return at(node, fmt.Sprintf("pause: want 0 to %d milliseconds", maxPause.Milliseconds()))
	case !isPause(s.Stall):
		return at(node, fmt.Sprintf("stall: want 0 to %d milliseconds", maxPause.Milliseconds()))
	case s.Fused != nil && len(s.Fused) < 2:
		return at(node, "fused: want at least two tools")
	}
	return nil
}

// isPause reports whether ms, if there is one, is a time that a script may wait.
func isPause(ms *int) bool {
	return ms == nil || *ms >= 0 && int64(*ms) <= maxPause.Milliseconds()
}

// scriptedCall is a tool call. What it leaves open is taken from the agent's tool
// of that name; a tool that the agent does not have is a client tool.
type scriptedCall struct {
	Name    string         `yaml:"name"`
	Args    map[string]any `yaml:"args"`
	Type    string         `yaml:"type"`
	Wait    *bool          `yaml:"wait"`
	Timeout int            `yaml:"timeout"` // seconds
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (c *scriptedCall) UnmarshalYAML(node ast.Node) error {
	type plain scriptedCall
	if err := yaml.NodeToValue(node, (*plain)(c), yaml.Strict()); err != nil {
		return err
	}
	switch {
	case c.Name == "":
		return at(node, "a tool needs a name")
	case c.Timeout != 0 && (c.Timeout < store.MinToolTimeout || c.Timeout > store.MaxToolTimeout):
		return at(node, fmt.Sprintf("timeout: want %d to %d seconds", store.MinToolTimeout, store.MaxToolTimeout))
	}
	return nil
}

// scriptedWidget is a widget with one body, or with its body in fragments.
type scriptedWidget struct {
	Runtime   string   `yaml:"runtime"`
	Body      any      `yaml:"body"` // text, or anything that is sent as JSON text
	Fragments []string `yaml:"fragments"`
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (w *scriptedWidget) UnmarshalYAML(node ast.Node) error {
	type plain scriptedWidget
	if err := yaml.NodeToValue(node, (*plain)(w), yaml.Strict()); err != nil {
		return err
	}
	if w.Runtime == "" || (w.Body == nil) == (w.Fragments == nil) {
		return at(node, "a widget needs a runtime, and either body or fragments")
	}
	return nil
}

// scriptedSegment is a segment of any type.
type scriptedSegment struct{ converse.Segment }

// UnmarshalYAML implements yaml.NodeUnmarshaler: the keys are those of the wire.
func (s *scriptedSegment) UnmarshalYAML(node ast.Node) error {
	var fields map[string]any
	if err := yaml.NodeToValue(node, &fields); err != nil {
		return err
	}
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &s.Segment)
	}
	if err != nil || s.Type == "" {
		return at(node, "a segment needs a type, and the fields of the wire")
	}
	return nil
}

// scriptedConsent is a tool that the user must allow. What follows it is played
// once that has happened.
type scriptedConsent struct {
	Tool string `yaml:"tool"`
	Name string `yaml:"name"` // shown to the user
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (c *scriptedConsent) UnmarshalYAML(node ast.Node) error {
	type plain scriptedConsent
	if err := yaml.NodeToValue(node, (*plain)(c), yaml.Strict()); err != nil {
		return err
	}
	if c.Tool == "" {
		return at(node, "consent needs a tool")
	}
	return nil
}

// scriptedRepeat plays its steps so many times, 0 without end.
type scriptedRepeat struct {
	Times int    `yaml:"times"`
	Steps []step `yaml:"steps"`
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (r *scriptedRepeat) UnmarshalYAML(node ast.Node) error {
	type plain scriptedRepeat
	if err := yaml.NodeToValue(node, (*plain)(r), yaml.Strict()); err != nil {
		return err
	}
	if r.Times < 0 || len(r.Steps) == 0 {
		return at(node, "repeat needs steps, and times that are not negative")
	}
	return nil
}

// at puts the line in front of what is wrong there.
func at(node ast.Node, text string) error {
	return fmt.Errorf("line %d: %s", node.GetToken().Position.Line, text)
}
