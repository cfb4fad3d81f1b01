package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// experiences are the values of force_experience (protocol §9.1).
var experiences = []string{"markdown", "summarization", "flashcards", "avatar_only"}

// converseRequest is the body of converse (protocol §9.1).
type converseRequest struct {
	UserMessage     *string           `json:"userMessage"`
	ThreadID        *string           `json:"threadId"`
	SSE             bool              `json:"sse"`
	ModelType       *string           `json:"model_type"`
	ForceExperience *string           `json:"force_experience"`
	RequestVars     map[string]any    `json:"request_vars"`
	Capabilities    map[string]string `json:"capabilities"`
}

func (b *converseRequest) check() error {
	switch {
	case b.UserMessage == nil:
		return missing("userMessage")
	case strings.TrimSpace(*b.UserMessage) == "":
		return invalid("string_too_short", "String should have at least 1 character", "userMessage")
	case b.ModelType != nil && *b.ModelType != "fast":
		return invalid("literal_error", "Input should be 'fast'", "model_type")
	case b.ForceExperience != nil && !slices.Contains(experiences, *b.ForceExperience):
		return oneOf(*b.ForceExperience, experiences, "force_experience")
	}
	for name, state := range b.Capabilities {
		if !brain.ValidState(state) {
			return invalid("enum", "Input should be on, off or disabled", "capabilities", name)
		}
	}
	if err := dialogue.CheckVars(b.RequestVars); err != nil {
		return invalid("value_error", err.Error(), "request_vars")
	}
	return nil
}

// converse streams one turn, a segment a line.
func (s *server) converse(c *call, body converseRequest) (any, error) {
	if err := body.check(); err != nil {
		return nil, err
	}
	who, err := s.Dialogue.Caller(c.ctx(), c.claims)
	if err != nil {
		return nil, err
	}
	who.KS = tokenOf(c.r)
	request := dialogue.TurnRequest{
		Text:         *body.UserMessage,
		Context:      dialogue.Context{Vars: body.RequestVars, From: remoteAddr(c.r)},
		MergeVars:    true,
		Capabilities: body.Capabilities,
	}
	if body.ThreadID != nil {
		request.ThreadID = *body.ThreadID
	}
	if body.ForceExperience != nil {
		request.Experience = *body.ForceExperience
	}
	request.Context.Avatar = brain.Layer(who.Agent.Profile.Capabilities, body.Capabilities).On("avatar")

	out := s.newStream(c.w, body.SSE)
	err = s.pump(c.ctx(), out, func(ctx context.Context, do func(act) error) error {
		request.Wire = &wire{ctx, do}
		_, err := s.Dialogue.Turn(ctx, who, request, func(seg converse.Segment) error {
			return do(func(out *stream) error { return out.write(seg) })
		})
		return err
	})
	if errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // breaks the connection
	}
	return streamed{}, s.endStream(out, err)
}

// pump runs a turn and writes its segments to the stream. The turn runs in a
// goroutine of its own, so that this one, the only writer, can also send
// keepalives; it returns when the turn is over. The turn's context is cancelled when
// the client disconnects.
func (s *server) pump(client context.Context, out *stream, turn func(context.Context, func(act) error) error) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(client))
	defer cancel(nil)
	defer context.AfterFunc(client, func() { cancel(dialogue.ErrClientGone) })()
	acts := make(chan act)
	done := make(chan error, 1)
	go func() {
		done <- turn(ctx, func(a act) error {
			select {
			case acts <- a:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	silence := time.NewTimer(keepalive)
	defer silence.Stop()
	for {
		var err error
		select {
		case a := <-acts:
			err = a(out)
		case <-silence.C:
			err = out.write(converse.Segment{Role: "assistant", Type: converse.Keepalive, Content: ""})
		case err := <-done:
			return err
		}
		if err != nil { // a script cuts the stream, or the client is gone
			reason := dialogue.ErrClientGone
			if errors.Is(err, errCut) {
				reason = errCut
			}
			cancel(reason)
			return errors.Join(err, <-done)
		}
		silence.Reset(keepalive)
	}
}

// endStream ends the reply. An error before the first byte can still set the status,
// except that a thread of another user is always reported by an error segment
// (protocol §9.6).
func (s *server) endStream(out *stream, err error) error {
	switch {
	case errors.Is(err, dialogue.ErrNoPermission):
		err = out.refuse(dialogue.ErrNoPermission)
	case out.begun && errors.Is(err, dialogue.ErrNotStored): // with a keepalive
		s.Logger.Error("a turn in a stream failed", "error", err)
		err = out.refuse(dialogue.ErrNotStored)
	case out.begun && errors.Is(err, dialogue.ErrTooManyVars):
		err = out.refuse(dialogue.ErrTooManyVars)
	case errors.Is(err, dialogue.ErrTooLong):
		return invalid("string_too_long", err.Error(), "userMessage")
	}
	if err != nil && out.begun {
		s.Logger.Debug("converse stream broken off", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	return out.end()
}

// stream frames segments as NDJSON or as server-sent events (protocol §9.3,
// §9.4), each flushed at once.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	sse     bool
	begun   bool
}

func (s *server) newStream(w http.ResponseWriter, sse bool) *stream {
	return &stream{w: w, control: http.NewResponseController(w), stall: s.Stall, sse: sse}
}

func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "application/x-ndjson; charset=utf-8")
	if s.sse {
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // nginx would keep the segments back until it has 4 KiB, or all of them
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) write(seg converse.Segment) error {
	line, err := json.Marshal(seg)
	if err != nil {
		return err
	}
	if s.sse {
		return s.send("data: " + string(line) + "\n\n")
	}
	return s.send(string(line) + "\n")
}

// refuse ends a turn with an error segment.
func (s *stream) refuse(why error) error {
	return s.write(converse.Segment{Role: "assistant", Type: converse.Error, Content: why.Error(), IsFinal: true})
}

func (s *stream) send(text string) error {
	s.begin()
	// The server's deadline is for a whole reply; that of a stream moves with its progress.
	// A ResponseWriter that has no deadlines is not that of a real connection.
	s.control.SetWriteDeadline(time.Now().Add(s.stall)) //nolint:errcheck // see above
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// end completes the reply, even an empty one.
func (s *stream) end() error {
	s.begin()
	if s.sse {
		if err := s.send("data: [DONE]\n\n"); err != nil {
			return nil //nolint:nilerr // the client is gone, after it had received everything
		}
	}
	return nil
}
