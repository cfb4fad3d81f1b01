package live

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// maxPushed bounds the lines that wait in one session, against a server that pushes
// faster than an agent speaks.
const maxPushed = 16

// pushSilence is how long after an interruption, or while the user speaks, the agent waits
// for what the user wants to say, before it goes on with what waits.
const pushSilence = 3 * time.Second

// pushed is a line of the agent that a partner's server has put into the thread.
type pushed struct{ messageID, text string }

// Push passes a line that is already in a thread to the live sessions of the thread,
// which say it as soon as neither side speaks. It reports whether a session accepted
// it.
func (h *Hub) Push(ctx context.Context, threadID, messageID, text string) bool {
	return h.inThread(ctx, threadID, func(s *Session) bool {
		if len(s.pushed) == maxPushed {
			return false
		}
		s.pushed = append(s.pushed, pushed{messageID, text})
		s.proceed()
		return true
	})
}

// Attached reports whether a live session has the thread.
func (h *Hub) Attached(ctx context.Context, threadID string) bool {
	return h.inThread(ctx, threadID, func(*Session) bool { return true })
}

// inThread runs f on each session of a thread and reports whether it returned true for
// one of them.
func (h *Hub) inThread(ctx context.Context, threadID string, f func(*Session) bool) bool {
	any := false
	for _, s := range h.running() {
		var ok bool
		err := s.do(ctx, func() error {
			ok = s.joined && s.thread.ID == threadID && f(s)
			return nil
		})
		any = any || err == nil && ok
	}
	return any
}

// proceed begins what waits until neither side speaks: what the user said first, then what was pushed.
func (s *Session) proceed() {
	switch {
	case s.active != nil || !s.attentive() || !s.opened || len(s.waiting)+len(s.pushed) == 0:
	case s.userSpeaks():
		s.proceedLater()
	case len(s.waiting) > 0:
		s.askWaiting()
	default:
		s.sayPushed()
	}
}

// proceedLater calls proceed after a while, unless a turn begins.
func (s *Session) proceedLater() {
	s.proceeding.stop()
	s.proceeding = s.after(pushSilence, s.proceed)
}

// sayPushed says the next line that was pushed. It has the events of an answer, without
// those of a user's turn (protocol §7.2, §7.5).
func (s *Session) sayPushed() {
	next := s.pushed[0]
	s.pushed = s.pushed[1:]
	s.idle.stop()
	p := s.newSpeech(byPush, "")
	p.turnID = uuid.NewString()
	s.active = p
	s.emit(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: p.id, TurnID: p.turnID, IsNewTurn: true})
	for i, seg := range []converse.Segment{
		{Type: converse.Think, Content: "", SegmentStart: true, ThreadID: s.thread.ID, MessageID: next.messageID},
		{Type: converse.Avatar, Content: next.text, SegmentStart: true, SegmentEnd: true},
		{Type: converse.Think, Content: "", IsFinal: true},
	} {
		seg.Role, seg.SegmentNumber = "assistant", i
		s.segment(p, seg)
	}
	s.answered(p, nil)
}
