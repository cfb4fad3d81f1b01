package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

const (
	// maxText bounds what a user says in one turn, in characters (choice A16).
	maxText = 8000
	// maxWaiting bounds the questions that wait in one session, against a client that sends faster than an agent answers.
	maxWaiting = 16
)

// errTooLong refuses a longer text.
var errTooLong = fmt.Errorf("the text is too long: at most %d characters; send it in parts", maxText)

// experience and the fast model are forced on live sessions, whatever a client
// requests (protocol §3.2).
const experience = "avatar_only"

// rememberTimeout bounds writing to the thread after the session may be gone.
const rememberTimeout = 5 * time.Second

// attentive reports whether input of the user is accepted: not before the approval
// and not while paused (protocol §3.5, choice F5).
func (s *Session) attentive() bool {
	return s.approved && !s.paused && !s.released
}

// userSaid handles a finished line of the user, typed or spoken, with the receipts of
// what was typed. It returns false if the line is dropped.
func (s *Session) userSaid(by trigger, text string, receipts ...*receipt) bool {
	if !s.attentive() {
		return false
	}
	s.userActive()
	p := s.active
	switch {
	case p == nil:
	case p.by.uninterruptible():
		s.log.Debug("input during an uninterruptible turn dropped", "speech", p.id)
		return false
	case p.thinking():
		if len(s.waiting) > 0 || !fit(p.asked, text) {
			return s.await(by, text, receipts)
		}
		s.merge(p, text, receipts)
		return true
	case !s.profile.InterruptionsEnabled:
		return s.await(by, text, receipts)
	default:
		s.interrupt(p)
	}
	if len(s.waiting) == 0 {
		s.begin(by, uuid.NewString(), text, text, receipts...)
		return true
	}
	ok := s.await(by, text, receipts)
	s.askWaiting()
	return ok
}

// waiting is a question that is asked after the present turn, because the agent can't be interrupted, or because the two are too long for
// one turn.
type waiting struct {
	by       trigger
	text     string
	receipts []*receipt
}

// await lets a line wait, as one question with the last that waits if that fits. It returns false if too much waits already.
func (s *Session) await(by trigger, text string, receipts []*receipt) bool {
	if n := len(s.waiting); n > 0 && fit(s.waiting[n-1].text, text) {
		last := &s.waiting[n-1]
		last.text = joinLines(last.text, text)
		last.receipts = append(last.receipts, receipts...)
		return true
	}
	if len(s.waiting) == maxWaiting {
		s.log.Warn("input dropped: too much waits for the agent")
		return false
	}
	s.waiting = append(s.waiting, waiting{by, text, receipts})
	return true
}

// askWaiting begins the turn of the question that has waited longest.
func (s *Session) askWaiting() {
	next := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.begin(next.by, uuid.NewString(), next.text, next.text, next.receipts...)
}

func (s *Session) dropWaiting() {
	for _, w := range s.waiting {
		s.abandon(w.receipts)
	}
	s.waiting = nil
}

// begin starts a turn about asked; see [Session.ask] for said.
func (s *Session) begin(by trigger, turnID, asked, said string, receipts ...*receipt) {
	p := s.newSpeech(by, asked)
	p.receipts = receipts
	s.ask(p, turnID, said, true)
}

// merge asks the brain again, with what the user added: the same turn under a new
// speechId (protocol §3.6, choice B13). In the thread the longer question
// replaces the shorter one.
func (s *Session) merge(p *speech, added string, receipts []*receipt) {
	s.drop(p, outcome{})
	longer := s.newSpeech(p.by, joinLines(p.asked, added))
	longer.replaces = p
	longer.screen, longer.camera = p.screen, p.camera
	longer.receipts = append(p.receipts, receipts...)
	p.receipts = nil
	s.ask(longer, p.turnID, added, false)
}

// ask starts the brain on p.asked. said is the user's last line: shorter than p.asked
// after a merge, and empty when the user did not speak.
func (s *Session) ask(p *speech, turnID, said string, isNew bool) {
	p.turnID = turnID
	s.active = p
	s.idle.stop()
	s.debugState("PreparingAudio", "PreparingAnswer")
	s.debug(signaling.DebugLLMInput, signaling.LLMInput{
		UserInput: p.asked, FinalSegment: said, SpeechID: p.id, SegmentType: "final", IsFinal: true,
	})
	s.emit(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: p.id, TurnID: turnID, IsNewTurn: isNew})
	s.emit(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: said})
	s.spawn(s.asker(p))
}

// asker returns the function that runs a turn on its own goroutine: it calls the
// brain, and once it is known how much of the answer was played, it corrects the
// thread. The next turn waits for that: it must not see text that was not played.
func (s *Session) asker(p *speech) func() {
	before := s.stored
	s.stored = p.stored
	p.screen, p.camera = s.stills.screen.take(p.screen), s.stills.camera.take(p.camera)
	request := dialogue.TurnRequest{
		ThreadID: s.thread.ID, Text: p.asked, Context: s.dialogueContext(),
		Capabilities: s.context.Capabilities, Experience: experience,
		Trigger: p.cause, Screen: p.screen, Camera: p.camera,
		ClientTurns: idsOf(p.receipts),
		Stored:      func() { s.post(func() { s.settle(p.receipts) }) },
	}
	return func() {
		defer close(p.stored)
		<-before
		if p.replaces != nil {
			request.Replaces = p.replaces.question
		}
		p.question = request.Replaces
		var result dialogue.TurnResult
		turnErr := p.ctx.Err() // cut or merged before it began: the question is not stored
		if turnErr == nil && !fit("", p.asked) {
			turnErr = errTooLong
		}
		if turnErr == nil {
			result, turnErr = s.cfg.Dialogue.Turn(p.ctx, s.who, request, func(seg converse.Segment) error {
				s.post(func() { s.segment(p, seg) })
				return p.ctx.Err()
			})
			p.question = cmp.Or(result.QuestionID, p.question)
		}
		s.post(func() { s.answered(p, turnErr) })
		outcome := <-p.outcome
		if result.MessageID == "" || outcome.kept {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), rememberTimeout)
		defer cancel()
		if err := s.cfg.Dialogue.KeepSpoken(ctx, s.who, result.MessageID, outcome.spoken); err != nil {
			s.log.Warn("the thread could not be corrected", "err", err)
		}
	}
}

// outcome is how much of an answer is kept in the thread (protocol §7.8).
type outcome struct {
	kept   bool   // all of it: it was played to its end
	spoken string // otherwise, what was played
}

// segment forwards a segment of the brain to the client, and its spoken text to the
// voice.
func (s *Session) segment(p *speech, seg converse.Segment) {
	if p != s.active { // cut or merged meanwhile
		return
	}
	delta, err := json.Marshal(seg)
	if err != nil {
		s.log.Warn("a segment can't be sent", "err", err)
		return
	}
	s.send(p, closesTurn(seg), signaling.AgentRawText, signaling.RawText{SpeechID: p.id, TurnID: p.turnID, Delta: string(delta)})
	if seg.Type.Spoken() {
		p.add(p.split.add(seg.ContentString())...)
	}
	if seg.SegmentEnd || seg.Type == converse.Tool {
		// A tool may take a while: the text before it is voiced at once.
		p.add(p.split.flush())
	}
	s.step(p)
}

// closesTurn reports whether seg belongs to the end of an answer, after its
// first sound (protocol §7.5, row 12).
func closesTurn(seg converse.Segment) bool {
	switch seg.Type {
	case converse.Share, converse.WidgetPiece, converse.Thread:
		return true
	default:
		return seg.IsFinal
	}
}

// refusals are why a turn may end before its first segment. The client gets their texts.
var refusals = []error{errTooLong, dialogue.ErrNotStored, dialogue.ErrBusy, quota.ErrBusy, dialogue.ErrNoPermission}

// answered handles the end of the brain's work. A failure of the brain itself was
// already sent as a segment; err means a turn that was repeated, cancelled or refused,
// or a defect.
func (s *Session) answered(p *speech, err error) {
	s.abandon(p.receipts)
	if p != s.active {
		return
	}
	switch {
	case err == nil, errors.Is(err, context.Canceled):
	case errors.Is(err, store.ErrRepeated):
		s.log.Info("a repeated turn is dropped")
		defer s.typeAgain(p.receipts)
	default:
		s.log.Error("a turn was not answered", "err", err)
		for _, refusal := range refusals {
			if errors.Is(err, refusal) {
				s.segment(p, converse.Segment{
					Role: "assistant", Type: converse.Error, Content: refusal.Error(), IsFinal: true, ThreadID: s.thread.ID,
				})
			}
		}
	}
	p.answered = true
	p.add(p.split.flush())
	s.step(p)
}

// afterSpeech starts what follows an utterance that was played to its end.
func (s *Session) afterSpeech(p *speech) {
	switch {
	case p.by == byGoodbye:
		s.endConversation()
	case len(s.waiting) > 0:
		s.askWaiting()
	case len(s.pushed) > 0:
		s.proceed()
	default:
		s.watchIdle()
	}
}

// bargeIn cuts an utterance that may be cut, and does nothing when the agent is
// silent (protocol §7.8).
func (s *Session) bargeIn() {
	p := s.active
	if !s.attentive() || p == nil || p.by.uninterruptible() || p.thinking() || !s.profile.InterruptionsEnabled {
		return
	}
	s.interrupt(p)
}

// interrupt cuts p because the user speaks (protocol §7.8).
func (s *Session) interrupt(p *speech) {
	s.cut(p, func() { s.emit(signaling.AgentInterrupted, signaling.Empty{}) })
}

// cut ends p at once. The thread keeps only what was played (choice E17).
func (s *Session) cut(p *speech, announce func()) {
	spoken := p.spoken(time.Now())
	s.drop(p, outcome{spoken: spoken})
	s.silence()
	announce()
	if len(p.said) > 0 || p.silent {
		s.emit(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: spoken})
	}
	// agent_end_turn may have been held back, or not have come yet (choice B12).
	if p.turnID != "" && (!p.turnEnded || len(p.held) > 0) {
		s.emit(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: p.id, TurnID: p.turnID})
	}
	s.debugState("Idle", "Idle")
	s.watchIdle()
	s.proceedLater()
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// fit reports whether a and b, as the lines of one text, are no longer than a turn may be.
func fit(a, b string) bool { return utf8.RuneCountInString(joinLines(a, b)) <= maxText }

// truncate cuts text to the longest that a turn may have.
func truncate(text string) string {
	n := 0
	for i := range text {
		if n == maxText {
			return text[:i]
		}
		n++
	}
	return text
}
