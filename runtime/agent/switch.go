package agent

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// threadLimit bounds how long a switch waits for the id of the thread, which the first
// answer contains: without it, the new transport would begin another thread.
const threadLimit = 5 * time.Second

// Connect opens the first transport. A failure is final: the error is the
// transport's, invalid_state after the end of the session or when it ends meanwhile,
// or aborted at the end of ctx (timeout for a deadline). While it runs, a second call
// waits for its outcome; when the session is connected, it fails with invalid_state
// (session §A.3.2).
func (s *Session) Connect(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var t *transport
	joined := make(chan error, 1)
	err := s.onQueue(func() error {
		switch {
		case s.state == Connecting:
			s.joiners = append(s.joiners, joined)
			return nil
		case s.state != Idle:
			return s.not(Idle)
		}
		if ctx.Err() != nil {
			return session.EndOf(ctx)
		}
		s.cancel = cancel
		s.setState(Connecting, userRequested)
		t = s.current
		s.core.Emit(TransportChanged{Mode: t.mode, Transport: t.transportSession})
		return nil
	})
	if err != nil {
		return err
	}
	if t == nil {
		select {
		case err := <-joined:
			return err
		case <-ctx.Done():
			return session.EndOf(ctx)
		}
	}
	err = s.connect(inner, t)
	err = s.onQueue(func() error {
		err := s.connected(t, outcome(ctx, err))
		for _, joined := range s.joiners {
			joined <- err
		}
		s.joiners = nil
		return err
	})
	s.core.WaitDelivered()
	return err
}

// connected ends a connect and returns its outcome.
func (s *Session) connected(t *transport, err error) error {
	if s.state != Connecting {
		return s.not(Connected) // the session ended meanwhile, and t with it
	}
	s.cancel = nil
	if err == nil {
		err = t.lost()
	}
	if err != nil {
		s.end(Broken, transportFailed, nil, true)
		return err
	}
	s.setState(Connected, "")
	return nil
}

// SwitchMode moves the conversation to the other transport, with its thread,
// variables, handlers and waiting texts. With the present mode it does nothing. If the
// new transport fails, the conversation stays on the old one, and the error is the new
// transport's. Other errors: bad_request, invalid_state (not connected, already
// switching, or ended meanwhile), aborted at the end of ctx (timeout for a deadline).
//
// The old transport keeps working until the new one is connected, and is then released. A
// turn in text that is not complete by then fails with aborted and contains what was
// received of its answer, which the thread keeps too. Texts that were not sent by then go to
// the new transport. No completion signal is sent, because the conversation continues.
func (s *Session) SwitchMode(ctx context.Context, mode Mode) error {
	if err := mode.check(); err != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	known := make(chan struct{})
	same := false
	err := s.onQueue(func() error {
		if s.state != Connected {
			return s.not(Connected)
		}
		if same = mode == s.mode; same {
			return nil
		}
		if ctx.Err() != nil {
			return session.EndOf(ctx)
		}
		s.cancel = cancel
		s.setState(Switching, userRequested)
		s.known = known
		s.checkKnown()
		return nil
	})
	if err != nil || same {
		return err
	}
	limit := time.NewTimer(threadLimit)
	defer limit.Stop()
	select {
	case <-known:
	case <-limit.C:
	case <-inner.Done():
	}
	var next *transport
	err = s.onQueue(func() (err error) {
		next, err = s.openNext(inner, mode)
		return err
	})
	if err == nil {
		err = s.connect(inner, next)
	}
	var old *transport
	var changed ModeChanged
	err = s.onQueue(func() (failed error) {
		old, changed, failed = s.handOver(next, outcome(ctx, err))
		return failed
	})
	if err == nil {
		old.WaitDelivered() // what it has emitted until its end belongs to the conversation
		err = s.onQueue(func() error { return s.switched(old, changed) })
	}
	s.core.WaitDelivered()
	return err
}

// openNext creates the new transport of a switch.
func (s *Session) openNext(ctx context.Context, mode Mode) (*transport, error) {
	s.known = nil
	if ctx.Err() != nil {
		return nil, session.EndOf(ctx)
	}
	s.adopt(s.current)
	if s.current.HoldKickoff(true) {
		s.kickoff = nil
	}
	next, err := s.open(mode)
	if err != nil {
		return nil, err
	}
	s.other = next
	s.core.Emit(TransportChanged{Mode: mode, Transport: next.transportSession})
	return next, nil
}

// handOver gives the conversation to the new transport of a switch and disconnects the old
// one. With an error, its own or err, the conversation stays on the old one. next is nil if it
// was never created.
func (s *Session) handOver(next *transport, err error) (old *transport, changed ModeChanged, _ error) {
	if s.state != Switching {
		return nil, changed, s.not(Connected) // the session ended meanwhile, and next with it
	}
	s.cancel, s.other = nil, nil
	if err == nil {
		err = next.lost()
	}
	if err != nil {
		s.stay(next)
		return nil, changed, err
	}
	old = s.current
	s.adopt(old)
	changed = ModeChanged{Mode: next.mode, ThreadContinuity: s.core.Thread != "" && s.core.Thread == next.Status().ThreadID}
	s.current, s.mode, s.other = next, next.mode, old
	s.adopt(next)
	old.Disconnect(session.DisconnectOptions{Keep: true, Reason: "switch"})
	return old, changed, nil
}

// switched ends a switch that worked, when every event of the old transport has come.
func (s *Session) switched(old *transport, changed ModeChanged) error {
	if s.state != Switching {
		return s.not(Connected) // the session ended meanwhile, and both transports with it
	}
	s.other = nil
	s.releaseTransport(old, true, "switch")
	s.setState(Connected, "")
	s.core.Emit(changed)
	if end := s.current.ended; end != nil { // it came during the wait
		s.ended(s.current, *end)
	}
	s.deliver()
	return nil
}

// stay ends a switch that failed: the conversation stays on the old transport, unless that
// ended meanwhile.
func (s *Session) stay(next *transport) {
	if next != nil {
		s.releaseTransport(next, true, "switch")
	}
	old := s.current
	if old.ended != nil {
		s.end(Broken, transportFailed, old.ended, true)
		return
	}
	if next != nil && next.used() {
		s.kickoff = nil // the old transport still holds its own, and never sends it
	} else {
		old.HoldKickoff(false)
	}
	if next != nil {
		s.core.Emit(TransportChanged{Mode: old.mode, Transport: old.transportSession})
	}
	s.setState(Connected, transportFailed)
	s.deliver()
}

// connect opens t, and returns when every event of the outcome was delivered. It runs on its
// caller's goroutine.
func (s *Session) connect(ctx context.Context, t *transport) error {
	s.core.WaitDelivered() // so that listeners are attached to t first
	if ctx.Err() != nil {
		return session.EndOf(ctx)
	}
	defer t.WaitDelivered()
	return t.open(ctx)
}

// outcome returns the error of a call whose context is ctx and which failed with err, or nil
// for a nil err.
func outcome(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return session.EndOf(ctx)
	}
	return err
}

// onQueue runs f on the queue and returns its error, which is internal_error if it
// panicked.
func (s *Session) onQueue(f func() error) error {
	var err error = fault.New(fault.InternalError, "the session failed")
	s.core.Work.Call(func() { err = f() })
	return err
}

// checkKnown ends the wait of a switch for the thread's id, when it is known or can't
// arrive any more.
func (s *Session) checkKnown() {
	if s.known == nil {
		return
	}
	t := s.current
	if s.core.Thread == "" && (t.Status().ResponsePending || t.mode == Chat && s.carries(t)) {
		return
	}
	close(s.known)
	s.known = nil
}

// adopt stores the thread of t, if its id is known.
func (s *Session) adopt(t *transport) {
	if id := t.Status().ThreadID; id != "" {
		s.core.Thread = id
	}
}

// refresh passes the variables to t that changed while it was not connected.
func (s *Session) refresh(t *transport) {
	if len(t.pendingVars) > 0 && t.UpdateRequestVars(t.pendingVars) == nil {
		t.pendingVars = nil
	}
}

// releaseTransport disconnects a transport; an answer that has not begun is no longer awaited.
func (s *Session) releaseTransport(t *transport, keep bool, reason string) {
	t.released = true
	left := t.settle()
	// The completion signal, if any, is sent first (protocol §8.8).
	t.Disconnect(session.DisconnectOptions{Keep: keep, Reason: reason})
	for _, e := range left {
		s.core.Emit(e)
	}
	if t.turn != nil {
		s.core.Emit(*t.turn)
	}
	t.pending = false
	s.pair()
	if s.carries(t) {
		s.core.After(returnLimit, func() {
			t.overdue = true
			s.deliver()
		})
	}
	s.leaving.Go(func() { t.free(&s.core) })
}
