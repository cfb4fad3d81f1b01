package chat

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// maxWaiting is how many turns may wait: nobody types that much during an answer.
const maxWaiting = 100

// TurnOptions are what a single turn may ask for. The zero value asks for
// nothing (service.md, "Converse request").
type TurnOptions struct {
	// ForceExperience is a hint, see [converse.Request].
	ForceExperience string `json:"forceExperience"`
	// ModelType is [converse.ModelFast], or "" to leave it to the service.
	ModelType string `json:"modelType"`
}

// turn is one question and its answer. Once it was sent its fields belong to the
// queue, but for ctx and segments, which belong to its reader too.
type turn struct {
	text    string
	options TurnOptions
	kickoff bool

	ctx    context.Context         // ends with the caller's, and with the turn
	cancel context.CancelCauseFunc // nil until the turn begins
	// forget ends the watch over the caller's context; nil until the turn is queued.
	forget func() bool
	// segments takes every segment; nil when nobody iterates.
	segments chan<- converse.Segment
	// done is told the outcome once, when the listener has heard of the end; nil when
	// nobody waits.
	done func(converse.Turn, error)

	id    string
	vars  map[string]any // that were sent with it
	reply converse.Collector
}

// SendText sends one turn and returns the answer when it is complete. Turns run
// one after another.
//
// Errors: bad_request (empty), validation_error (options), invalid_state (not
// connected, or closed while the turn waited), rate_limited (100 turns wait
// already), aborted (the end of ctx, or of the session; timeout for a deadline of
// ctx), the HTTP codes of wire-protocol §9.7, network_error, server_error,
// client_variables_disabled; and thread_access_denied and stream_error, with what
// came before in the body. The result has what came before every error. Ending ctx
// closes the request, which stops the service's turn too; a turn that still waits
// is then taken back, with no events.
//
// What a service sends beyond any answer of a model (20,000 segments, 4 MiB) is in
// the events alone, and the result is marked as truncated.
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
	t.reply.Limits = converse.Limits{Segments: keptSegments, Bytes: converse.MaxKept}
	s.send(t)
	return sync.OnceValues(func() (converse.Turn, error) {
		end := <-ended
		return end.turn, end.err
	})
}

// Stream is SendText for those who want every segment as it comes: error
// segments too, and the turn's error, if it has one, at the end. What the loop has
// not taken is not read ahead, but for one segment. Leaving the loop aborts the
// turn. Every loop over the sequence is a turn of its own.
func (s *Session) Stream(ctx context.Context, text string, o TurnOptions) iter.Seq2[converse.Segment, error] {
	return func(yield func(converse.Segment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		segments := make(chan converse.Segment)
		ended := make(chan error, 1)
		t := &turn{text: text, options: o, ctx: ctx, segments: segments, done: func(_ converse.Turn, err error) { ended <- err }}
		t.reply.Lean = true // what the loop takes is the caller's to keep
		s.send(t)
		over := false
		defer func() {
			cancel()
			if !over {
				<-ended // nothing of the turn is left when the loop is
			}
		}()
		for {
			select {
			case seg := <-segments:
				if !yield(seg, nil) {
					return
				}
			case err := <-ended:
				over = true
				if err != nil {
					yield(converse.Segment{}, err)
				}
				return
			}
		}
	}
}

// send queues t, or settles it with what is wrong with it.
func (s *Session) send(t *turn) {
	check := converse.Request{UserMessage: t.text, ForceExperience: t.options.ForceExperience, ModelType: t.options.ModelType}
	if err := check.Check(); err != nil {
		t.settle(s, err)
		return
	}
	s.base.Work.Do(func() {
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

// takeBack drops a turn that still waits; one that began ends by itself.
func (s *Session) takeBack(t *turn, err error) {
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		t.settle(s, err)
	}
}

// settle tells who waits for t, once and behind all events so far.
func (t *turn) settle(s *Session, err error) {
	if t.forget != nil {
		t.forget()
	}
	if done := t.done; done != nil {
		t.done = nil
		result := t.reply.Turn()
		s.base.AfterHeard(func() { done(result, err) })
	}
}

// enter begins t, or lets it wait for the turn under way.
func (s *Session) enter(t *turn) {
	ctx := t.ctx // which begin replaces
	t.forget = context.AfterFunc(ctx, func() {
		s.base.Work.Post(func() { s.takeBack(t, session.EndOf(ctx)) })
	})
	s.waiting = append(s.waiting, t)
	s.next()
}

// next begins the next turn when none is under way.
func (s *Session) next() {
	for s.turn == nil && len(s.waiting) > 0 {
		t := s.waiting[0]
		s.waiting = slices.Delete(s.waiting, 0, 1)
		if t.ctx.Err() != nil { // and is about to be taken back
			t.settle(s, session.EndOf(t.ctx))
			continue
		}
		s.begin(t)
	}
}
