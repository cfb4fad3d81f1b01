package session

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// ToolHandler runs a client command. What it returns is reported locally as
// toolCallResult; only RespondToTool answers the brain. The context ends with the
// session, not with the turn, because a command may take longer than that.
type ToolHandler func(ctx context.Context, call event.ToolCall) (any, error)

// ConsentHandler reacts to a tool that needs the visitor's authorisation.
type ConsentHandler func(ctx context.Context, ask event.OAuthRequired) (any, error)

// CheckToolHandler returns bad_request if the handler can't be registered.
func CheckToolHandler(name string, h ToolHandler, schema converse.ArgsSchema) error {
	if strings.TrimSpace(name) == "" || h == nil {
		return fault.New(fault.BadRequest, "a tool handler needs a name and a function")
	}
	return schema.Valid()
}

// CheckConsentHandler returns bad_request if the handler can't be registered.
func CheckConsentHandler(h ConsentHandler) error {
	if h == nil {
		return fault.New(fault.BadRequest, "a consent handler needs a function")
	}
	return nil
}

// ToolAnswer is the outcome of RespondToTool (protocol §9.8).
type ToolAnswer struct {
	OK bool `json:"ok"`
	// Reason is unknown_or_stale, session_rebuilt, http_error, timeout or
	// network_error. After the last three the same answer may be sent again.
	Reason string `json:"reason,omitempty"`
	Status int    `json:"status,omitempty"`
}

// toolAnswerLife is how long after a call its answer is accepted; toolAnswerLimit
// bounds the request that sends the answer (protocol §8.7).
const (
	toolAnswerLife  = 10 * time.Minute
	toolAnswerLimit = 15 * time.Second
)

// maxCalls bounds the commands that a turn can run and the consents that it can
// request, so that a flood can't fill the memory.
const maxCalls = 1000

// Tools runs the client commands of the brain and sends it their answers
// (session §A.1.7, protocol §9.8 and §10.5 to §10.8). Its methods must be
// called on the session's queue, except Respond.
type Tools struct {
	core *Core

	dispatch converse.Dispatcher
	handlers map[string][]*toolHandler
	consents []*ConsentHandler
	asked    map[string]bool         // consent URLs of this turn
	waiting  map[string]*pendingCall // by invocation id
	inTurn   int                     // tool segments of this turn
	ran      int                     // calls of this turn
}

type toolHandler struct {
	run    ToolHandler
	schema converse.ArgsSchema
}

type pendingCall struct {
	name  string
	since time.Time
	taken bool // an answer is on its way
}

// NewTurn discards what belongs to the last turn.
func (t *Tools) NewTurn() {
	t.dispatch.NewTurn()
	t.asked = nil
	t.inTurn, t.ran = 0, 0
}

// NewSpeech discards what fused calls wait for: a new utterance began.
func (t *Tools) NewSpeech() { t.dispatch.NewSpeech() }

// Forget drops the calls that wait for an answer, which the service no longer takes.
func (t *Tools) Forget() { t.waiting = nil }

// without returns a copy of list without gone, because calls under way iterate over list.
func without[T comparable](list []T, gone T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(other T) bool { return other == gone })
}

// Segment counts a tool segment and runs its call.
func (t *Tools) Segment(seg *converse.Segment) {
	t.inTurn++
	if limit := *t.core.opts.ToolSpiralLimit; t.inTurn == limit { // once per turn
		t.core.Audit("tool.spiral_detected", "detected", "")
		t.core.Emit(event.ToolSpiralDetected{Count: t.inTurn, Limit: limit})
	}
	if call, ok := converse.ParseCall(seg); ok && t.ran < maxCalls && t.dispatch.Call(call) {
		t.Run(call)
	}
}

// Response returns the call to run if seg, a tool's result, names the tool of an argument
// object that was fused into another call (protocol §10.6).
func (t *Tools) Response(seg *converse.Segment) (converse.Call, bool) {
	if t.ran >= maxCalls {
		return converse.Call{}, false
	}
	return t.dispatch.Response(seg)
}

// CallOf returns a call in the form of the events.
func CallOf(c converse.Call) event.ToolCall {
	return event.ToolCall{
		Name: c.Name, Args: c.Args, Raw: c.Raw, FusedArgs: c.Fused,
		ToolMetadata: event.ToolMetadata{ID: c.ID, WaitForResponse: c.Blocking, Type: c.Kind},
	}
}

// Run reports c and runs its handlers (session §O14).
func (t *Tools) Run(c converse.Call) {
	t.ran++
	call := CallOf(c)
	handlers := t.handlers[call.Name]
	for _, h := range slices.Backward(handlers) {
		if h.schema == nil {
			continue
		}
		if errs := h.schema.Check(call.Args); len(errs) > 0 {
			t.core.Emit(event.ToolCallInvalid{Call: call, Errors: errs})
			return
		}
		break
	}
	if c.ID != "" && c.Blocking {
		t.wait(c)
	}
	t.core.Audit("tool.invoke", "allowed", call.Name)
	t.core.Emit(event.ToolCalled{ToolCall: call})
	times := t.core.Turns.called(call)
	if len(handlers) == 0 {
		return
	}
	ctx := t.core.Life
	t.core.Spawn(func() {
		t.core.WaitDelivered() // the event comes before the handlers
		for _, h := range handlers {
			if ctx.Err() != nil {
				return // the session ended
			}
			value, err := Guarded(func() (any, error) { return h.run(ctx, call) })
			at := time.Now()
			t.core.Work.Post(func() { times.returned = at })
			if err == nil && value == nil {
				continue
			}
			t.core.Work.Post(func() {
				if ctx.Err() == nil { // otherwise the session ended, and so have its events
					t.core.Emit(event.ToolCallResult{Call: call, OK: err == nil, Value: value, Error: handlerFault(call.Name, err)})
				}
			})
		}
	})
}

// handlerFault returns the error of a handler that failed: handler_failed, unless err
// has a code of its own.
func handlerFault(name string, err error) *fault.Error {
	f := fault.From(err)
	if f == nil || f.Code != fault.InternalError {
		return f
	}
	text := f.Detail
	if f.Cause != nil {
		text = f.Cause.Error()
	}
	return fault.New(fault.HandlerFailed, "the handler of "+name+" failed: "+text).Wrap(err)
}

// wait records that c may be answered, and removes calls whose answer is no longer
// accepted.
func (t *Tools) wait(c converse.Call) {
	if t.waiting == nil {
		t.waiting = map[string]*pendingCall{}
	}
	for id, call := range t.waiting {
		if time.Since(call.since) > toolAnswerLife {
			delete(t.waiting, id)
		}
	}
	t.waiting[c.ID] = &pendingCall{name: c.Name, since: time.Now()}
}

// Consent handles a tool that needs the visitor's authorisation, once per address
// and turn (protocol §10.8).
func (t *Tools) Consent(seg *converse.Segment) {
	consent, ok := converse.ParseConsent(seg)
	if !ok || t.asked[consent.AuthURL] || len(t.asked) == maxCalls {
		return
	}
	if t.asked == nil {
		t.asked = map[string]bool{}
	}
	t.asked[consent.AuthURL] = true
	ask := event.OAuthRequired(consent)
	t.core.Emit(ask)
	ctx := t.core.Life
	for _, h := range t.consents {
		t.core.Spawn(func() {
			t.core.WaitDelivered() // the event comes before the handlers
			if ctx.Err() != nil {
				return // the session ended
			}
			value, err := Guarded(func() (any, error) { return (*h)(ctx, ask) })
			t.core.Work.Post(func() {
				if ctx.Err() == nil {
					t.core.Emit(event.OAuthRequiredResult{Result: ask, OK: err == nil, Value: value, Error: handlerFault("oauthRequired", err)})
				}
			})
		})
	}
}

// Respond answers a call that the brain waits for. response is an object. The
// error is bad_request, or the end of ctx.
func (t *Tools) Respond(ctx context.Context, id string, response map[string]any) (ToolAnswer, error) {
	if id == "" || response == nil {
		return ToolAnswer{}, fault.New(fault.BadRequest, "respondToTool needs the id of the call and an object")
	}
	type job struct {
		call  *pendingCall // nil if it can't be answered
		token string
		place any
	}
	// The end of ctx must not come between this step and the last, which gives the call back.
	j, err := Ask(context.Background(), t.core, func(reply chan<- job) {
		j := job{token: t.core.Token, place: t.core.kind.Place()}
		if call := t.waiting[id]; call != nil && !call.taken && time.Since(call.since) <= toolAnswerLife {
			call.taken = true
			j.call = call
		}
		reply <- j
	})
	if err != nil {
		return ToolAnswer{}, err
	}
	if j.call == nil {
		return ToolAnswer{Reason: "unknown_or_stale"}, nil
	}
	defer t.core.Work.Post(func() { j.call.taken = false })
	answer, err := t.post(ctx, j.token, j.call.name, id, response)
	if err == nil && answer.Status == 401 {
		token, refused := t.core.Tokens.Fresh(ctx, j.token)
		switch {
		case refused == nil:
			answer, err = t.post(ctx, token, j.call.name, id, response)
		case ctx.Err() != nil:
			return ToolAnswer{}, refused
		}
	}
	if err != nil {
		return answer, err
	}
	// The service has the answer, so the end of ctx must not change the outcome.
	return Ask(context.Background(), t.core, func(reply chan<- ToolAnswer) {
		if t.core.kind.Place() != j.place {
			answer = ToolAnswer{Reason: "session_rebuilt"}
		} else if answer.OK {
			delete(t.waiting, id)
			t.core.Turns.answered(id)
			t.core.Audit("tool.ack", "allowed", j.call.name)
		}
		reply <- answer
	})
}

func (t *Tools) post(ctx context.Context, token, name, id string, response map[string]any) (ToolAnswer, error) {
	body, err := fetch.JSON(map[string]any{
		"tool_name": name, "tool_id": id, "tool_invocation_id": id, "response": response,
	})
	if err != nil {
		return ToolAnswer{}, fault.New(fault.BadRequest, "the response can't be converted to JSON").Wrap(err)
	}
	limited, cancel := context.WithTimeout(ctx, toolAnswerLimit)
	defer cancel()
	client, _ := fetch.Open(t.core.opts.HTTPClient) // the session closes it
	err = fetch.Attempt(limited, client, &fetch.Request{
		Method: "POST",
		URL:    *t.core.opts.GenieURL + "/assistant/tool_response",
		Header: fetch.Authorize(token, t.core.opts.TraceContext()),
		Body:   body,
	}, nil)
	if err == nil {
		return ToolAnswer{OK: true}, nil
	}
	status := fault.From(err).Status
	switch {
	case ctx.Err() != nil:
		return ToolAnswer{}, EndOf(ctx)
	case limited.Err() != nil:
		return ToolAnswer{Reason: "timeout"}, nil
	case status != 0:
		return ToolAnswer{Reason: "http_error", Status: status}, nil
	default:
		return ToolAnswer{Reason: "network_error"}, nil
	}
}

// Merged returns a new map of vars, overridden by more. vars does not change, because
// requests under way use it (protocol §10.2).
func Merged[V any](vars, more map[string]V) map[string]V {
	merged := make(map[string]V, len(vars)+len(more))
	maps.Copy(merged, vars)
	maps.Copy(merged, more)
	return merged
}

// pageContext is the variable of a dynamic prompt (protocol §10.4).
const pageContext = "page_context"

// dynamicPrompt returns the variable that describes to the brain what the visitor sees;
// nil data clears it. The error is bad_request.
func dynamicPrompt(data any) (map[string]any, error) {
	if object, ok := data.(map[string]any); data == nil || ok && object == nil {
		return map[string]any{pageContext: nil}, nil
	}
	b, err := json.Marshal(converse.Scrub(data))
	if err != nil {
		return nil, fault.New(fault.BadRequest, "the data must be convertible to JSON").Wrap(err)
	}
	return map[string]any{pageContext: string(b)}, nil
}

// PartnerOf returns the partner id in a token, "" if that is not readable
// (protocol §1.3). partnerOf of js/src/core/options.ts does the same before the program
// is loaded.
func PartnerOf(token string) string {
	text, _, _ := strings.Cut(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	}
	if err != nil {
		return ""
	}
	parts := strings.SplitN(string(b), "|", 3)
	if len(parts) < 3 || parts[0] != "v2" || strings.Trim(parts[1], "0123456789") != "" {
		return ""
	}
	return parts[1]
}

// RandomID returns n random characters of [a-z0-9]. They distinguish sessions and turns
// and grant no access, so that math/rand is enough; crypto/rand would add 44 kB to the
// page after brotli.
func RandomID(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rand.IntN(len(alphabet))]
	}
	return string(b)
}

// Stamp returns t as RFC 3339 in UTC, with milliseconds. It does not use the formats of
// package time, which would make up a fiftieth of what a small page downloads.
func Stamp(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	number := func(n, digits int) string {
		s := strconv.Itoa(n)
		return strings.Repeat("0", max(0, digits-len(s))) + s
	}
	return number(year, 4) + "-" + number(int(month), 2) + "-" + number(day, 2) + "T" +
		number(hour, 2) + ":" + number(minute, 2) + ":" + number(second, 2) + "." +
		number(t.Nanosecond()/int(time.Millisecond), 3) + "Z"
}
