package chat

import (
	"context"
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const (
	turnIDLength = 12  // characters
	maxWaiting   = 100 // turns that may wait: nobody types that much during an answer
)

// TurnOptions are what a single turn may ask for. The zero value asks for
// nothing (service.md, "Converse request").
type TurnOptions struct {
	// ForceExperience is a hint: one of [converse.Experiences].
	ForceExperience string `json:"forceExperience"`
	// ModelType is "fast" or "", the agent's own model.
	ModelType string `json:"modelType"`
}

// turn is one question and its answer. Its fields belong to the queue, but for
// ctx, cancel and segments.
type turn struct {
	text    string
	options TurnOptions
	kickoff bool

	ctx    context.Context // ends with the caller's, and with the session
	cancel context.CancelCauseFunc
	// segments takes every segment; nil when nobody iterates.
	segments chan<- converse.Segment
	// done is told the outcome once, when the listener has heard of the end.
	done func(converse.Turn, error)

	id    string
	reply converse.Collector
}

// SendText sends one turn and returns the answer when it is complete. Turns run
// one after another.
//
// Errors: bad_request (empty), validation_error (options), invalid_state (not
// connected, or closed while the turn waited), rate_limited (100 turns wait
// already), aborted (the end of ctx, or of the session), the HTTP codes of
// wire-protocol §9.7, network_error, server_error, client_variables_disabled; and
// thread_access_denied and stream_error, with what came before in the body and in
// the result. Ending ctx closes the request, which stops the service's turn too;
// a turn that still waits is then taken back, with no events.
func (s *Session) SendText(ctx context.Context, text string, o TurnOptions) (converse.Turn, error) {
	return s.Start(ctx, text, o)()
}

// Start is SendText in two steps: it queues the turn before it returns, and wait
// returns the answer when it is complete. Who starts several turns keeps their
// order in this way.
func (s *Session) Start(ctx context.Context, text string, o TurnOptions) (wait func() (converse.Turn, error)) {
	type outcome struct {
		turn converse.Turn
		err  error
	}
	ended := make(chan outcome, 1)
	t := &turn{text: text, options: o, ctx: ctx, done: func(r converse.Turn, err error) { ended <- outcome{r, err} }}
	if err := s.send(t); err != nil {
		return func() (converse.Turn, error) { return converse.Turn{}, err }
	}
	stop := context.AfterFunc(ctx, func() { s.takeBack(t) })
	return func() (converse.Turn, error) {
		defer stop()
		end := <-ended
		return end.turn, end.err
	}
}

// Stream is SendText for those who want every segment as it comes: error
// segments too, and the turn's error, if it has one, at the end. What the loop has
// not taken is not read ahead. Leaving the loop aborts the turn.
func (s *Session) Stream(ctx context.Context, text string, o TurnOptions) iter.Seq2[converse.Segment, error] {
	return func(yield func(converse.Segment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		segments := make(chan converse.Segment)
		ended := make(chan error, 1)
		t := &turn{text: text, options: o, ctx: ctx, segments: segments, done: func(_ converse.Turn, err error) { ended <- err }}
		t.reply.Lean = true // what the loop takes is the caller's to keep
		if err := s.send(t); err != nil {
			yield(converse.Segment{}, err)
			return
		}
		stop := context.AfterFunc(ctx, func() { s.takeBack(t) })
		defer stop()
		for {
			select {
			case seg := <-segments:
				if !yield(seg, nil) {
					cancel()
					<-ended // nothing of the turn is left when the loop is
					return
				}
			case err := <-ended:
				if err != nil {
					yield(converse.Segment{}, err)
				}
				return
			}
		}
	}
}

// send queues t, or says why it must not be sent.
func (s *Session) send(t *turn) error {
	if err := s.is(Connected); err != nil {
		return err
	}
	check := converse.Request{UserMessage: t.text, ForceExperience: t.options.ForceExperience, ModelType: t.options.ModelType}
	if err := check.Check(); err != nil {
		return err
	}
	if err := t.ctx.Err(); err != nil {
		return fault.From(context.Cause(t.ctx))
	}
	s.base.Work.Do(func() {
		switch {
		case s.state != Connected:
			t.settle(s, fault.New(fault.InvalidState, "the session is "+string(s.state)))
		case len(s.waiting) >= maxWaiting:
			t.settle(s, fault.New(fault.RateLimited, "too many turns wait to be sent"))
		default:
			s.enter(t)
		}
	})
	return nil
}

// takeBack drops a turn that still waits; one that began ends by itself.
func (s *Session) takeBack(t *turn) {
	s.base.Work.Post(func() {
		if i := slices.Index(s.waiting, t); i >= 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			t.settle(s, fault.From(context.Cause(t.ctx)))
		}
	})
}

// settle tells who waits for t, once and behind all events so far.
func (t *turn) settle(s *Session, err error) {
	done, result := t.done, t.reply.Turn()
	t.done = nil
	if done != nil {
		s.base.AfterHeard(func() { done(result, err) })
	}
}

// enter begins t, or lets it wait for the turn under way.
func (s *Session) enter(t *turn) {
	s.waiting = append(s.waiting, t)
	s.next()
}

// next begins the next turn when none is under way.
func (s *Session) next() {
	if s.turn != nil || len(s.waiting) == 0 || s.state != Connected {
		return
	}
	t := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.turn = t
	t.id = session.RandomID(turnIDLength)
	t.ctx, t.cancel = context.WithCancelCause(t.ctx)
	t.reply.OnWidget = func(w converse.Widget) { s.base.Emit(WidgetShown{Widget: w}) }
	s.begin(t)
}

// begin announces t and has it read (session-api A.2.3, order of a turn).
func (s *Session) begin(t *turn) {
	s.completer.Activity()
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

	brain := converse.Brain{Fetch: s.deps.Fetch, URL: *s.opts.GenieURL, Token: s.token, OnResponse: s.opts.OnResponse}
	request := converse.Request{
		UserMessage: t.text, ThreadID: s.thread, RequestVars: s.vars, Capabilities: s.caps,
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
	for seg, err := range brain.Stream(t.ctx, request) {
		if err != nil {
			return err
		}
		s.base.Work.Call(func() { s.segment(t, &seg) })
		if s.base.Flooded() {
			s.base.WaitHeard()
		}
		if t.segments == nil {
			continue
		}
		select {
		case t.segments <- seg:
		case <-t.ctx.Done():
			return fault.From(context.Cause(t.ctx))
		}
	}
	return nil
}

// segment handles one piece of the answer (wire-protocol §9.5).
func (s *Session) segment(t *turn, seg *converse.Segment) {
	if s.turn != t {
		return // the session was closed
	}
	s.completer.Activity()
	if s.thread == "" && seg.ThreadID != "" {
		s.thread = seg.ThreadID
		s.arm()
	}
	if seg.Type != converse.Think && seg.Type != converse.Keepalive {
		s.settleResponse()
	}
	if seg.Type.Spoken() || seg.Type == converse.WidgetPiece {
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
	if seg.Type.Spoken() {
		s.base.Emit(Transcript{Type: "final", Text: seg.ContentString()})
	}
	t.reply.Add(*seg)
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
	t.reply.End()
	result := t.reply.Turn()
	if err == nil {
		err = s.judge(result)
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
func (s *Session) judge(result converse.Turn) error {
	refusal := converse.RefusalOf(result.Errors, result)
	switch {
	case refusal == nil:
	case s.opts.OnErrorSegment == converse.Warn:
		s.base.Warning(event.Warning{Code: refusal.Code, Detail: refusal.Detail})
	default:
		return refusal
	}
	if result.Empty && refusal == nil && len(s.vars) > 0 && !s.warned {
		s.warned = true
		s.base.Warning(event.Warning{Code: fault.EmptyTurnWithRequestVars, RequestVarKeys: converse.VarNames(s.vars)})
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
