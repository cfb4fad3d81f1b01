package chat

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const (
	turnIDLength = 12 // characters

	// keptSegments is how many segments are kept of an answer that somebody waits for:
	// more than any model makes.
	keptSegments = 20_000

	// maxUnheard is how many bytes of segments may wait for the listener.
	maxUnheard = 4 << 20
)

// keep adds seg to t's answer, or no more of it than the answer is judged by.
func (t *turn) keep(seg converse.Segment) {
	if !t.reply.Add(seg) {
		t.reply.Limits, t.reply.Lean = converse.Limits{}, true
		t.reply.Add(seg)
	}
}

// begin announces t and has it read (session-api A.2.3, order of a turn).
func (s *Session) begin(t *turn) {
	s.turn = t
	t.id = session.RandomID(turnIDLength)
	t.ctx, t.cancel = context.WithCancelCause(t.ctx)
	t.vars = s.vars
	t.reply.OnWidget = func(w converse.Widget) { s.base.Emit(WidgetShown{Widget: w}) }
	s.notifier.Activity()
	if t.kickoff {
		sent := *s.kickoff
		sent.Sent = true
		s.kickoff = &sent
	}
	if !t.kickoff || s.kickoff.Echo {
		s.base.Emit(Transcript{Type: "user", Text: t.text})
	}
	s.tools.NewTurn()
	s.base.Audit("turn.converse", "started", "")
	s.base.Emit(TurnStarted{TurnID: t.id, IsNewTurn: true})
	s.pending = true
	s.base.Emit(ResponsePending{})
	s.stall.Arm()

	brain := converse.Brain{Fetch: s.deps.Fetch, URL: *s.opts.GenieURL, Token: s.token}
	if hear := s.opts.OnResponse; hear != nil {
		brain.OnResponse = func(r converse.Response) { s.base.AfterHeard(func() { hear(r) }) }
	}
	request := converse.Request{
		UserMessage: t.text, ThreadID: s.thread, RequestVars: t.vars, Capabilities: s.caps,
		ForceExperience: t.options.ForceExperience, ModelType: t.options.ModelType,
	}
	s.readers.Add(1)
	s.base.Spawn(func() {
		defer s.readers.Done()
		err := s.read(t, brain, request)
		s.base.Work.Post(func() { s.over(t, err) })
	})
}

// read hands the segments of t's reply to the queue, one at a time, so that a
// service that floods waits for us, as it does for a slow loop over the segments.
func (s *Session) read(t *turn, brain converse.Brain, request converse.Request) error {
	unheard := 0
	for seg, err := range brain.Stream(t.ctx, request) {
		switch {
		case err == nil:
		case t.ctx.Err() != nil && errors.Is(err, t.ctx.Err()):
			return session.EndOf(t.ctx).At(fault.From(err).Instance)
		default:
			return err
		}
		s.base.Work.Call(func() { s.segment(t, &seg) })
		if unheard += seg.Size(); unheard > maxUnheard || s.base.Flooded() {
			s.base.WaitHeard()
			unheard = 0
		}
		if t.segments == nil {
			continue
		}
		select {
		case t.segments <- seg:
		case <-t.ctx.Done():
			return session.EndOf(t.ctx)
		}
	}
	return nil
}

// segment handles one piece of the answer (wire-protocol §9.5).
func (s *Session) segment(t *turn, seg *converse.Segment) {
	if s.turn != t {
		return // the session was closed
	}
	s.notifier.Activity()
	if s.thread == "" && seg.ThreadID != "" {
		s.thread = seg.ThreadID
		s.arm()
	}
	if seg.Type != converse.Think && seg.Type != converse.Keepalive {
		s.settleResponse()
	}
	said := ""
	if seg.Type.Spoken() {
		said = seg.ContentString()
	}
	if _, widget := seg.Runtime(); widget || said != "" {
		s.stall.Disarm()
	}
	switch seg.Type {
	case converse.Tool:
		s.tools.Segment(seg)
	case converse.ToolResponse:
		if call, ok := s.tools.Response(seg); ok {
			s.tools.Run(call)
		}
	case converse.Interruption:
		s.tools.Consent(seg)
	}
	s.base.Emit(BrainSegment{Segment: *seg})
	if said != "" {
		s.base.Emit(Transcript{Type: "final", Text: said})
	}
	t.keep(*seg)
}

// settleResponse pairs responsePending (session-api O6).
func (s *Session) settleResponse() {
	if s.pending {
		s.pending = false
		s.base.Emit(ResponseSettled{})
	}
}

// over ends t, which was read to its end, and begins the next turn.
func (s *Session) over(t *turn, err error) {
	if s.turn != t {
		return // the session was closed
	}
	if err == nil {
		t.reply.End() // a widget that was cut off in the middle is none
		err = s.judge(t)
	}
	if err != nil {
		failure := fault.From(err)
		s.base.Emit(Failed{Error: failure})
		if t.kickoff {
			s.base.Warn(fault.KickoffFailed, failure.Error())
		}
		err = failure
	}
	s.leave(t, err)
	s.next()
}

// judge returns the error that the error segments of a turn stand for, or warns
// of them; and it warns of a turn that is empty, which is how the service refuses
// variables (wire-protocol §9.6 and §10.3).
func (s *Session) judge(t *turn) error {
	result := t.reply.Turn()
	refusal := converse.RefusalOf(result.Errors, result)
	switch {
	case refusal == nil:
	case s.opts.OnErrorSegment == converse.Warn:
		s.base.Warning(event.Warning{Code: refusal.Code, Detail: refusal.Detail})
	default:
		return refusal
	}
	if result.Empty && len(t.vars) > 0 && !s.warned {
		s.warned = true
		s.base.Warning(event.Warning{Code: fault.EmptyTurnWithRequestVars, RequestVarKeys: converse.VarNames(t.vars)})
	}
	return nil
}

// leave ends t for everybody.
func (s *Session) leave(t *turn, err error) {
	s.turn = nil
	s.stall.Disarm()
	t.cancel(err)
	s.settleResponse()
	s.base.Emit(TurnEnded{TurnID: t.id})
	t.settle(s, err)
}
