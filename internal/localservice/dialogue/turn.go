package dialogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// MaxText is how long a user's turn may be, in characters.
const MaxText = 32_000

// historyLimit is how many messages of a thread, the last ones, a brain receives. The
// protocol sends the whole thread; the limit is for a thread that never ends.
const historyLimit = 400

// titleLength is how much of the first question becomes a thread's title, in
// characters.
const titleLength = 60

// turnUnit is how many bytes of a question count like a question.
const turnUnit = 1000

// turnWork is about how many milliseconds of the processor a turn takes.
const turnWork = 10

// saveTimeout bounds a write that is made even if the turn's context has ended.
const saveTimeout = 5 * time.Second

// ErrTooLong means that a user's text is longer than [MaxText].
var ErrTooLong = fmt.Errorf("text: at most %d characters", MaxText)

// TurnRequest is one turn of a user.
type TurnRequest struct {
	ThreadID string // "" begins a new thread
	Text     string
	Context  Context

	// MergeVars merges the variables into those stored with the thread, as a turn over
	// HTTP requires. A live session passes all of its variables each time
	// (local-service choice E10).
	MergeVars bool

	Capabilities map[string]string // what the client asks for
	Experience   string            // force_experience
	Trigger      string            // what began the turn, "" for the user's own words
	Screen       []byte            // still of a shared screen, nil for none
	Camera       []byte            // still of the user's camera, nil for none
	Wire         brain.Wire        // the stream of the reply, nil on a live session

	ClientTurns []string // the client's ids of the turns in Text
	// Replaces is the id of the question that this one replaces, "" for none: that
	// question and its answer leave the thread when this one is stored
	// (deleteFromHistory, protocol §7.8).
	Replaces string
	Stored   func() // called once the question is stored; may be nil
}

// TurnResult is the result of a turn.
type TurnResult struct {
	ThreadID   string
	QuestionID string // "" after an empty turn, as is MessageID
	MessageID  string // of the answer
	Text       string // everything that was spoken, also of an answer that was cut short
}

// Turn asks the brain and hands its answer to emit, segment by segment, from the
// calling goroutine. Turns of one thread run one after the other, in the order in
// which they were asked for.
//
// The first segment carries the ids of the thread and of the answer; the last one is a
// think or an error with isFinal. The answer is stored before the last segment is
// emitted, which is an error if it could not be stored. Until then an unfinished
// version of it is stored, at most a second old.
//
// A turn with variables for an agent that accepts none is empty: nothing is emitted or
// stored (protocol §10.3). So is a turn with an id of the client that the thread
// already has; it fails with [store.ErrRepeated]. A turn whose ctx ends stops at once,
// stores in the thread what was said so far, and returns the context's error. An
// aborted turn ends with a user-interruption and is not an error. When the brain fails,
// the client gets an error segment. A question that could not be stored fails with
// [ErrNotStored] before the first segment.
func (s *Service) Turn(ctx context.Context, who Caller, req TurnRequest, emit func(converse.Segment) error) (TurnResult, error) {
	var first time.Duration
	began := time.Now()
	result, err := s.turn(ctx, who, req, func(segment converse.Segment) error {
		first = cmp.Or(first, time.Since(began))
		return emit(segment)
	})
	s.cfg.Observe(req.Context.Avatar, first, time.Since(began), err)
	return result, err
}

func (s *Service) turn(ctx context.Context, who Caller, req TurnRequest, emit func(converse.Segment) error) (TurnResult, error) {
	if utf8.RuneCountInString(req.Text) > MaxText {
		return TurnResult{}, ErrTooLong
	}
	if len(req.Context.Vars) > 0 && !who.Agent.Profile.AllowClientVariables {
		s.cfg.Logger.Info("turn is empty: the agent takes no client variables", "agent", who.Agent.Name)
		return TurnResult{ThreadID: req.ThreadID}, nil
	}
	by := who.client(req.Context.From)
	if !s.counts.take(&who) || !s.turns.Take(by, 1+len(req.Text)/turnUnit) {
		return TurnResult{}, ErrBusy
	}
	if err := s.cfg.Work.Wait(ctx, by, turnWork); err != nil {
		return TurnResult{}, err
	}
	thread, err := s.Open(ctx, who, req.ThreadID, req.Context) // checks the owner before the turn is queued
	if err != nil {
		return TurnResult{}, err
	}
	req.ThreadID = thread.ID
	turnCtx, leave, err := s.enter(ctx, who.Scope(), req.ThreadID)
	if err != nil {
		return TurnResult{}, err
	}
	defer leave()
	return s.run(turnCtx, who, req, emit)
}

// run runs a turn; no other turn of its thread may run meanwhile.
func (s *Service) run(ctx context.Context, who Caller, req TurnRequest, emit func(converse.Segment) error) (TurnResult, error) {
	began := time.Now()
	question, thread, answerID, err := s.prepare(ctx, who, req)
	if err != nil {
		return TurnResult{}, err
	}
	asked := &store.Message{
		ID: uuid.NewString(), ThreadID: thread.ID, Role: store.Human, Parts: []store.Part{spokenPart(req.Text, false)},
	}
	out := &sink{
		ctx: ctx, service: s, emit: emit, began: began,
		threadID: thread.ID, messageID: answerID,
		who: who, vars: question.Vars, avatar: req.Context.Avatar, thinking: question.Capabilities.On(brain.ThinkProcess),
	}
	if err := s.addQuestion(ctx, asked, req); err != nil {
		return TurnResult{}, fmt.Errorf("store question: %w", notStored(err))
	}
	if req.Stored != nil {
		req.Stored()
	}
	out.draft = &draft{save: func() {
		if err := s.save(ctx, thread, asked.ID, out, true); err != nil {
			s.cfg.Logger.Warn("unfinished answer not stored", "thread", store.ThreadLabel(thread.ID), "error", err) // the final save reports errors to the client
		}
	}}
	defer out.draft.end()
	ending := watch(ctx)
	err = out.begin()
	if err == nil {
		err = s.ask(ctx, question, out)
	}
	if err == nil {
		err = s.settle(thread, req.Text, out)
	}
	stopped := ending()
	out.draft.end()
	saveErr := s.save(ctx, thread, asked.ID, out, false)
	if saveErr == nil {
		saveErr = s.saveTitle(ctx, who, thread, out)
	}
	if err == nil && saveErr != nil {
		s.cfg.Logger.Error("answer not stored", "thread", store.ThreadLabel(thread.ID), "error", saveErr)
		err, saveErr = &brain.Failure{Message: "The answer could not be stored."}, nil
	}
	result := TurnResult{ThreadID: thread.ID, QuestionID: asked.ID, MessageID: answerID, Text: out.text.String()}
	return result, errors.Join(s.finish(ctx, out, stopped, err), saveErr)
}

// addQuestion stores the question even if the turn ends meanwhile: otherwise texts that
// arrive faster than they can be stored would all be lost, because each ends the turn
// before it.
func (s *Service) addQuestion(ctx context.Context, asked *store.Message, req TurnRequest) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	return s.cfg.Store.AddQuestion(ctx, asked, req.ClientTurns, req.Replaces)
}

// ask calls the brain. A panic of the brain fails this turn only, not the other
// sessions in the process.
func (s *Service) ask(ctx context.Context, q *brain.Question, out *sink) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("brain panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return s.cfg.Brain.Answer(ctx, q, out)
}

// prepare returns the question for the brain, the thread, and the id of the answer.
func (s *Service) prepare(ctx context.Context, who Caller, req TurnRequest) (*brain.Question, store.Thread, string, error) {
	history, err := s.cfg.Store.History(ctx, req.ThreadID, historyLimit)
	if err != nil {
		return nil, store.Thread{}, "", fmt.Errorf("read history: %w", err)
	}
	thread, err := s.Open(ctx, who, req.ThreadID, req.Context)
	if err != nil {
		return nil, store.Thread{}, "", err
	}
	vars := req.Context.Vars
	if req.MergeVars {
		if vars, err = s.mergeVars(ctx, who, &thread, vars); err != nil {
			return nil, store.Thread{}, "", err
		}
	}
	state, err := s.cfg.Store.ThreadState(ctx, thread.ID)
	if err != nil {
		return nil, store.Thread{}, "", fmt.Errorf("read state: %w", err)
	}
	vars = merged(state.Vars, vars)
	answerID := uuid.NewString()
	isNew := true
	lines := make([]brain.Line, 0, len(history))
	for _, m := range history {
		if req.Replaces != "" && (m.ID == req.Replaces || m.ReplyTo == req.Replaces) {
			continue
		}
		isNew = isNew && m.Role != store.Human
		if text := m.Text(); text != "" {
			lines = append(lines, brain.Line{Agent: m.Role != store.Human && m.Role != store.System, System: m.Role == store.System, Text: text})
		}
	}
	vars = variables(who, thread, req.Context, withResults(vars, state.Started), req.Text, answerID, isNew)
	return &brain.Question{
		Text: req.Text, History: lines, Profile: s.withRemote(ctx, who, vars), Vars: vars,
		Capabilities: brain.Layer(who.Agent.Profile.Capabilities, req.Capabilities),
		Avatar:       req.Context.Avatar, Experience: req.Experience,
		Trigger: req.Trigger, Screen: req.Screen, Camera: req.Camera, Site: s.cfg.Site(), Wire: req.Wire,
		Started: state.Started, LoadedSkills: state.Skills, KeepSkill: func(name string) error { return s.keepSkill(ctx, thread.ID, name) },
	}, thread, answerID, nil
}

// mergeVars merges vars into the stored variables of the thread and stores the result.
func (s *Service) mergeVars(ctx context.Context, who Caller, t *store.Thread, vars map[string]any) (map[string]any, error) {
	if len(vars) == 0 {
		return t.Vars, nil
	}
	updated, err := s.cfg.Store.UpdateThread(ctx, who.Scope(), t.ID, func(t *store.Thread) error {
		t.Vars = merged(t.Vars, vars)
		return CheckVars(t.Vars)
	})
	if err == nil {
		*t = updated
	}
	return updated.Vars, notStored(err)
}

// settle sends the segments that end a successful answer, except the last one.
func (s *Service) settle(t store.Thread, text string, out *sink) error {
	if title := titleOf(text); title != "" && t.Title == "" && out.title == "" {
		if err := out.Title(title); err != nil {
			return err
		}
	}
	if !out.shared {
		return out.Share(true)
	}
	return out.close()
}

// save stores the answer so far in the thread, even if the turn's context has ended.
func (s *Service) save(ctx context.Context, t store.Thread, askedID string, out *sink, unfinished bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	m := store.Message{
		ID: out.messageID, ThreadID: t.ID, Role: store.AI, ReplyTo: askedID, Parts: out.stored(), Unfinished: unfinished,
	}
	if !unfinished {
		m.Followups = out.followups()
	}
	return stored(s.cfg.Store.AddMessage(ctx, &m))
}

// saveTitle gives the thread the title of the turn, if that has one.
func (s *Service) saveTitle(ctx context.Context, who Caller, t store.Thread, out *sink) error {
	if out.title == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	_, err := s.cfg.Store.UpdateThread(ctx, who.Scope(), t.ID, func(t *store.Thread) error {
		t.Title = out.title
		return nil
	})
	return stored(err)
}

func stored(err error) error {
	if errors.Is(err, store.ErrNotFound) { // the thread was deleted meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("store answer: %w", err)
	}
	return nil
}

// finish sends the last segment, which depends on how the turn ended. For a turn that
// was stopped, it logs when that was and how long the brain went on.
func (s *Service) finish(ctx context.Context, out *sink, stopped slog.Attr, err error) error {
	log := s.cfg.Logger.With("thread", store.ThreadLabel(out.threadID), "message", out.messageID,
		slog.Duration("took", time.Since(out.began)), "segments", out.sent)
	var failure *brain.Failure
	switch {
	case err == nil:
		log.Info("turn done")
		return out.end()
	case errors.Is(context.Cause(ctx), ErrAborted):
		log.Info("turn stopped", "reason", "aborted", stopped)
		out.ctx = context.WithoutCancel(ctx) // the client is still connected
		if err := out.block(converse.Segment{Type: converse.UserInterruption, Content: ""}); err != nil {
			return err
		}
		return out.end()
	case errors.Is(context.Cause(ctx), ErrClientGone):
		log.Info("turn stopped", "reason", "client gone", stopped)
		return ErrClientGone
	case ctx.Err() != nil:
		log.Info("turn stopped", "reason", "cancelled", stopped)
		return ctx.Err()
	case out.lost != nil: // a segment could not be sent, before the end of the connection was detected
		now := time.Now()
		log.Info("turn stopped", "reason", "client gone", stoppedAt(now, now))
		return out.lost
	case errors.As(err, &failure):
		log.Warn("turn failed", "error", failure.Message)
		return out.fail(failure.Message)
	default:
		log.Error("turn failed", "error", err)
		return out.fail("The agent could not answer.")
	}
}

// titleOf shortens a question to a title, at the end of a word.
func titleOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= titleLength {
		return text
	}
	cut := string([]rune(text)[:titleLength])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + "…"
}
