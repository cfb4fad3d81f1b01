package brain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// maxPause bounds one pause or stall of a script, so that a mistyped one is found
// when the file is read.
const maxPause = 10 * time.Minute

// Script is a YAML file of rules that match a question, each with the steps of an
// answer. The first rule that matches is played; docs/local-service.md describes
// the format, and steps holds the kinds of steps.
type Script struct {
	Hear  []string `yaml:"hear"` // words of spoken turns, in order
	Rules []rule   `yaml:"rules"`
}

// Bounds of a script: the time that the parser of YAML takes grows with the square of how
// deep a text is nested.
const (
	maxScript      = 64 << 10 // bytes
	maxScriptDepth = 100
)

// ParseScript reads and checks a script. An error contains the line number.
func ParseScript(text []byte) (*Script, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("script: at most %d bytes", maxScript)
	}
	if nested(text) {
		return nil, fmt.Errorf("script: at most %d levels", maxScriptDepth)
	}
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Type == token.AliasType { // a few lists of aliases of each other are billions of values
			return nil, fmt.Errorf("script: line %d: aliases are not allowed", t.Position.Line)
		}
	}
	s := &Script{}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(s); err != nil {
		return nil, errors.New("script: " + yaml.FormatError(err, false, false)) // the source would take long to format
	}
	return s, nil
}

// nested reports whether a script may be nested deeper than [maxScriptDepth], by brackets or
// by marks of lists without anything between them. A bracket in a text counts like any other.
func nested(text []byte) bool {
	brackets, marks := 0, 0
	for _, c := range text {
		switch c {
		case '[', '{':
			brackets++
		case ']', '}':
			brackets = max(0, brackets-1)
		case '-', '?':
			marks++
		case ' ', '\t':
		default:
			marks = 0
		}
		if brackets > maxScriptDepth || marks > maxScriptDepth {
			return true
		}
	}
	return false
}

// match returns the first rule that matches and was not used up, or nil.
func (s *Script) match(q *Question) *rule {
	if s == nil {
		return nil
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.When.matches(q) && !(r.Once && r.used.Swap(true)) {
			return r
		}
	}
	return nil
}

// rule is one answer and its condition.
type rule struct {
	When  condition `yaml:"when"`
	Once  bool      `yaml:"once"` // it answers one question
	Steps []step    `yaml:"steps"`

	used *atomic.Bool
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (r *rule) UnmarshalYAML(node ast.Node) error {
	type plain rule // without this method
	if err := yaml.NodeToValue(node, (*plain)(r), yaml.Strict()); err != nil {
		return err
	}
	c := r.When
	if !c.Any && len(c.Exact)+len(c.Contains)+len(c.Trigger) == 0 {
		return at(node, errors.New("a rule needs when: {exact, contains, trigger or any: true}"))
	}
	if len(r.Steps) == 0 {
		return at(node, errors.New("a rule needs steps"))
	}
	r.used = &atomic.Bool{}
	return nil
}

// condition matches when one of its first four parts does and, with Shows, when a
// widget of that capability may be shown.
type condition struct {
	Exact    texts  `yaml:"exact"`
	Contains texts  `yaml:"contains"`
	Trigger  texts  `yaml:"trigger"`
	Any      bool   `yaml:"any"`
	Shows    string `yaml:"shows"`
}

func (c *condition) matches(q *Question) bool {
	if c.Shows != "" && !q.shows(c.Shows) {
		return false
	}
	text := normal(q.Text)
	return c.Any ||
		slices.ContainsFunc(c.Exact, func(want string) bool { return text == normal(want) }) ||
		slices.ContainsFunc(c.Contains, func(want string) bool { return strings.Contains(text, normal(want)) }) ||
		slices.Contains(c.Trigger, q.Trigger)
}

// normal returns text in the form in which texts are compared: in lower case, with
// single spaces, without punctuation at the end.
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

// step is one step of an answer.
type step func(*player) error

// UnmarshalYAML implements yaml.NodeUnmarshaler: a step is a mapping of its kind to
// its value.
func (s *step) UnmarshalYAML(node ast.Node) error {
	fields, ok := node.(ast.MapNode)
	if !ok {
		return at(node, errNotOne)
	}
	entries := fields.MapRange()
	if !entries.Next() {
		return at(node, errNotOne)
	}
	kind := strings.Trim(entries.Key().String(), `"`) // keys are quoted in JSON
	parse, known := steps[kind]
	if !known {
		return at(node, fmt.Errorf("unknown field %q; %w", kind, errNotOne))
	}
	var err error
	if *s, err = parse(entries.Value()); err != nil {
		return at(node, fmt.Errorf("%s: %w", kind, err))
	}
	if entries.Next() {
		return at(node, errNotOne)
	}
	return nil
}

// at adds the line number to an error.
func at(node ast.Node, err error) error {
	return fmt.Errorf("line %d: %w", node.GetToken().Position.Line, err)
}

// steps are the kinds of steps, with the parser of their values.
var steps map[string]func(ast.Node) (step, error)

var errNotOne error

func init() { // here, because the parser of repeat uses the table
	steps = map[string]func(ast.Node) (step, error){
		"say":    rendered(func(p *player, text string) error { return p.say(text) }),
		"filler": rendered(func(p *player, text string) error { return p.out.Filler(text) }),
		"think":  rendered(func(p *player, text string) error { return p.out.Think(text) }),
		"title":  rendered(func(p *player, text string) error { return p.out.Title(text) }),
		"error":  rendered(func(_ *player, text string) error { return &Failure{text} }),
		"share":  parsed(func(p *player, can bool) error { return p.out.Share(can) }),
		"keepalive": parsed(func(p *player, _ bool) error {
			return p.out.Raw(converse.Segment{Type: converse.Keepalive})
		}),
		"pause":   parsed(func(p *player, d millis) error { return Pause(p.ctx, d.duration()) }),
		"tool":    parsed(func(p *player, c scriptedCall) error { return p.call(fused{c}) }),
		"fused":   parsed((*player).call),
		"widget":  parsed((*player).widget),
		"segment": parsed(func(p *player, s scriptedSegment) error { return p.out.Raw(s.Segment) }),
		"consent": parsed((*player).consent),
		"repeat":  parsed((*player).repeat),
		"raw":     rendered((*player).raw),
		"stall":   parsed((*player).stall),
		"cut":     parsed((*player).cut),
	}
	errNotOne = fmt.Errorf("a step is exactly one of %s", strings.Join(slices.Sorted(maps.Keys(steps)), ", "))
}

// parsed returns the parser of a kind of step with a value of type T, whose method
// check is called if it has one.
func parsed[T any](play func(*player, T) error) func(ast.Node) (step, error) {
	return func(node ast.Node) (step, error) {
		var value T
		if err := yaml.NodeToValue(node, &value, yaml.Strict()); err != nil {
			return nil, err
		}
		if checked, ok := any(value).(interface{ check() error }); ok {
			if err := checked.check(); err != nil {
				return nil, err
			}
		}
		return func(p *player) error { return play(p, value) }, nil
	}
}

// rendered returns the parser of a kind of step with a template.
func rendered(play func(*player, string) error) func(ast.Node) (step, error) {
	return parsed(func(p *player, template string) error { return play(p, Render(template, p.vars)) })
}

// Scripted plays the agent's own script, then Script, and leaves other questions to
// Fallback.
type Scripted struct {
	Script   *Script // nil is none; see SetScript
	Fallback Brain
	Pace     time.Duration // between two pieces of a text; see DefaultPace

	mu sync.RWMutex // of Script
}

var _ Brain = (*Scripted)(nil)

// SetScript replaces Script for later answers; an empty text removes it. The error has the
// line that is not allowed.
func (s *Scripted) SetScript(text []byte) (err error) {
	var script *Script
	if len(bytes.TrimSpace(text)) > 0 {
		if script, err = ParseScript(text); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Script = script
	return nil
}

// Answer implements [Brain].
func (s *Scripted) Answer(ctx context.Context, q *Question, out Sink) error {
	s.mu.RLock()
	general := s.Script
	s.mu.RUnlock()
	scripts := []*Script{general}
	if q.Profile.Script != "" {
		own, err := ParseScript([]byte(q.Profile.Script))
		if err != nil {
			return err
		}
		scripts = []*Script{own, general}
	}
	for _, script := range scripts {
		if r := script.match(q); r != nil {
			return play(speaker{ctx, out, s.Pace}, r, q, q.Vars)
		}
	}
	return s.Fallback.Answer(ctx, q, out)
}

// errAwaitsConsent ends an answer until the user allows a tool and repeats the
// question.
var errAwaitsConsent = errors.New("the user has to allow a tool")

// play runs the steps of a rule.
func play(s speaker, r *rule, q *Question, vars map[string]any) error {
	p := &player{speaker: s, profile: q.Profile, wire: q.Wire, vars: map[string]any{}}
	maps.Copy(p.vars, vars)
	err := p.run(r.Steps)
	if errors.Is(err, errAwaitsConsent) {
		return nil
	}
	return err
}

// player runs the steps of one answer. The result of a tool becomes variables:
// tool.status is the field status of the last result.
type player struct {
	speaker
	profile store.Profile
	wire    Wire // nil on a live session
	vars    map[string]any
	rounds  int // of all repeat steps so far
}

func (p *player) run(list []step) error {
	for _, s := range list {
		if err := s(p); err != nil {
			return err
		}
	}
	return nil
}

// millis is a time in milliseconds.
type millis int64

func (m millis) duration() time.Duration { return time.Duration(m) * time.Millisecond }

func (m millis) check() error {
	if m < 0 || int64(m) > maxPause.Milliseconds() {
		return fmt.Errorf("want 0 to %d milliseconds", maxPause.Milliseconds())
	}
	return nil
}

// scriptedCall is a tool call. Missing fields are taken from the agent's tool of
// that name; a tool that the agent does not have is a client tool.
type scriptedCall struct {
	Name    string         `yaml:"name"`
	Args    map[string]any `yaml:"args"`
	Type    string         `yaml:"type"`
	Wait    *bool          `yaml:"wait"`
	Timeout int            `yaml:"timeout"` // seconds
}

func (c scriptedCall) check() error {
	switch {
	case c.Name == "":
		return errors.New("a tool needs a name")
	case c.Timeout != 0 && (c.Timeout < store.MinToolTimeout || c.Timeout > store.MaxToolTimeout):
		return fmt.Errorf("timeout: want %d to %d seconds", store.MinToolTimeout, store.MaxToolTimeout)
	}
	return nil
}

// fused are calls in one segment.
type fused []scriptedCall

func (f fused) check() error {
	if len(f) < 2 {
		return errors.New("want at least two tools")
	}
	for _, c := range f {
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) call(scripted fused) error {
	calls := make([]Call, len(scripted))
	for i, c := range scripted {
		tool, ok := p.profile.Tool(c.Name)
		if !ok {
			tool = store.ToolDef{Name: c.Name, ToolConfig: store.ToolConfig{Type: store.ClientTool}}
		}
		if c.Type != "" {
			tool.Type = c.Type
		}
		if c.Wait != nil {
			tool.WaitForResponse = *c.Wait
		}
		if c.Timeout != 0 {
			tool.TimeoutSeconds = c.Timeout
		}
		args := map[string]any{}
		maps.Copy(args, c.Args)
		text, err := json.Marshal(p.render(args))
		if err != nil {
			return err
		}
		calls[i] = Call{Tool: tool, Args: text}
	}
	results, err := p.out.Call(p.ctx, calls...)
	if err != nil {
		return err
	}
	var fields map[string]any
	if json.Unmarshal(results[len(results)-1].Response, &fields) == nil {
		for name, value := range fields {
			p.vars["tool."+name] = value
		}
	}
	return nil
}

// scriptedWidget is a widget with one body, or with its body in fragments.
type scriptedWidget struct {
	Runtime   string   `yaml:"runtime"`
	Body      any      `yaml:"body"` // text, or anything that is sent as JSON text
	Fragments []string `yaml:"fragments"`
}

func (w scriptedWidget) check() error {
	if w.Runtime == "" || (w.Body == nil) == (w.Fragments == nil) {
		return errors.New("a widget needs a runtime, and either body or fragments")
	}
	return nil
}

func (p *player) widget(w scriptedWidget) error {
	if w.Fragments != nil {
		fragments := make([]string, len(w.Fragments))
		for i, fragment := range w.Fragments {
			fragments[i] = Render(fragment, p.vars)
		}
		return p.out.Widget(w.Runtime, fragments...)
	}
	body := p.render(w.Body)
	if text, ok := body.(string); ok {
		return p.out.Widget(w.Runtime, text)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return p.out.Widget(w.Runtime, string(text))
}

// render renders the texts inside a value of YAML.
func (p *player) render(value any) any {
	switch v := value.(type) {
	case string:
		return Render(v, p.vars)
	case map[string]any:
		rendered := make(map[string]any, len(v))
		for name, inner := range v {
			rendered[name] = p.render(inner)
		}
		return rendered
	case []any:
		rendered := make([]any, len(v))
		for i, inner := range v {
			rendered[i] = p.render(inner)
		}
		return rendered
	}
	return value
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
		return errors.New("a segment needs a type, and the fields of the wire")
	}
	return nil
}

// scriptedConsent is a tool that the user must allow. Ask is said as long as it is
// not allowed; the steps after it are played once it is.
type scriptedConsent struct {
	Tool string `yaml:"tool"`
	Name string `yaml:"name"` // shown to the user
	Ask  string `yaml:"ask"`
}

func (c scriptedConsent) check() error {
	if c.Tool == "" {
		return errors.New("consent needs a tool")
	}
	return nil
}

func (p *player) consent(c scriptedConsent) error {
	if p.out.Consented(c.Tool) {
		return nil
	}
	if c.Ask != "" {
		if err := p.say(Render(c.Ask, p.vars)); err != nil {
			return err
		}
	}
	c.Name = cmp.Or(c.Name, c.Tool)
	if err := p.out.AskConsent(c.Tool, c.Name); err != nil {
		return err
	}
	return errAwaitsConsent
}

// scriptedRepeat plays its steps Times times; 0 means without end.
type scriptedRepeat struct {
	Times int    `yaml:"times"`
	Steps []step `yaml:"steps"`
}

func (r scriptedRepeat) check() error {
	if r.Times < 0 || len(r.Steps) == 0 {
		return errors.New("repeat needs steps, and times that are not negative")
	}
	return nil
}

// freeRounds is how many rounds of repeat steps one answer plays as fast as it can; each later one takes a roundPause at
// least, because steps that neither wait nor send anything would use a whole processor.
const (
	freeRounds = 10_000
	roundPause = time.Millisecond
)

func (p *player) repeat(r scriptedRepeat) error {
	for i := 0; r.Times == 0 || i < r.Times; i++ {
		pause := time.Duration(0)
		if p.rounds++; p.rounds > freeRounds {
			pause = roundPause
		}
		if err := Pause(p.ctx, pause); err != nil { // the steps themselves may not check the context
			return err
		}
		if err := p.run(r.Steps); err != nil {
			return err
		}
	}
	return nil
}

// The steps below damage the stream. A live session has no such stream: there, stall
// is a pause and the others do nothing.

func (p *player) raw(text string) error {
	if p.wire == nil {
		return nil
	}
	return p.wire.Write(text)
}

func (p *player) stall(d millis) error {
	if p.wire == nil {
		return Pause(p.ctx, d.duration())
	}
	return p.wire.Stall(d.duration())
}

func (p *player) cut(now bool) error {
	if p.wire == nil || !now {
		return nil
	}
	return p.wire.Cut()
}

// DefaultPace is the pause between two pieces of a built-in answer: too short to be
// noticed, long enough that an answer visibly streams.
const DefaultPace = 8 * time.Millisecond

// wordsPerPiece is how much of an answer is sent at a time, as models do.
const wordsPerPiece = 2

// speaker sends prepared text piece by piece.
type speaker struct {
	ctx  context.Context
	out  Sink
	pace time.Duration
}

func (s speaker) say(text string) error {
	for piece := range slices.Chunk(strings.SplitAfter(text, " "), wordsPerPiece) {
		if err := s.out.Say(strings.Join(piece, "")); err != nil {
			return err
		}
		if err := Pause(s.ctx, s.pace); err != nil {
			return err
		}
	}
	return nil
}

// Pause waits, or returns the context's error as soon as it ends.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// followups shows follow-up questions, in the line form of widgets and in fragments
// (protocol §4.4.3).
func followups(out Sink, questions []string) error {
	fragments := []string{"questions:"}
	for _, q := range questions {
		fragments = append(fragments, "\n- \""+strings.ReplaceAll(q, `"`, "'")+"\"")
	}
	return out.Widget("followups-tool", fragments...)
}
