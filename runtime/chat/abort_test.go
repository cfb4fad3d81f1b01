package chat

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// errLeft is why a visitor aborts; it must not become the error's code.
var errLeft = errors.New("the visitor pressed stop")

// moments bring a turn to where it may be aborted.
var moments = map[string]func(x *exchange){
	"before the headers": func(*exchange) {},
	"after the headers":  func(x *exchange) { x.answer() },
	"between segments":   func(x *exchange) { x.answer().say(think, text("Hi")) },
	"inside a line":      func(x *exchange) { x.answer().say(text("Hi")).write(`{"type":"text","con`) },
	"inside a character": func(x *exchange) { x.answer().write("{\"type\":\"text\",\"content\":\"\xe2\x82") },
	"inside a refusal":   func(x *exchange) { x.reply(500, "application/json").write(`{"message":"so`) },
	"inside an object":   func(x *exchange) { x.reply(200, "application/json").write(`{"type":"te`) },
	"during a tool":      func(x *exchange) { x.answer().say(blocking) },
	"after a keepalive":  func(x *exchange) { x.answer().say(keepalive) },
}

func TestAbortAtAnyMoment(t *testing.T) {
	for name, bring := range moments {
		t.Run(name, func(t *testing.T) {
			connected(t, Options{}, func(r *rig) {
				ctx, cancel := context.WithCancelCause(r.t.Context())
				answer := r.later(ctx, "Hello")
				x := r.asked(0)
				bring(x)
				if x.isOver() {
					t.Fatal("the turn is over already")
				}
				cancel(errLeft)
				if got := answer.ended(); !errors.Is(got.err, fault.Aborted) || !errors.Is(got.err, context.Canceled) || !errors.Is(got.err, errLeft) {
					t.Errorf("ended with %v", got.err)
				}
				events := r.heard()
				expect.List(t, events[:3], []string{"user Hello", "turnStart", "responsePending"}, "events begin with")
				settled := 0
				for _, e := range events {
					if e == "responseSettled" {
						settled++
					}
				}
				tail := slices.DeleteFunc(slices.Clone(events[len(events)-3:]), func(e string) bool {
					return e != "error aborted" && e != "turnEnd"
				})
				if settled != 1 || !slices.Equal(tail, []string{"error aborted", "turnEnd"}) {
					t.Errorf("events %v", events)
				}
				if !x.isOver() {
					t.Error("the service is not told")
				}
				r.wantQuiet()
				r.mustWork()
			})
		})
	}
}

func TestADeadlineIsATimeout(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
		defer cancel()
		under, waiting := r.later(ctx, "Hello"), r.later(ctx, "And")
		r.asked(0).answer().say(text("Hi"))
		time.Sleep(time.Minute)
		for name, c := range map[string]sent{"under way": under, "waiting": waiting} {
			if got := c.ended(); !errors.Is(got.err, fault.Timeout) || !errors.Is(got.err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, got.err)
			}
		}
		r.mustWork()
	})
}

// TestATurnThatEndsAsItsTurnComes: a waiting turn whose context ends just before the turn
// under way is over is not begun.
func TestATurnThatEndsAsItsTurnComes(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		first := r.later(r.t.Context(), "One")
		second := r.later(ctx, "Two")
		r.asked(0).answer()
		// On the queue, so that the end of the first turn is handled before takeBack runs.
		r.core.Work.Post(func() {
			cancel()
			s := r.Session
			s.over(s.turn, nil)
		})
		if got := first.ended(); got.err != nil {
			t.Error(got.err)
		}
		expect.Error(t, second.ended().err, fault.Aborted, "ended with")
		r.wantEvents("user One", "turnStart", "responsePending", "responseSettled", "turnEnd")
		r.mustWork()
	})
}

// TestAnEndedContextSendsNothing, also while another turn is under way.
func TestAnEndedContextSendsNothing(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		cancel()
		for _, under := range []bool{false, true} {
			if under {
				r.later(r.t.Context(), "One")
				r.Forget()
			}
			for range 100 { // the end is detected in one of two places, by chance
				if _, err := r.SendText(ctx, "Hello", TurnOptions{}); !errors.Is(err, fault.Aborted) {
					t.Fatal(err)
				}
			}
			r.wantEvents()
		}
		expect.Equal(t, r.requests(), 1, "requests were sent")
	})
}

// watchedContext counts the waits for its end.
type watchedContext struct {
	context.Context
	watchers *atomic.Int64
}

// Value hides what package context would know the inner context by.
func (watchedContext) Value(any) any { return nil }

func (c watchedContext) AfterFunc(f func()) (stop func() bool) {
	c.watchers.Add(1)
	leave := sync.OnceFunc(func() { c.watchers.Add(-1) })
	stopInner := context.AfterFunc(c.Context, func() {
		leave()
		f()
	})
	return func() bool {
		leave()
		return stopInner()
	}
}

// TestATurnLetsGoOfItsContext, which may live much longer, whether or not anybody
// waits for the turn.
func TestATurnLetsGoOfItsContext(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		ctx := watchedContext{r.t.Context(), new(atomic.Int64)}
		r.Start(ctx, "One", TurnOptions{})
		r.Start(ctx, "Two", TurnOptions{})
		x := r.asked(0)
		expect.Equal(t, ctx.watchers.Load(), 3, "watchers of a turn under way and one that waits")
		x.answer().say(text("Hi")).end()
		r.asked(1).reply(0, "")
		synctest.Wait()
		expect.Equal(t, ctx.watchers.Load(), 0, "watchers are left")
	})
}

// TestDisconnectAtAnyMoment: session §A.2.3, "Disconnect in mid-turn".
func TestDisconnectAtAnyMoment(t *testing.T) {
	for name, bring := range moments {
		t.Run(name, func(t *testing.T) {
			connected(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig) {
				under, waiting := r.later(r.t.Context(), "Hello"), r.later(r.t.Context(), "And")
				x := r.asked(0)
				bring(x)
				pending := r.Snapshot().ResponsePending
				r.Forget()
				r.Disconnect(session.DisconnectOptions{Keep: true})
				expect.Error(t, under.ended().err, fault.Aborted, "the turn ended with")
				expect.Error(t, waiting.ended().err, fault.InvalidState, "the waiting turn ended with")
				want := []string{"stateChange closed", "ended disconnect", "responseSettled", "turnEnd"}
				if !pending {
					want = slices.Delete(want, 2, 3)
				}
				if got := all[event.TurnTimings](r); len(got) != 1 || got[0].Outcome != "ended" {
					t.Errorf("its timings are %+v", got)
				}
				r.wantEvents(want...)
				if !x.isOver() {
					t.Error("the service is not told")
				}
				expect.Len(t, r.brain.otherCalls(), 0, "told of an end that is none")
				r.wantQuiet()
			})
		})
	}
}

// looped is what a loop over a stream met.
type looped struct {
	types []string
	last  error
	panic any
}

// loop ranges over a stream on another goroutine until body returns false.
func (r *rig) loop(ctx context.Context, body func(converse.Segment) bool) <-chan looped {
	over := make(chan looped, 1)
	go func() {
		var l looped
		defer func() {
			l.panic = recover()
			over <- l
		}()
		for seg, err := range r.Stream(ctx, "Hello", TurnOptions{}) {
			if l.last = err; err != nil {
				continue // it must be the last
			}
			l.types = append(l.types, string(seg.Type))
			if !body(seg) {
				return
			}
		}
	}()
	synctest.Wait()
	return over
}

func everything(converse.Segment) bool { return true }

func (r *rig) wantLoop(over <-chan looped, code fault.Code, types ...string) {
	r.t.Helper()
	synctest.Wait()
	select {
	case got := <-over:
		if !slices.Equal(got.types, types) || (got.last == nil) != (code == "") || got.last != nil && !errors.Is(got.last, code) {
			r.t.Errorf("the loop met %v and %v, want %v and %q", got.types, got.last, types, code)
		}
	default:
		r.t.Error("the loop is not over")
	}
}

// TestLeavingTheLoop ends the turn before the statement behind the loop runs.
func TestLeavingTheLoop(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		over := r.loop(r.t.Context(), func(seg converse.Segment) bool { return seg.Type != converse.Text })
		x := r.asked(0).answer().say(think, text("Hi"), text("there"))
		r.wantLoop(over, "", "think", "text")
		if !x.isOver() {
			t.Error("the turn goes on")
		}
		events := r.heard()
		expect.List(t, events[len(events)-2:], []string{"error aborted", "turnEnd"}, "events %v", events)
		r.mustWork()
	})
}

func TestAPanicInTheLoopEndsTheTurn(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		over := r.loop(r.t.Context(), func(converse.Segment) bool { panic("a bug in the loop") })
		r.asked(0).answer().say(text("Hi"))
		if got := <-over; got.panic != "a bug in the loop" {
			t.Errorf("panic %v", got.panic)
		}
		r.mustWork()
	})
}

// TestAStreamYieldsEverything, error segments too, and the error at the end.
func TestAStreamYieldsEverything(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		over := r.loop(r.t.Context(), everything)
		r.asked(0).answer().say(think, keepalive, text("Hi"), denied, lastThink).end()
		r.wantLoop(over, fault.ThreadAccessDenied, "think", "keepalive", "text", "error", "think")

		ctx, cancel := context.WithCancel(r.t.Context())
		over = r.loop(ctx, everything)
		r.asked(1).answer().say(text("Hi"))
		cancel()
		r.wantLoop(over, fault.Aborted, "text")
		r.wantLoop(r.loop(ctx, everything), fault.Aborted)

		over = r.loop(r.t.Context(), everything)
		r.asked(2).answer().say(text("Hi"))
		r.Disconnect(session.DisconnectOptions{})
		r.wantLoop(over, fault.Aborted, "text")
		r.wantLoop(r.loop(r.t.Context(), everything), fault.InvalidState)
	})
}

// TestALoopMayEndTheSession, and even wait for it.
func TestALoopMayEndTheSession(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		over := r.loop(r.t.Context(), func(converse.Segment) bool { r.Close(); return true })
		r.asked(0).answer().say(text("Hi"))
		r.wantLoop(over, fault.Aborted, "text")
	})
}

// TestAStreamIsNotReadAhead: a slow loop holds the service up.
func TestAStreamIsNotReadAhead(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		var taken atomic.Int64
		over := r.loop(r.t.Context(), func(converse.Segment) bool {
			taken.Add(1)
			time.Sleep(time.Second)
			return true
		})
		x := r.asked(0).answer()
		for range 20 {
			x.say(text("x"))
		}
		x.end()
		for taken.Load() < 20 {
			if read, at := len(all[event.BrainSegment](r)), int(taken.Load()); read > at+1 {
				t.Fatalf("%d segments were read while the loop was at %d", read, at)
			}
			time.Sleep(time.Second)
		}
		if got := <-over; len(got.types) != 20 || got.last != nil {
			t.Errorf("%d segments, %v", len(got.types), got.last)
		}
	})
}
