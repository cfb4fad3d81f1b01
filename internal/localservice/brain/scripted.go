package brain

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Scripted plays the agent's own script, then Script, and leaves the rest to
// Fallback.
type Scripted struct {
	Script   *Script // nil is none
	Fallback Brain
	Pace     time.Duration // between two pieces of a text; see DefaultPace
}

var _ Brain = (*Scripted)(nil)

// Answer implements [Brain].
func (s *Scripted) Answer(ctx context.Context, q *Question, out Sink) error {
	if q.Profile.Script != "" {
		own, err := ParseScript([]byte(q.Profile.Script))
		if err != nil {
			return err
		}
		if r := own.match(q); r != nil {
			return s.play(ctx, r, q, out)
		}
	}
	if r := s.Script.match(q); r != nil {
		return s.play(ctx, r, q, out)
	}
	return s.Fallback.Answer(ctx, q, out)
}

// match returns the first rule that matches, or nil.
func (s *Script) match(q *Question) *rule {
	if s == nil {
		return nil
	}
	for i := range s.Rules {
		if s.Rules[i].When.matches(q) {
			return &s.Rules[i]
		}
	}
	return nil
}

func (s *Scripted) play(ctx context.Context, r *rule, q *Question, out Sink) error {
	p := player{speaker: speaker{ctx, out, s.Pace}, profile: q.Profile, wire: q.Wire, vars: maps.Clone(q.Vars)}
	if p.vars == nil {
		p.vars = map[string]any{}
	}
	err := p.steps(r.Steps)
	if errors.Is(err, errAwaitsConsent) {
		return nil
	}
	return err
}

// errAwaitsConsent ends an answer that goes on when the user asks again.
var errAwaitsConsent = errors.New("the user has to allow a tool")

// player plays the steps of one answer. The answer of a tool becomes variables:
// tool.status is the field status of the last one.
type player struct {
	speaker
	profile store.Profile
	wire    Wire // nil on a live session
	vars    map[string]any
}

func (p *player) steps(list []step) error {
	for i := range list {
		if err := p.step(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) step(s *step) error {
	switch {
	case s.Say != nil:
		return p.say(Render(*s.Say, p.vars))
	case s.Filler != nil:
		return p.out.Filler(Render(*s.Filler, p.vars))
	case s.Think != nil:
		return p.out.Think(Render(*s.Think, p.vars))
	case s.Title != nil:
		return p.out.Title(Render(*s.Title, p.vars))
	case s.Error != nil:
		return &Failure{Render(*s.Error, p.vars)}
	case s.Share != nil:
		return p.out.Share(*s.Share)
	case s.Keepalive != nil:
		return p.out.Raw(converse.Segment{Type: converse.Keepalive})
	case s.Pause != nil:
		return pause(p.ctx, time.Duration(*s.Pause)*time.Millisecond)
	case s.Tool != nil:
		return p.call([]scriptedCall{*s.Tool})
	case s.Fused != nil:
		return p.call(s.Fused)
	case s.Widget != nil:
		return p.widget(s.Widget)
	case s.Consent != nil:
		return p.consent(s.Consent)
	case s.Repeat != nil:
		return p.repeat(s.Repeat)
	case s.Segment != nil:
		return p.out.Raw(s.Segment.Segment)
	}
	return p.spoil(s)
}

// spoil plays a step that breaks the rules of the stream. A live session has no
// stream: there, nothing is broken.
func (p *player) spoil(s *step) error {
	switch {
	case s.Stall != nil && p.wire == nil:
		return pause(p.ctx, time.Duration(*s.Stall)*time.Millisecond)
	case p.wire == nil:
		return nil
	case s.Stall != nil:
		return p.wire.Stall(time.Duration(*s.Stall) * time.Millisecond)
	case s.Raw != nil:
		return p.wire.Write(Render(*s.Raw, p.vars))
	case *s.Cut:
		return p.wire.Cut()
	}
	return nil
}

func (p *player) consent(c *scriptedConsent) error {
	if p.out.Consented(c.Tool) {
		return nil
	}
	name := c.Name
	if name == "" {
		name = c.Tool
	}
	if err := p.out.AskConsent(c.Tool, name); err != nil {
		return err
	}
	return errAwaitsConsent
}

func (p *player) repeat(r *scriptedRepeat) error {
	for i := 0; r.Times == 0 || i < r.Times; i++ {
		if err := p.ctx.Err(); err != nil { // steps that do nothing would not notice
			return err
		}
		if err := p.steps(r.Steps); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) call(scripted []scriptedCall) error {
	calls := make([]Call, len(scripted))
	for i, c := range scripted {
		tool, ok := p.profile.Tool(c.Name)
		if !ok {
			tool = store.ToolDef{Name: c.Name, Type: store.ClientTool}
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
		args, err := json.Marshal(p.render(c.Args))
		if err != nil {
			return err
		}
		if c.Args == nil {
			args = json.RawMessage(`{}`)
		}
		calls[i] = Call{Tool: tool, Args: args}
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

func (p *player) widget(w *scriptedWidget) error {
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
