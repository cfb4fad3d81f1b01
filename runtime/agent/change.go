package agent

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Connect opens the first transport. A failure is final: the error is the
// transport's, invalid_state unless the session is idle or when it is
// disconnected meanwhile, or aborted at the end of ctx.
func (s *Session) Connect(ctx context.Context) error {
	return s.change(ctx, func() (*transport, error) {
		if s.state != Idle {
			return nil, s.not(Idle)
		}
		s.setState(Connecting, userRequested)
		return s.current, nil
	}, s.connected)
}

// connected ends a connect.
func (s *Session) connected(t *transport, err error) {
	if err != nil {
		s.end(Broken, transportFailed, "", true)
		return
	}
	s.setState(Connected, "")
}

// SwitchMode takes the conversation to the other transport, with its thread,
// variables, handlers and waiting texts. The old transport goes when the new one is
// up; when that fails the conversation stays where it was, and the error is the
// transport's. Other errors: bad_request, invalid_state (not connected, already
// switching, or disconnected meanwhile), aborted at the end of ctx. The present
// mode is no switch.
//
// A turn under way may go on until the new transport is up; what is not said by
// then stays in the thread as far as it came. The service hears nothing of an end:
// the conversation goes on.
func (s *Session) SwitchMode(ctx context.Context, mode Mode) error {
	if err := mode.check(); err != nil {
		return err
	}
	return s.change(ctx, func() (*transport, error) {
		if s.state != Connected {
			return nil, s.not(Connected)
		}
		if mode == s.mode {
			return nil, nil
		}
		s.noteKickoff()
		next, err := s.open(mode)
		if err != nil {
			return nil, err
		}
		s.next = next
		s.setState(Switching, userRequested)
		return next, nil
	}, s.switched)
}

// switched ends a switch: in the new transport, or where the conversation was.
func (s *Session) switched(next *transport, err error) {
	s.next = nil
	old := s.current
	switch {
	case err == nil:
		continuity := old.thread() != "" && next.thread() == old.thread()
		s.current, s.mode = next, next.mode
		s.letGo(old, true)
		s.refresh(next)
		s.setState(Connected, "")
		s.base.Emit(ModeChanged{Mode: s.mode, ThreadContinuity: continuity})
		s.deliver()
	case old.dead:
		s.letGo(next, true)
		s.end(Broken, transportFailed, "", true)
	default:
		s.letGo(next, true)
		s.base.Emit(TransportChanged{Mode: old.mode, Transport: old.inner()})
		s.setState(Connected, transportFailed)
		s.deliver()
	}
}

// change runs a connect or a switch: begin, on the queue, returns the transport to
// connect, or nothing to do; end, on the queue too, takes the outcome.
func (s *Session) change(ctx context.Context, begin func() (*transport, error), end func(*transport, error)) error {
	done := make(chan error, 1)
	settle := func(err error) { s.base.AfterHeard(func() { done <- err }) }
	s.base.Work.Do(func() {
		t, err := begin()
		if err != nil || t == nil {
			settle(err)
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		s.settle, s.cancel = settle, cancel
		s.base.Emit(TransportChanged{Mode: t.mode, Transport: t.inner()})
		s.base.Spawn(func() {
			// The page has its listeners at the transport before it connects.
			s.base.WaitHeard()
			err := t.connect(ctx)
			if err != nil && ctx.Err() != nil {
				err = fault.From(context.Cause(ctx))
			}
			s.base.Work.Post(func() {
				if s.settle == nil || t != s.next && t != s.current {
					return // the session ended meanwhile, and t with it
				}
				s.settle, s.cancel = nil, nil
				end(t, err)
				settle(err)
			})
		})
	})
	return <-done
}

// noteKickoff forgets the kickoff once a transport has sent it.
func (s *Session) noteKickoff() {
	if k := s.current.kickoff(); k == nil || k.Sent {
		s.kickoff = nil
	}
}

// refresh tells a transport what changed while it connected.
func (s *Session) refresh(t *transport) {
	if len(s.updates) == 0 {
		return
	}
	if err := t.UpdateRequestVars(s.updates); err != nil {
		s.base.Log("warn", "variables after a switch: "+err.Error(), nil)
	}
}

// letGo leaves a transport behind. The response that it owes counts as settled.
func (s *Session) letGo(t *transport, keep bool) {
	t.gone = true
	s.settleResponse()
	t.disconnect(keep, "switch")
	s.free(t)
}

// free waits beside the queue until a transport is gone.
func (s *Session) free(t *transport) {
	s.leaving.Add(1)
	s.base.Spawn(func() {
		defer s.leaving.Done()
		t.free()
	})
}

// hear takes an event of a transport. It runs on the transport's own goroutine and
// waits for the queue, so that a flood is felt where it comes from.
func (s *Session) hear(t *transport, e event.Event) {
	s.base.Work.Call(func() { s.receive(t, e) })
	if s.base.Flooded() {
		s.base.WaitHeard()
	}
}

func (s *Session) receive(t *transport, e event.Event) {
	if t.gone {
		return
	}
	if s.thread == "" {
		s.thread = t.thread()
	}
	switch e := e.(type) {
	case Ended:
		s.ended(t, e)
		return
	case ResponsePending:
		if s.pending {
			return
		}
		s.pending = true
	case ResponseSettled:
		if !s.pending {
			return
		}
		s.pending = false
	}
	if passedOn(e) {
		s.base.Emit(e)
	}
}

// ended handles the end of a transport that nobody asked for.
func (s *Session) ended(t *transport, e Ended) {
	switch {
	case t != s.current:
	case s.state == Connected:
		s.end(Broken, transportFailed, e.Reason, true)
	default:
		t.dead = true // the outcome of the connect or the switch decides
	}
}

func (s *Session) settleResponse() {
	if s.pending {
		s.pending = false
		s.base.Emit(ResponseSettled{})
	}
}

// not is the error of a call that needs another state.
func (s *Session) not(want State) error {
	return fault.New(fault.InvalidState, "the session is "+string(s.state)+", not "+string(want))
}

// DisconnectOptions say how a session is left.
type DisconnectOptions struct {
	// Keep leaves the conversation open at the service: no completion signal.
	Keep bool
	// Reason is what ended reports. Default "disconnect".
	Reason string
}

// Disconnect ends the session for good and tells the service that the
// conversation is over. It may be called at any time and more than once; it does
// not wait. A connect or a switch under way, and texts that wait, fail with
// invalid_state. The token is forgotten.
func (s *Session) Disconnect(o DisconnectOptions) {
	fill(&o.Reason, "disconnect")
	s.base.Work.Do(func() {
		switch s.state {
		case Closed:
		case Broken: // whose end was told
			s.setState(Closed, userRequested)
		default:
			s.end(Closed, userRequested, o.Reason, o.Keep)
		}
	})
}

// end lets everything go; no ended is nothing to tell of it, because the connect
// that failed told its caller.
func (s *Session) end(state State, why, ended string, keep bool) {
	if s.state == Closed || s.state == Broken {
		return
	}
	// The transport's request that the conversation is over leaves first
	// (wire-protocol §8.8).
	if t := s.current; t != nil {
		t.gone = true
		reason := ended
		fill(&reason, transportFailed)
		t.disconnect(keep, reason)
		s.free(t)
	}
	if s.next != nil {
		s.letGo(s.next, true)
		s.next = nil
	}
	s.settleResponse()
	s.token = ""
	s.setState(state, why)
	over := fault.New(fault.InvalidState, "the session is "+string(state))
	for _, h := range s.held {
		h.refuse(over)
	}
	s.held = nil
	if ended != "" {
		s.base.Emit(Ended{Reason: ended})
	}
	if s.settle != nil && state == Closed {
		s.cancel(over)
		s.settle(over)
		s.settle = nil
	}
}

// Fail ends this session after a bug that was caught elsewhere, in a callback of
// the page for example.
func (s *Session) Fail(err error) {
	s.base.Work.Post(func() {
		s.base.Emit(Failed{Error: fault.From(err)})
		s.end(Broken, transportFailed, string(fault.InternalError), true)
	})
}

// Close disconnects and returns when every transport is gone and the listener has
// heard everything, so it must not be called by a listener.
func (s *Session) Close() {
	s.Disconnect(DisconnectOptions{})
	s.base.Work.Call(func() {})
	s.leaving.Wait()
	s.base.WaitHeard()
}
