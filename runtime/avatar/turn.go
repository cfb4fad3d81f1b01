package avatar

import (
	"context"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// turnState is what the session knows of the talk going on.
type turnState struct {
	speaking bool // the avatar talks
	pending  bool // the brain was prompted and has shown nothing yet
	tap      bool // a tap-to-talk window is open

	// holding is set during a turn that can't be interrupted; typed texts wait
	// in held until it ends (wire-protocol §7.7).
	holding bool
	held    []heldText

	kickoff *Kickoff
	// echo is the kickoff's text until the first user transcript, out of which
	// it is cut (wire-protocol §7.6).
	echo string

	sent     []time.Time // typed turns of the last minute
	lastText string      // what the visitor asked last, for spiral recovery
	ended    []string    // the speechIds of turns that ended, the newest last

	captions captions
}

// heldText is a typed text that waits; sent says whether it left.
type heldText struct {
	text string
	sent chan<- bool
}

const turnRateWindow = time.Minute

// Speak sends text as one user turn. It cuts an avatar that talks; during a
// turn that can't be interrupted it waits, and all that waits leaves as one turn
// (wire-protocol §7.7). True means sent, false that the session ended first.
//
// Errors: invalid_state (not connected, or a tap-to-talk window is open),
// bad_request (empty), disclosure_required, rate_limited, guardrail_blocked; the
// end of ctx takes a waiting text back (aborted).
func (s *Session) Speak(ctx context.Context, text string) (bool, error) {
	if strings.TrimSpace(text) == "" {
		return false, fault.New(fault.BadRequest, "the text is empty")
	}
	if err := s.mayType(); err != nil {
		return false, err
	}
	text, err := s.guard(ctx, text, "speak")
	if err != nil {
		return false, err
	}
	sent := make(chan bool, 1)
	failed := make(chan error, 1)
	s.work.post(func() {
		if err := s.accept(text, sent); err != nil {
			failed <- err
		}
	})
	select {
	case ok := <-sent:
		return ok, nil
	case err := <-failed:
		return false, err
	case <-ctx.Done():
		s.work.post(func() { s.takeBack(sent) })
		return false, fault.New(fault.Aborted, "the text was taken back").Because(context.Cause(ctx))
	}
}

// mayType returns what keeps typed text from being sent now.
func (s *Session) mayType() error {
	if err := s.live(); err != nil {
		return err
	}
	if s.Snapshot().TapToTalkActive {
		return fault.New(fault.InvalidState, "a tap-to-talk window is open")
	}
	return nil
}

// guard lets the application change or refuse text.
func (s *Session) guard(ctx context.Context, text, kind string) (string, error) {
	if s.opts.BeforeSend == nil {
		return text, nil
	}
	changed, err := s.opts.BeforeSend(ctx, text, SendInfo{Kind: kind, ThreadID: s.Snapshot().ThreadID})
	if err != nil {
		s.audit("guardrail.block", "denied", err.Error())
		return "", fault.New(fault.GuardrailBlocked, "the application refused the text").Because(err)
	}
	return changed, nil
}

// accept sends text now or holds it.
func (s *Session) accept(text string, sent chan<- bool) error {
	switch {
	case s.state != Connected:
		return fault.New(fault.InvalidState, "the session is "+string(s.state))
	case s.turn.tap:
		return fault.New(fault.InvalidState, "a tap-to-talk window is open")
	case s.gated():
		return fault.New(fault.DisclosureRequired, "the disclosure is not acknowledged")
	}
	if err := s.countTurn(); err != nil {
		return err
	}
	if s.turn.holding {
		s.turn.held = append(s.turn.held, heldText{text, sent})
		return nil
	}
	s.send(text)
	sent <- true
	return nil
}

func (s *Session) countTurn() error {
	if s.opts.MaxTurnsPerMinute <= 0 {
		return nil
	}
	now := time.Now()
	recent := s.turn.sent[:0]
	for _, at := range s.turn.sent {
		if now.Sub(at) < turnRateWindow {
			recent = append(recent, at)
		}
	}
	s.turn.sent = recent
	if len(recent) >= s.opts.MaxTurnsPerMinute {
		s.audit("rate.limit", "denied", "")
		return fault.New(fault.RateLimited, "too many turns in a minute")
	}
	s.turn.sent = append(s.turn.sent, now)
	return nil
}

// takeBack removes the held text that reports on sent.
func (s *Session) takeBack(sent chan<- bool) {
	for i, h := range s.turn.held {
		if h.sent == sent {
			s.turn.held = append(s.turn.held[:i:i], s.turn.held[i+1:]...)
			return
		}
	}
}

// send emits one typed turn: the barge-in marker, then the text
// (wire-protocol §3.6).
func (s *Session) send(text string) {
	s.turn.lastText = text
	s.emitText(control.BargeIn())
	s.emitText(control.Text{Text: text, IsFinal: true})
	if s.opts.Debug {
		s.tell(control.DebugTextEntered, control.Text{Text: text, IsFinal: true})
	}
	s.touch()
	s.setPending(true)
	s.watchBrain()
}

func (s *Session) emitText(t control.Text) { s.tell(control.TextEntered, t) }

// tell emits an event on the present link.
func (s *Session) tell(name string, payload any) {
	if s.link == nil {
		return
	}
	if err := s.link.socket.Emit(name, payload); err != nil {
		s.log("warn", "emit "+name+": "+err.Error(), nil)
	}
}

// hold begins a turn that can't be interrupted.
func (t *turnState) hold() { t.holding = true }

// release ends it and sends what waited, as one turn, before the listener hears
// of the end (session-api O5).
func (s *Session) release() {
	if !s.turn.holding {
		return
	}
	s.turn.holding = false
	held := s.turn.held
	s.turn.held = nil
	if len(held) == 0 {
		return
	}
	texts := make([]string, len(held))
	for i, h := range held {
		texts[i] = h.text
	}
	s.send(strings.Join(texts, "\n"))
	for _, h := range held {
		if h.sent != nil {
			h.sent <- true
		}
	}
}

// forgetHeld reports the texts that will never be sent.
func (s *Session) forgetHeld() {
	for _, h := range s.turn.held {
		if h.sent != nil {
			h.sent <- false
		}
	}
	s.turn.held = nil
	s.turn.holding = false
}

// Interrupt silences the avatar. It does not stop the brain. The error is
// invalid_state while a tap-to-talk window is open or without a connection.
func (s *Session) Interrupt() error {
	if err := s.mayType(); err != nil {
		return err
	}
	s.work.post(func() {
		if s.state == Connected && !s.turn.tap {
			s.touch()
			s.emitText(control.BargeIn())
		}
	})
	return nil
}

// sendKickoff queues the first user turn, once in the life of the session,
// behind the opening turn and the disclosure (wire-protocol §7.6).
func (s *Session) sendKickoff() {
	k := s.turn.kickoff
	if k == nil || k.Sent || s.gated() || s.life.paused {
		return
	}
	sent := *k
	sent.Sent = true
	s.turn.kickoff = &sent
	go func() {
		text, err := s.guard(context.Background(), k.Text, "speak")
		s.work.post(func() {
			if err == nil {
				err = s.kick(text, k.Echo)
			}
			if err != nil {
				s.warn(fault.KickoffFailed, err.Error())
			}
		})
	}()
}

func (s *Session) kick(text string, echo bool) error {
	if s.state != Connected {
		return fault.New(fault.InvalidState, "the session is "+string(s.state))
	}
	if err := s.countTurn(); err != nil {
		return err
	}
	if !echo {
		s.turn.echo = text
	}
	if s.turn.holding {
		s.turn.held = append([]heldText{{text: text}}, s.turn.held...)
		return nil
	}
	s.send(text)
	return nil
}

// cutEcho removes the kickoff from the first user transcript
// (wire-protocol §7.6).
func (s *Session) cutEcho(heard string) string {
	echo := s.turn.echo
	s.turn.echo = ""
	if echo == "" {
		return heard
	}
	before, after, found := strings.Cut(heard, echo)
	if !found {
		return heard
	}
	var parts []string
	for _, part := range []string{before, after} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n")
}

// StartTapToTalk opens a window in which the visitor speaks. Errors:
// invalid_state, mic_not_started, capability_disabled, disclosure_required.
func (s *Session) StartTapToTalk() error {
	if err := s.mayType(); err != nil {
		return err
	}
	snap := s.Snapshot()
	switch {
	case !snap.MicStarted:
		return fault.New(fault.MicNotStarted, "the microphone is not started")
	case !snap.Capabilities.TapToTalk:
		return fault.New(fault.CapabilityDisabled, "the agent is not in tap-to-talk mode")
	case snap.Gated:
		return fault.New(fault.DisclosureRequired, "the disclosure is not acknowledged")
	}
	s.work.post(func() {
		if s.state != Connected || s.turn.tap {
			return
		}
		s.turn.tap = true
		s.touch()
		s.tell(control.TapToTalkStart, control.Empty{})
		s.emit(TapToTalkStarted{})
	})
	return nil
}

// EndTapToTalk closes the window. The error is invalid_state if none is open.
func (s *Session) EndTapToTalk() error {
	if err := s.live(); err != nil {
		return err
	}
	if !s.Snapshot().TapToTalkActive {
		return fault.New(fault.InvalidState, "no tap-to-talk window is open")
	}
	s.work.post(func() {
		if !s.turn.tap {
			return
		}
		s.turn.tap = false
		s.touch()
		s.tell(control.TapToTalkEnd, control.Empty{})
		s.emit(TapToTalkEnded{})
		s.setPending(true)
		s.watchBrain()
	})
	return nil
}

// forgetTurn closes what belongs to a server-side session that is gone: no
// answer comes any more, and nobody talks.
func (s *Session) forgetTurn() {
	s.brainAlive()
	s.setPending(false)
	s.turn.echo = ""
	s.turn.speaking = false
	s.turn.captions.finish()
	if s.turn.tap {
		s.turn.tap = false
		s.emit(TapToTalkEnded{})
	}
}

// setPending pairs responsePending and responseSettled (session-api O6).
func (s *Session) setPending(pending bool) {
	if s.turn.pending == pending {
		return
	}
	s.turn.pending = pending
	if pending {
		s.emit(ResponsePending{})
	} else {
		s.emit(ResponseSettled{})
	}
}
