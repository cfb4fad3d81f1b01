package avatar

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// ToolCall is a client command of the brain (session-api A.1.5, toolCall).
type ToolCall struct {
	Name         string          `json:"name"`
	Args         json.RawMessage `json:"args"`
	Raw          string          `json:"raw"`
	ToolMetadata ToolMetadata    `json:"toolMetadata"`
	// FusedArgs are argument objects that came in the same piece and belong to
	// other tools.
	FusedArgs []json.RawMessage `json:"fusedArgs,omitempty"`
}

// ToolMetadata tells how a call is answered.
type ToolMetadata struct {
	ID              string `json:"id,omitempty"`
	WaitForResponse bool   `json:"waitForResponse"`
	Type            string `json:"type,omitempty"`
}

func toolCall(c converse.Call) ToolCall {
	return ToolCall{
		Name: c.Name, Args: c.Args, Raw: c.Raw, FusedArgs: c.Fused,
		ToolMetadata: ToolMetadata{ID: c.ID, WaitForResponse: c.Blocking, Type: c.Kind},
	}
}

// ToolHandler runs a client command. What it returns is reported locally as
// toolCallResult; the brain is answered with RespondToTool.
type ToolHandler func(ctx context.Context, call ToolCall) (any, error)

// toolAnswerLife is how long an answer may be given; toolAnswerLimit bounds the
// request that gives it (wire-protocol §8.7).
const (
	toolAnswerLife  = 10 * time.Minute
	toolAnswerLimit = 15 * time.Second
)

type toolState struct {
	dispatch converse.Dispatcher
	handlers map[string][]*toolHandler
	consents []*consentHandler
	asked    map[string]bool        // consent URLs of this turn
	waiting  map[string]pendingCall // by invocation id

	inTurn    int  // tool segments of this turn
	spiral    bool // toolSpiralDetected was emitted in this turn
	unheard   int  // tool segments since the visitor last perceived anything
	perceived bool // something was perceived in this turn
}

type toolHandler struct {
	run    ToolHandler
	schema converse.ArgsSchema
}

type consentHandler struct {
	run func(context.Context, OAuthRequired) (any, error)
}

type pendingCall struct {
	name  string
	since time.Time
}

func (t *toolState) newTurn() {
	t.dispatch.NewTurn()
	t.asked = nil
	t.inTurn, t.spiral, t.perceived = 0, false, false
}

// OnToolCall registers a handler for the tool called name and returns the
// function that removes it. Handlers of one name run in the order of their
// registration; of several schemas the newest counts.
func (s *Session) OnToolCall(name string, h ToolHandler, schema converse.ArgsSchema) (func(), error) {
	if strings.TrimSpace(name) == "" || h == nil {
		return nil, fault.New(fault.BadRequest, "a tool handler needs a name and a function")
	}
	handler := &toolHandler{run: h, schema: schema}
	s.work.do(func() {
		if s.tools.handlers == nil {
			s.tools.handlers = map[string][]*toolHandler{}
		}
		s.tools.handlers[name] = append(s.tools.handlers[name], handler)
	})
	return func() {
		s.work.post(func() {
			s.tools.handlers[name] = slices.DeleteFunc(slices.Clone(s.tools.handlers[name]), func(h *toolHandler) bool { return h == handler })
		})
	}, nil
}

// OnOAuthRequired registers a handler for consent requests.
func (s *Session) OnOAuthRequired(h func(context.Context, OAuthRequired) (any, error)) (func(), error) {
	if h == nil {
		return nil, fault.New(fault.BadRequest, "a consent handler needs a function")
	}
	handler := &consentHandler{h}
	s.work.do(func() { s.tools.consents = append(s.tools.consents, handler) })
	return func() {
		s.work.post(func() {
			s.tools.consents = slices.DeleteFunc(slices.Clone(s.tools.consents), func(h *consentHandler) bool { return h == handler })
		})
	}, nil
}

// toolSegment counts a tool segment and runs its call (wire-protocol §10.5).
func (s *Session) toolSegment(seg *converse.Segment) {
	s.countTool()
	call, ok := converse.ParseCall(seg)
	if ok && s.tools.dispatch.Call(call) {
		s.runTool(toolCall(call))
	}
}

// runTool reports call and runs its handlers (session-api O14).
func (s *Session) runTool(call ToolCall) {
	handlers := s.tools.handlers[call.Name]
	for i := len(handlers) - 1; i >= 0; i-- {
		if schema := handlers[i].schema; schema != nil {
			if errs := schema.Check(call.Args); len(errs) > 0 {
				s.emit(ToolCallInvalid{Call: call, Errors: errs})
				return
			}
			break
		}
	}
	if id := call.ToolMetadata.ID; id != "" && call.ToolMetadata.WaitForResponse {
		if s.tools.waiting == nil {
			s.tools.waiting = map[string]pendingCall{}
		}
		s.tools.waiting[id] = pendingCall{call.Name, time.Now()}
	}
	s.audit("tool.invoke", "allowed", call.Name)
	s.emit(ToolCalled{call})
	if len(handlers) == 0 {
		return
	}
	ctx := s.life.ctx
	s.spawn(func() {
		s.heard.call(func() {}) // the event comes before the handlers
		for _, h := range handlers {
			value, err := callHandler(func() (any, error) { return h.run(ctx, call) })
			if err == nil && value == nil {
				continue
			}
			s.work.post(func() {
				s.emit(ToolCallResult{Call: call, OK: err == nil, Value: value, Error: fault.From(err)})
			})
		}
	})
}

// callHandler runs an application's function; its panic is an error of the
// call, not of the session.
func callHandler(f func() (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.InternalError, "the handler panicked")
		}
	}()
	return f()
}

// consent handles a tool that needs the visitor's authorisation
// (wire-protocol §10.8).
func (s *Session) consent(seg *converse.Segment) {
	if seg.Metadata == nil || seg.Metadata.Subtype != "oauth_required" {
		return
	}
	var content struct {
		AuthURL string `json:"auth_url"`
	}
	if json.Unmarshal(seg.Content, &content) != nil || content.AuthURL == "" {
		content.AuthURL = seg.ContentString()
	}
	if content.AuthURL == "" || s.tools.asked[content.AuthURL] {
		return
	}
	if s.tools.asked == nil {
		s.tools.asked = map[string]bool{}
	}
	s.tools.asked[content.AuthURL] = true
	ask := OAuthRequired{AuthURL: content.AuthURL, ToolName: seg.Metadata.ToolName, ToolDisplayName: seg.Metadata.ToolDisplayName}
	s.emit(ask)
	ctx := s.life.ctx
	for _, h := range s.tools.consents {
		s.spawn(func() {
			s.heard.call(func() {}) // the event comes before the handlers
			value, err := callHandler(func() (any, error) { return h.run(ctx, ask) })
			s.work.post(func() {
				s.emit(OAuthRequiredResult{Result: ask, OK: err == nil, Value: value, Error: fault.From(err)})
			})
		})
	}
}

// ToolAnswer is the outcome of RespondToTool (wire-protocol §9.8).
type ToolAnswer struct {
	OK bool `json:"ok"`
	// Reason is unknown_or_stale, session_rebuilt, http_error, timeout or
	// network_error. After the last three the same answer may be given again.
	Reason string `json:"reason,omitempty"`
	Status int    `json:"status,omitempty"`
}

// RespondToTool answers a call that the brain waits for. response is an object.
// Errors: bad_request, invalid_state.
func (s *Session) RespondToTool(ctx context.Context, id string, response map[string]any) (ToolAnswer, error) {
	if err := s.live(); err != nil {
		return ToolAnswer{}, err
	}
	if id == "" || response == nil {
		return ToolAnswer{}, fault.New(fault.BadRequest, "a tool is answered with its id and an object")
	}
	type job struct {
		call  pendingCall
		link  *link
		token string
		known bool
	}
	j, err := ask(ctx, s, func(reply chan<- job) {
		call, known := s.tools.waiting[id]
		if known && time.Since(call.since) > toolAnswerLife {
			delete(s.tools.waiting, id)
			known = false
		}
		reply <- job{call, s.link, s.token, known}
	})
	if err != nil {
		return ToolAnswer{}, err
	}
	if !j.known {
		return ToolAnswer{Reason: "unknown_or_stale"}, nil
	}
	answer, err := s.postAnswer(ctx, j.token, j.call.name, id, response)
	if err != nil {
		return answer, err
	}
	return ask(ctx, s, func(reply chan<- ToolAnswer) {
		if s.link != j.link {
			answer = ToolAnswer{Reason: "session_rebuilt"}
		} else if answer.OK {
			delete(s.tools.waiting, id)
			s.audit("tool.ack", "allowed", j.call.name)
		}
		reply <- answer
	})
}

func (s *Session) postAnswer(ctx context.Context, token, name, id string, response map[string]any) (ToolAnswer, error) {
	body, err := fetch.JSON(map[string]any{
		"tool_name": name, "tool_id": id, "tool_invocation_id": id, "response": response,
	})
	if err != nil {
		return ToolAnswer{}, fault.New(fault.BadRequest, "the answer is no JSON").Because(err)
	}
	ctx, cancel := context.WithTimeout(ctx, toolAnswerLimit)
	defer cancel()
	res, err := s.deps.Fetch.Do(ctx, &fetch.Request{
		Method: "POST",
		URL:    *s.opts.GenieURL + "/assistant/tool_response",
		Header: fetch.Header{"Authorization": "KS " + token},
		Body:   body,
	})
	switch {
	case err == nil:
		res.Body.Close()
		if res.Status/100 != 2 {
			return ToolAnswer{Reason: "http_error", Status: res.Status}, nil
		}
		return ToolAnswer{OK: true}, nil
	case ctx.Err() != nil:
		return ToolAnswer{Reason: "timeout"}, nil
	default:
		return ToolAnswer{Reason: "network_error"}, nil
	}
}
