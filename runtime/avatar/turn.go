package avatar

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// turnState is the state of the turns under way.
type turnState struct {
	speaking bool // the avatar talks
	// talkingSince is when the service reported that it began to.
	talkingSince time.Time
	answered     bool // the answer of the turn under way has begun
	tap          bool // a tap-to-talk window is open

	// cut is the utterance that the newest typed text cuts, until the service begins to
	// answer that text: its last events must not look like the answer.
	cut string

	// uninterruptible is set during a turn that can't be interrupted; typed texts wait
	// in the outbox until it ends (protocol §7.7).
	uninterruptible bool

	kickoff      *event.Kickoff
	kickoffTaken bool         // sendKickoff has taken the kickoff since the last connect
	kickoffText  *waitingText // the kickoff that sendKickoff has taken and that is not sent yet
	kickoffHeld  bool         // the kickoff must not be sent (HoldKickoff)
	// echo is the kickoff's text until the first user transcript, from which
	// it is removed (protocol §7.6).
	echo string

	accepted []time.Time // typed texts of the last minute that were sent or wait
	lastText string      // what the visitor asked last, for spiral recovery
	ended    []string    // the speechIds of turns that ended, the newest last
	turns    utteranceTurns

	captions captions
}

const turnRateWindow = time.Minute

// mustWait reports whether a typed text must wait: the service loses texts during a turn
// that can't be interrupted, a pause, or a tap-to-talk window.
func (s *Session) mustWait() bool { return s.turn.uninterruptible || s.lifecycle.paused || s.turn.tap }

// Speak sends text as one user turn. It interrupts an avatar that talks. During a turn
// that can't be interrupted, and while the session is paused, it waits; all waiting texts
// are sent as one turn (protocol §7.7). The result is true when the text was sent, and
// false when the session ended first. A text that was sent can be lost with the connection:
// the event turnUnconfirmed reports a turn that the service has not confirmed.
//
// Errors: invalid_state (not connected, or a tap-to-talk window is open),
// bad_request (empty), disclosure_required, rate_limited (also when 100 texts
// wait), guardrail_blocked; the end of ctx withdraws a waiting text (aborted).
func (s *Session) Speak(ctx context.Context, text string) (bool, error) {
	return s.Start(ctx, text)()
}

// Start is Speak in two steps: Start queues the text, and wait, which must be called,
// blocks and returns the result. Several texts can thus be queued in order, unless
// BeforeSend is set.
func (s *Session) Start(ctx context.Context, text string) (wait func() (bool, error)) {
	return s.start(ctx, text, func() {})
}

// start is Start; sent is called on the queue when the text was sent.
func (s *Session) start(ctx context.Context, text string, sent func()) (wait func() (bool, error)) {
	type outcome struct {
		sent bool
		err  error
	}
	ended := make(chan outcome, 1)
	waiting := &waitingText{text: text, done: func(was bool) {
		if was {
			sent()
		}
		ended <- outcome{sent: was}
	}}
	enter := func(life context.Context) { // that of the conversation which the text is for
		s.core.Work.Do(func() {
			var err error = endedFirst()
			if life.Err() == nil {
				err = s.accept(ctx, waiting)
			}
			if err != nil {
				ended <- outcome{err: err}
			}
		})
	}
	switch err := s.checkText(text); {
	case err != nil:
		ended <- outcome{err: err}
	case s.opts.BeforeSend == nil:
		enter(context.Background())
	default:
		s.core.Spawn(func() {
			var life context.Context
			s.core.Work.Call(func() { life = s.core.Life })
			changed, err := s.guard(ctx, text, "speak")
			if err != nil {
				ended <- outcome{err: err}
				return
			}
			waiting.text = changed
			enter(life)
		})
	}
	return sync.OnceValues(func() (bool, error) {
		select {
		case o := <-ended:
			return o.sent, o.err
		case <-ctx.Done():
		}
		s.core.Work.Call(func() {
			if s.outbox.withdraw(waiting) {
				ended <- outcome{err: fault.New(fault.Aborted, "the text was withdrawn before it was sent").Wrap(context.Cause(ctx))}
			}
		})
		o := <-ended
		return o.sent, o.err
	})
}

// checkText returns an error if text is empty or can't be sent now.
func (s *Session) checkText(text string) error {
	if strings.TrimSpace(text) == "" {
		return fault.New(fault.BadRequest, "the text is empty")
	}
	if err := s.checkTyping(); err != nil {
		return err
	}
	if s.Snapshot().Gated {
		return disclosureRequired()
	}
	return nil
}

func disclosureRequired() *fault.Error {
	return fault.New(fault.DisclosureRequired, "the disclosure is not acknowledged")
}

// checkTyping returns an error if typed text can't be sent now.
func (s *Session) checkTyping() error {
	if err := s.Live(); err != nil {
		return err
	}
	if s.Snapshot().TapToTalkActive {
		return fault.New(fault.InvalidState, "a tap-to-talk window is open")
	}
	return nil
}

// guard lets the application change or refuse text, until ctx ends.
func (s *Session) guard(ctx context.Context, text, kind string) (string, error) {
	if s.opts.BeforeSend == nil {
		return text, nil
	}
	changed, err := session.Until(ctx, func(ctx context.Context) (string, error) {
		return s.opts.BeforeSend(ctx, text, SendInfo{Kind: kind, ThreadID: s.Snapshot().ThreadID})
	})
	if ctx.Err() != nil {
		return "", session.EndOf(ctx)
	}
	if err == nil && strings.TrimSpace(changed) == "" {
		err = errors.New("nothing is left of the text")
	}
	if err != nil {
		s.core.Audit("guardrail.block", "denied", err.Error())
		return "", fault.New(fault.GuardrailBlocked, "the application refused the text").Wrap(err)
	}
	return changed, nil
}

// accept sends t now or keeps it until it may be sent, unless ctx has ended, because its call, which would withdraw it, is over.
func (s *Session) accept(ctx context.Context, t *waitingText) error {
	switch {
	case ctx.Err() != nil:
		return session.EndOf(ctx)
	case s.phase != live:
		return fault.New(fault.InvalidState, "the session is "+string(s.phase.state()))
	case s.turn.tap:
		return fault.New(fault.InvalidState, "a tap-to-talk window is open")
	case s.gated():
		return disclosureRequired()
	case len(s.outbox.waiting) >= maxTexts:
		return fault.New(fault.RateLimited, "too many texts are waiting to be sent; wait until the agent has finished")
	}
	if err := s.countTurn(t); err != nil {
		return err
	}
	s.outbox.add(t)
	return nil
}

// countTurn counts t, or refuses it.
func (s *Session) countTurn(t *waitingText) error {
	if s.opts.MaxTurnsPerMinute <= 0 {
		return nil
	}
	now := time.Now()
	s.turn.accepted = slices.DeleteFunc(s.turn.accepted, func(at time.Time) bool { return now.Sub(at) >= turnRateWindow })
	if len(s.turn.accepted) >= s.opts.MaxTurnsPerMinute {
		s.core.Audit("rate.limit", "denied", "")
		return fault.New(fault.RateLimited, "too many turns in a minute")
	}
	t.counts = now
	s.turn.accepted = append(s.turn.accepted, now)
	return nil
}

// discount undoes countTurn for a text that will not be sent.
func (s *Session) discount(t *waitingText) {
	if i := slices.Index(s.turn.accepted, t.counts); i >= 0 {
		s.turn.accepted = slices.Delete(s.turn.accepted, i, i+1)
	}
}

// asked records that a typed turn was sent.
func (s *Session) asked(text string) {
	s.turn.lastText = text
	if s.opts.Debug {
		s.emit(signaling.DebugTextEntered, signaling.Text{Text: text, IsFinal: true})
	}
	s.noteActivity()
	s.turn.cut = s.turn.captions.speechID
	s.prompted()
	s.core.Stall.Arm()
}

// endUninterruptible ends a turn that can't be interrupted and sends the waiting texts, before the event that reports the
// end (session §O5).
func (s *Session) endUninterruptible() {
	s.turn.uninterruptible = false
	s.outbox.flush()
}

// Interrupt silences the avatar. It does not stop the brain. The error is
// invalid_state while a tap-to-talk window is open or without a connection.
func (s *Session) Interrupt() error {
	if err := s.checkTyping(); err != nil {
		return err
	}
	s.core.Work.Do(func() {
		if s.phase == live && !s.turn.tap {
			s.noteActivity()
			s.emit(signaling.TextEntered, signaling.BargeIn())
		}
	})
	return nil
}

// StartTapToTalk opens a window in which the visitor speaks. Errors:
// invalid_state, mic_not_started, capability_disabled, disclosure_required.
func (s *Session) StartTapToTalk() error {
	if err := s.checkTyping(); err != nil {
		return err
	}
	snap := s.Snapshot()
	switch {
	case !snap.MicStarted:
		return fault.New(fault.MicNotStarted, "the microphone is not started")
	case !snap.Capabilities.TapToTalk:
		return fault.New(fault.CapabilityDisabled, "the agent is not in tap-to-talk mode")
	case snap.Gated:
		return disclosureRequired()
	}
	s.core.Work.Do(func() {
		if s.phase != live || s.turn.tap {
			return
		}
		s.turn.tap = true
		s.noteActivity()
		s.emit(signaling.TapToTalkStart, signaling.Empty{})
		s.core.Emit(event.TapToTalkStarted{})
	})
	return nil
}

// EndTapToTalk closes the window. The error is invalid_state if none is open.
func (s *Session) EndTapToTalk() error {
	if err := s.Live(); err != nil {
		return err
	}
	if !s.Snapshot().TapToTalkActive {
		return fault.New(fault.InvalidState, "no tap-to-talk window is open")
	}
	s.core.Work.Do(func() {
		if !s.turn.tap {
			return
		}
		s.closeTap()
		s.prompted()
		s.core.Stall.Arm()
		s.outbox.flush()
	})
	return nil
}

// closeTap closes the window that is open.
func (s *Session) closeTap() {
	s.turn.tap = false
	s.noteActivity()
	s.emit(signaling.TapToTalkEnd, signaling.Empty{})
	s.core.Emit(event.TapToTalkEnded{})
}

// resetTurn ends the turns of a server-side session that no longer exists: no answer
// can come.
func (s *Session) resetTurn() {
	s.core.Stall.Disarm()
	s.core.SetPending(false)
	s.turn.answered, s.turn.cut = false, ""
	s.turn.talkingSince = time.Time{}
	s.core.Turns.End("ended")
	s.turn.speaking = false
	s.turn.captions.finish()
	if s.turn.tap {
		s.turn.tap = false
		s.core.Emit(event.TapToTalkEnded{})
	}
}

// prompted records that the visitor has asked something.
func (s *Session) prompted() {
	s.turn.answered = false
	s.core.SetPending(true)
}

// awaits records a sign that the brain prepares an answer. After the first output of a turn
// it says nothing new: the user's transcript and the last think segment may come that late.
func (s *Session) awaits() {
	if !s.turn.answered {
		s.core.SetPending(true)
	}
}

// answers records that the utterance speechID, a part of the answer, has begun.
func (s *Session) answers(speechID string) {
	if !s.cuts(speechID) {
		s.turn.answered = true
		s.core.SetPending(false)
	}
}

// over records that no more of the answer in the utterance speechID will come.
func (s *Session) over(speechID string) {
	if !s.cuts(speechID) {
		s.turn.answered = false
		s.core.SetPending(false)
	}
}

// cuts reports whether the newest typed text cuts the utterance speechID, so that its
// events are not about the answer to that text.
func (s *Session) cuts(speechID string) bool { return s.turn.cut != "" && s.turn.cut == speechID }

// sendKickoff queues the first user turn, once in the life of the session,
// after the opening turn and the disclosure (protocol §7.6).
func (s *Session) sendKickoff() {
	k := s.turn.kickoff
	if k == nil || k.Sent || s.turn.kickoffTaken || s.turn.kickoffHeld || s.gated() || s.lifecycle.paused {
		return
	}
	t := &waitingText{}
	s.turn.kickoffTaken, s.turn.kickoffText = true, t
	ctx := s.core.Life
	s.core.Spawn(func() {
		text, err := s.guard(ctx, k.Text, "speak")
		s.core.Work.Post(func() {
			if s.turn.kickoffText != t {
				return // the session ended, or HoldKickoff withdrew the kickoff
			}
			*t = waitingText{text: text, hidden: !k.Echo, done: func(sent bool) {
				s.turn.kickoffText = nil
				if sent {
					s.kickoffSent(text)
				}
			}}
			if err == nil {
				err = s.countTurn(t)
			}
			if err != nil {
				s.turn.kickoffText = nil
				s.core.Warn(fault.KickoffFailed, err.Error())
				return
			}
			s.outbox.addFirst(t)
		})
	})
}

// HoldKickoff holds the kickoff back, or allows it again, and reports whether the kickoff
// is used up: it was sent, was refused, or there is none. Thereby a conversation that moves
// to another session sends its kickoff once. HoldKickoff blocks until it has run on the
// session's queue, so that the result stays true.
func (s *Session) HoldKickoff(hold bool) (used bool) {
	s.core.Work.Call(func() {
		s.turn.kickoffHeld = hold
		if t := s.turn.kickoffText; t != nil && hold {
			s.outbox.withdraw(t)
			s.turn.kickoffTaken, s.turn.kickoffText = false, nil
		}
		if !hold && s.phase == live {
			s.sendKickoff()
		}
		k := s.turn.kickoff
		used = k == nil || k.Sent || s.turn.kickoffTaken && s.turn.kickoffText == nil
	})
	return used
}

// kickoffSent records that the kickoff was sent, so that it is never sent again.
func (s *Session) kickoffSent(text string) {
	sent := *s.turn.kickoff
	sent.Sent = true
	s.turn.kickoff = &sent
	if !sent.Echo {
		s.turn.echo = text
	}
}

// cutEcho removes the kickoff from the first user transcript
// (protocol §7.6).
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
	return strings.TrimSpace(strings.TrimSpace(before) + "\n" + strings.TrimSpace(after))
}

// Answer is what the agent said to a typed turn.
type Answer struct {
	// Text is the text that was really spoken, shorter than the answer if that was
	// interrupted.
	Text string
	event.Utterance
}

// asked is the place of a typed turn among the events.
type asked struct{}

func (asked) Name() string { return "" }

// Ask sends text as one user turn, as [Session.Speak] does, and waits until the agent has
// spoken its next utterance after it. An answer without speech has none, so that ctx should
// have a deadline.
//
// Errors: those of Speak; the error with which the session fails meanwhile; network_error
// for a turn that may be lost; invalid_state when the session ends first; aborted or timeout
// at the end of ctx.
func (s *Session) Ask(ctx context.Context, text string) (Answer, error) {
	events := s.core.Subscribe()
	defer events.Stop()
	sent, err := s.start(ctx, text, func() { events.Add(asked{}) })()
	if err != nil {
		return Answer{}, err
	}
	if !sent {
		return Answer{}, endedFirst()
	}
	begun, after := map[string]bool{}, false
	for {
		e, ok := events.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return Answer{}, session.EndOf(ctx)
		case !ok:
			return Answer{}, endedFirst()
		}
		switch e := e.(type) {
		case asked:
			after = true
		case event.TurnStarted:
			if after && e.SpeechID != nil {
				begun[*e.SpeechID] = true
			}
		case event.AvatarStopTalking:
			if begun[e.SpeechID] {
				return Answer(e), nil
			}
		case event.TurnUnconfirmed:
			if after && strings.Contains(e.Text, text) {
				return Answer{}, fault.New(fault.NetworkError, "the turn may be lost: the service has not confirmed it")
			}
		case event.Failed:
			return Answer{}, e.Error
		case event.Ended:
			return Answer{}, endedFirst()
		case StateChanged:
			if e.State == Disconnected {
				return Answer{}, endedFirst()
			}
		}
	}
}

func endedFirst() *fault.Error {
	return fault.New(fault.InvalidState, "the session ended first; connect again and repeat the text")
}
