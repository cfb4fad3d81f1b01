package agent

import (
	"cmp"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// onEvent handles an event of a transport. It runs on the transport's own goroutine and
// waits for the queue, which slows down a transport that emits too many events.
func (s *Session) onEvent(t *transport, e event.Timed) {
	s.core.Work.Call(func() { s.receive(t, e) })
	if s.core.Flooded() {
		s.core.WaitDelivered()
	}
}

func (s *Session) receive(t *transport, timed event.Timed) {
	if t.released {
		// It reports a turn that was under way only when it disconnects.
		if e, ok := timed.Event.(event.TurnTimings); ok {
			s.core.EmitAt(e, timed.At)
		}
		return
	}
	if t == s.current {
		s.adopt(t)
	}
	switch e := timed.Event.(type) {
	case event.Ended:
		s.ended(t, e)
	case event.ResponsePending:
		t.pending = true
		s.pair()
	case event.ResponseSettled:
		t.pending = false
		s.pair()
	case event.TurnStarted:
		t.turn = &event.TurnEnded{SpeechID: e.SpeechID, TurnID: e.TurnID}
		s.core.EmitAt(e, timed.At)
	case event.TurnEnded:
		if t.turn != nil && same(*t.turn, e) {
			t.turn = nil
		}
		s.core.EmitAt(e, timed.At)
	case avatar.StateChanged, chat.StateChanged:
		s.refresh(t) // t may be connected only now
	default:
		if passedOn(e) {
			s.core.EmitAt(e, timed.At)
		}
	}
	s.checkKnown()
}

// same reports whether two ends are of one turn: a spoken turn is identified by its
// speech id, a turn in text by its turn id.
func same(a, b event.TurnEnded) bool {
	if a.SpeechID == nil || b.SpeechID == nil {
		return a.TurnID == b.TurnID
	}
	return *a.SpeechID == *b.SpeechID
}

// pair emits responsePending and responseSettled alternately, for both transports
// together (session §O6).
func (s *Session) pair() {
	pending := false
	for _, t := range s.transports() {
		pending = pending || t.pending
	}
	s.core.SetPending(pending)
}

// ended handles a transport that ended without a call of Disconnect.
func (s *Session) ended(t *transport, e event.Ended) {
	t.ended = &e
	if t == s.current && s.state == Connected {
		s.end(Broken, transportFailed, t.ended, true)
	} // else the call of Connect or SwitchMode under way handles it
}

// not returns the error of a call that needs the state want.
func (s *Session) not(want State) error {
	return fault.New(fault.InvalidState, "the session is "+string(s.state)+", not "+string(want))
}

// over reports whether the session has ended.
func (s *Session) over() bool { return s.state == Broken || s.state == Closed }

// Disconnect ends the session for good and sends the completion signal. It may be called
// at any time and more than once; it does not wait. A connect or a switch under way, and
// texts that wait, fail with invalid_state. The token is cleared.
func (s *Session) Disconnect(o session.DisconnectOptions) {
	o.Reason = cmp.Or(o.Reason, "disconnect")
	s.core.Work.Do(func() {
		switch s.state {
		case Closed:
		case Broken: // its end was emitted already
			s.setState(Closed, userRequested)
		default:
			s.end(Closed, userRequested, &event.Ended{Reason: o.Reason}, o.Keep)
		}
	})
}

// end releases everything. ended is the event that reports the end; it is nil if no
// conversation had begun, because then the error of Connect reports it.
func (s *Session) end(state State, why string, ended *event.Ended, keep bool) {
	if s.over() {
		return
	}
	reason := transportFailed
	if ended != nil {
		reason = ended.Reason
	}
	s.releaseTransport(s.current, keep, reason)
	if s.other != nil {
		s.releaseTransport(s.other, true, reason)
		s.other = nil
	}
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
	s.core.Token, s.opts.Avatar.Token, s.opts.Chat.Token = "", "", ""
	s.handlers = nil
	s.setState(state, why)
	s.refuseTexts()
	if ended != nil {
		s.core.Emit(*ended)
	}
}

// crashed ends the session after a bug in it.
func (s *Session) crashed(e *fault.Error) {
	if s.over() {
		return
	}
	s.core.Emit(event.Failed{Error: e})
	s.end(Broken, transportFailed, &event.Ended{Reason: string(e.Code)}, true)
}

// Close disconnects and returns when every transport is closed and the listener has
// received every event, so a listener must not call it.
func (s *Session) Close() {
	s.Disconnect(session.DisconnectOptions{})
	s.Settle()
	s.core.Finish()
}

// Settle returns when an ended session emits nothing more: its transports are closed
// and the listener has received every event. So a listener must not call it.
func (s *Session) Settle() {
	s.core.Work.Call(func() {}) // waits until the queue has released the transports
	s.leaving.Wait()
	s.core.WaitDelivered()
}
