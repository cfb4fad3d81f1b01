package chat

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// maxWaiting is how many turns may wait; a visitor does not type more during an answer.
const maxWaiting = 100

// TurnOptions are the options of a single turn (service.md "Converse request").
type TurnOptions struct {
	// ForceExperience is the preferred form of the answer; the service may choose another.
	ForceExperience string `json:"forceExperience" values:"experiences"`
	// ModelType is the model. Default: the service chooses.
	ModelType string `json:"modelType" values:"models"`
}

// turn is one question and its answer. Once it was sent its fields belong to the
// queue, except ctx and segments, which its reader uses too.
type turn struct {
	text    string
	options TurnOptions
	kickoff bool

	ctx    context.Context         // ends with the caller's, and with the turn
	cancel context.CancelCauseFunc // nil until the turn begins
	// forget stops watching the caller's context; nil until the turn is queued.
	forget func() bool
	// segments receives every segment; nil without an iterating caller.
	segments chan<- []converse.Segment
	// done gets the outcome once, when the listener has received the last event; nil
	// without a waiting caller.
	done func(converse.Turn, error)

	id    string
	vars  map[string]any // variables that were sent with it
	reply converse.Collector
}

// SendText sends one turn and returns the answer when it is complete. Turns run
// one after another.
//
// Errors: bad_request (empty), validation_error (options), invalid_state (not
// connected, or closed while the turn waited), rate_limited (100 turns wait
// already), aborted (the end of ctx, or of the session; timeout for a deadline of
// ctx), the HTTP codes of protocol §9.7, network_error, server_error,
// client_variables_disabled; and thread_access_denied and stream_error, whose body
// contains what was received before. With any error the result contains what was
// received before it. The end of ctx closes the request, which stops the turn at the
// service too; a turn that still waits is then withdrawn without events.
//
// Segments beyond 20,000 or 4 MiB, which no answer of a model reaches, are in the events
// only, and the result is marked as truncated.
func (s *Session) SendText(ctx context.Context, text string, o TurnOptions) (converse.Turn, error) {
	return s.Start(ctx, text, o)()
}

// Start is SendText in two steps, so that several turns can be started in order: it
// queues the turn before it returns, and wait returns the answer when it is complete.
func (s *Session) Start(ctx context.Context, text string, o TurnOptions) (wait func() (converse.Turn, error)) {
	type outcome struct {
		turn converse.Turn
		err  error
	}
	ended := make(chan outcome, 1)
	t := &turn{text: text, options: o, ctx: ctx, done: func(r converse.Turn, err error) { ended <- outcome{r, err} }}
	t.reply.Limits = converse.Limits{Segments: keptSegments, Bytes: converse.MaxKept}
	s.send(t)
	return sync.OnceValues(func() (converse.Turn, error) {
		end := <-ended
		return end.turn, end.err
	})
}

// Stream sends one turn and yields every segment when it arrives, error segments too,
// and the turn's error, if it has one, at the end. At most one read from the network is
// ahead of the loop. Leaving the loop aborts the turn. Every loop over the sequence sends
// a turn of its own.
func (s *Session) Stream(ctx context.Context, text string, o TurnOptions) iter.Seq2[converse.Segment, error] {
	return converse.Each(s.Batches(ctx, text, o))
}

// Batches is Stream for batches of segments: those that arrive together are yielded
// together.
func (s *Session) Batches(ctx context.Context, text string, o TurnOptions) iter.Seq2[[]converse.Segment, error] {
	return func(yield func([]converse.Segment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		segments := make(chan []converse.Segment)
		ended := make(chan error, 1)
		t := &turn{text: text, options: o, ctx: ctx, segments: segments, done: func(_ converse.Turn, err error) { ended <- err }}
		t.reply.Lean = true // the caller keeps the segments that it needs
		s.send(t)
		over := false
		defer func() {
			cancel()
			if !over {
				<-ended // so that the turn has ended when the loop is left
			}
		}()
		for {
			select {
			case batch := <-segments:
				if !yield(batch, nil) {
					return
				}
			case err := <-ended:
				over = true
				if err != nil {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// send queues t, or settles it with the error of its options or of the session's state.
func (s *Session) send(t *turn) {
	check := converse.Request{UserMessage: t.text, ForceExperience: t.options.ForceExperience, ModelType: t.options.ModelType}
	if err := check.Check(); err != nil {
		t.settle(s, err)
		return
	}
	s.core.Work.Do(func() {
		switch {
		case s.state != Connected:
			t.settle(s, not(s.state, Connected))
		case len(s.waiting) >= maxWaiting:
			t.settle(s, fault.New(fault.RateLimited, "too many turns wait to be sent"))
		default:
			s.enter(t)
		}
	})
}

// takeBack drops a turn that still waits; a turn that has begun ends with its context.
func (s *Session) takeBack(t *turn, err error) {
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		t.settle(s, err)
	}
}

// settle sends the outcome to the caller that waits for t, once and after all events so far.
func (t *turn) settle(s *Session, err error) {
	if t.forget != nil {
		t.forget()
	}
	if done := t.done; done != nil {
		t.done = nil
		result := t.reply.Turn()
		s.core.AfterDelivered(func() { done(result, err) })
	}
}

// enter begins t, or queues it behind the turn under way.
func (s *Session) enter(t *turn) {
	ctx := t.ctx // begin replaces t.ctx
	t.forget = context.AfterFunc(ctx, func() {
		s.core.Work.Post(func() { s.takeBack(t, session.EndOf(ctx)) })
	})
	s.waiting = append(s.waiting, t)
	s.next()
}

// next begins the next turn when none is under way.
func (s *Session) next() {
	for s.turn == nil && len(s.waiting) > 0 {
		t := s.waiting[0]
		s.waiting = slices.Delete(s.waiting, 0, 1)
		if t.ctx.Err() != nil { // takeBack is about to be called
			t.settle(s, session.EndOf(t.ctx))
			continue
		}
		s.begin(t)
	}
}

const (
	turnIDLength = 12 // characters

	// keptSegments is how many segments are kept of an answer that a caller waits for:
	// more than any model sends.
	keptSegments = 20_000

	// maxUndelivered is how many bytes of segments may wait for the listener.
	maxUndelivered = 4 << 20
)

// keep adds seg to t's answer; beyond the limits, only what judge needs of it.
func (t *turn) keep(seg converse.Segment) {
	if !t.reply.Add(seg) {
		t.reply.Limits, t.reply.Lean = converse.Limits{}, true
		t.reply.Add(seg)
	}
}

// begin emits the first events of t and starts to read its reply (session §A.2.3, order
// of a turn).
func (s *Session) begin(t *turn) {
	s.turn = t
	t.id = session.RandomID(turnIDLength)
	t.ctx, t.cancel = context.WithCancelCause(t.ctx)
	t.vars = s.core.Vars
	t.reply.OnWidget = func(w converse.Widget) { s.core.Emit(event.WidgetShown{Widget: w}) }
	s.core.Notifier.Activity()
	if t.kickoff {
		sent := *s.kickoff
		sent.Sent = true
		s.kickoff = &sent
	}
	if !t.kickoff || s.kickoff.Echo {
		s.core.Emit(event.Transcript{Type: "user", Text: t.text})
	}
	s.core.Tools.NewTurn()
	s.core.Turns.Asked("")
	s.core.Turns.Begin(t.id, "", true)
	s.core.Audit("turn.converse", "started", "")
	s.core.Emit(event.TurnStarted{TurnID: t.id, IsNewTurn: true})
	s.core.SetPending(true)
	s.core.Stall.Arm()

	client := converse.Client{HTTPClient: s.opts.HTTPClient, URL: *s.opts.GenieURL, Token: s.core.Token, TraceContext: s.opts.TraceContext()}
	if hear := s.opts.OnResponse; hear != nil {
		client.OnResponse = func(r httpclient.Response) { s.core.AfterDelivered(func() { hear(r) }) }
	}
	request := converse.Request{
		UserMessage: t.text, ThreadID: s.core.Thread, RequestVars: t.vars, Capabilities: s.core.Caps,
		ForceExperience: t.options.ForceExperience, ModelType: t.options.ModelType,
	}
	s.core.Running.Add(1)
	s.core.Spawn(func() {
		defer s.core.Running.Done()
		err := s.read(t, client, request)
		if errors.Is(err, fault.Unauthorized) && s.opts.OnTokenNeeded != nil { // before any segment
			token, refused := s.core.Tokens.Fresh(t.ctx, client.Token)
			switch {
			case refused == nil:
				client.Token = token
				err = s.read(t, client, request)
			case t.ctx.Err() != nil: // the turn ended meanwhile
				err = refused
			}
		}
		s.core.Work.Post(func() { s.over(t, err) })
	})
}

// read passes the segments of t's reply to the queue as they arrive, and reads on when they
// were handled, so that a service that sends too many is slowed down, as by a slow loop
// over the segments.
func (s *Session) read(t *turn, client converse.Client, request converse.Request) error {
	undelivered := 0
	for batch, err := range client.Batches(t.ctx, request) {
		switch {
		case err == nil:
		case t.ctx.Err() != nil && errors.Is(err, t.ctx.Err()):
			return session.EndOf(t.ctx).At(fault.From(err).Instance)
		default:
			return err
		}
		s.core.Work.Call(func() {
			for i := range batch {
				s.segment(t, &batch[i])
				undelivered += batch[i].Size()
			}
		})
		if undelivered > maxUndelivered || s.core.Flooded() {
			s.core.WaitDelivered()
			undelivered = 0
		}
		if t.segments == nil {
			continue
		}
		select {
		case t.segments <- batch:
		case <-t.ctx.Done():
			return session.EndOf(t.ctx)
		}
	}
	return nil
}

// segment handles one piece of the answer (protocol §9.5).
func (s *Session) segment(t *turn, seg *converse.Segment) {
	if s.turn != t {
		return // the session was closed
	}
	s.core.Notifier.Activity()
	s.core.Turns.Segment(seg)
	s.core.AdoptThread(seg)
	if seg.Type != converse.Think && seg.Type != converse.Keepalive {
		s.core.SetPending(false)
	}
	said := ""
	if seg.Type.Spoken() {
		said = seg.ContentString()
	}
	if _, widget := seg.Runtime(); widget || said != "" {
		s.core.Stall.Disarm()
	}
	switch seg.Type {
	case converse.Tool:
		s.core.Tools.Segment(seg)
	case converse.ToolResponse:
		if call, ok := s.core.Tools.Response(seg); ok {
			s.core.Tools.Run(call)
		}
	case converse.Interruption:
		s.core.Tools.Consent(seg)
	}
	s.core.Emit(event.BrainSegment{Segment: *seg})
	if said != "" {
		s.core.Emit(event.Transcript{Type: "final", Text: said})
	}
	t.keep(*seg)
}

// over ends t, which was read to its end, and begins the next turn.
func (s *Session) over(t *turn, err error) {
	if s.turn != t {
		return // the session was closed
	}
	if err == nil {
		t.reply.End() // emits a widget that is still open; after an error it is dropped
		err = s.judge(t)
	}
	if err != nil {
		failure := fault.From(err)
		s.core.Emit(event.Failed{Error: failure})
		if t.kickoff {
			s.core.Warn(fault.KickoffFailed, failure.Error())
		}
		err = failure
	}
	s.leave(t, err)
	s.next()
}

// judge returns the error that the error segments of a turn represent, or emits a warning
// for them. It also warns of an empty turn, which is how the service refuses variables
// (protocol §9.6 and §10.3).
func (s *Session) judge(t *turn) error {
	result := t.reply.Turn()
	refusal := converse.RefusalOf(result.Errors, result)
	switch {
	case refusal == nil:
	case s.opts.OnErrorSegment == converse.Warn:
		s.core.Warning(event.Warning{Code: refusal.Code, Detail: refusal.Detail})
	default:
		return refusal
	}
	if result.Empty {
		s.core.TurnWasEmpty(t.vars)
	}
	return nil
}

// outcomeOf returns the outcome of a turn that ends with err, "" without an error; over means
// that the session has ended.
func outcomeOf(err error, over bool) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fault.Aborted) && over:
		return "ended"
	case errors.Is(err, fault.Aborted):
		return "interrupted"
	}
	return "failed"
}

// leave ends t for its caller and its iterator.
func (s *Session) leave(t *turn, err error) {
	s.turn = nil
	s.core.Stall.Disarm()
	t.cancel(err)
	s.core.SetPending(false)
	s.core.Emit(event.TurnEnded{TurnID: t.id})
	s.core.Turns.Mark(event.MarkTextEnd, time.Now(), false)
	s.core.Turns.End(outcomeOf(err, s.state == Closed))
	t.settle(s, err)
}
