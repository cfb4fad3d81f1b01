package converse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// models are the values of [Request].ModelType (protocol §9.1).
var models = []string{"fast"}

// experiences are the values of [Request].ForceExperience (service.md, "Converse
// request").
var experiences = []string{"markdown", "summarization", "flashcards", "avatar_only"}

// Request is one turn in text (protocol §9.1). Fields with their zero value
// are not sent, except UserMessage and SSE.
type Request struct {
	// UserMessage is what the user says; not blank.
	UserMessage string `json:"userMessage"`
	// SSE asks for server-sent events; the default is NDJSON.
	SSE bool `json:"sse"`
	// ThreadID continues a thread; "" begins one.
	ThreadID string `json:"threadId,omitempty"`
	// ModelType is fast; with "" the service chooses.
	ModelType string `json:"model_type,omitempty"`
	// ForceExperience is a hint, not a promise: markdown, summarization, flashcards
	// or avatar_only.
	ForceExperience string `json:"force_experience,omitempty"`
	// RequestVars are the variables of the prompt: strings, numbers, booleans and
	// nil (protocol §10.1). The service merges them into the thread's variables.
	RequestVars map[string]any `json:"request_vars,omitempty"`
	// Capabilities override the agent's for this turn: on, off or disabled.
	Capabilities map[string]string `json:"capabilities,omitempty"`
}

// Check returns the error of a request that must not be sent: bad_request for a
// blank message or the state of a capability, unknown_capability for its name,
// validation_error for the model, the experience and the variables.
func (r Request) Check() error {
	switch {
	case strings.TrimSpace(r.UserMessage) == "":
		return fault.New(fault.BadRequest, "the message is empty")
	case r.ModelType != "" && !slices.Contains(models, r.ModelType):
		return fault.New(fault.ValidationError, "modelType must be one of "+strings.Join(models, ", "))
	case r.ForceExperience != "" && !slices.Contains(experiences, r.ForceExperience):
		return fault.New(fault.ValidationError, "forceExperience must be one of "+strings.Join(experiences, ", "))
	}
	if _, err := CheckVars(r.RequestVars); err != nil {
		return err
	}
	_, err := MergeCapabilities(nil, r.Capabilities)
	return err
}

// path is the route of a turn in text (protocol §9.1).
const path = "/assistant/converse"

// Client sends turns in text. It has no state: the caller sends the turns of one thread
// one after the other.
type Client struct {
	// HTTPClient does the requests of a native program. Default: connections that all such
	// clients share. They are closed after 30 seconds without a request.
	HTTPClient httpclient.Client
	// URL is the conversation host, without a path.
	URL string
	// Token is the conversation token. It is never printed.
	Token string
	// TraceContext is sent with the turn.
	TraceContext httpclient.TraceContext
	// OnResponse, if not nil, is called for every reply, before it is read.
	OnResponse func(httpclient.Response)
}

// shared does the requests of clients without HTTPClient. A Client is never closed, so that it
// can't own connections, and each turn would have to make those of its own.
var shared = sync.OnceValue(fetch.New)

// Open checks r, sends it and returns the reply as soon as it begins. The end of
// ctx aborts the turn at any moment.
//
// The error is a *fault.Error: those of [Request.Check]; the status map of
// protocol §9.7, with client_variables_disabled; the error inside a good
// reply that is one JSON object; server_error for a good reply without a body;
// aborted or timeout when ctx ended; network_error.
func (c Client) Open(ctx context.Context, r Request) (*Reply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := c.TraceContext.Check(); err != nil {
		return nil, err
	}
	body, err := fetch.JSON(r)
	if err != nil {
		return nil, err
	}
	request := &fetch.Request{
		Method: "POST",
		URL:    strings.TrimRight(c.URL, "/") + path,
		Header: fetch.Authorize(c.Token, c.TraceContext),
		Body:   body,
	}
	client := fetch.Client(shared())
	if c.HTTPClient != nil {
		client, _ = fetch.Open(c.HTTPClient) // nothing to close: its connections belong to the application
	}
	resp, err := fetch.Watch(client, c.OnResponse).Do(ctx, request)
	if err != nil {
		return nil, failed(err)
	}
	if !resp.OK() {
		return nil, fetch.Refusal(resp, request)
	}
	reply, err := newReply(resp, r.SSE)
	if err != nil {
		return nil, failed(err)
	}
	return reply, nil
}

// failed is the fault for an error of a fetch.Client or of a reply's body.
func failed(err error) *fault.Error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f = fault.From(err)
	default:
		f = fault.New(fault.NetworkError, "").Wrap(err)
	}
	if f.Instance == "" {
		f.At(path)
	}
	return f
}

// Stream does a turn and yields every segment of it, error segments too. An error of
// the request or of the reply ends the sequence, see [Client.Open] and [Reply.Next].
// Leaving the loop aborts the request.
func (c Client) Stream(ctx context.Context, r Request) iter.Seq2[Segment, error] {
	return Each(c.Batches(ctx, r))
}

// Batches is Stream for batches of segments: those that arrive together are yielded
// together, see [Reply.Batch].
func (c Client) Batches(ctx context.Context, r Request) iter.Seq2[[]Segment, error] {
	return func(yield func([]Segment, error) bool) {
		reply, err := c.Open(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer reply.Close()
		for {
			batch, err := reply.Batch()
			if err == io.EOF || !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

// Each yields what batches yields, one by one.
func Each(batches iter.Seq2[[]Segment, error]) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		for batch, err := range batches {
			if err != nil {
				yield(Segment{}, err)
				return
			}
			for i := range batch {
				if !yield(batch[i], nil) {
					return
				}
			}
		}
	}
}

// OnErrorSegment selects how error segments of a turn are handled
// (service.md, "Refusals with HTTP 200").
type OnErrorSegment string

// The ways to handle error segments. The first is the default; only sessions have
// warn.
const (
	Throw  OnErrorSegment = "throw"
	Return OnErrorSegment = "return"
	Warn   OnErrorSegment = "warn"
)

// Turn does a turn and returns it as a whole, within [TurnLimits]; a turn that exceeds
// one of them is stopped there, and the request aborted. Errors are those of [Client.Open],
// [Reply.Next] and, unless on is [Return], [RefusalOf]; the Turn then has what was
// received before the error.
func (c Client) Turn(ctx context.Context, r Request, on OnErrorSegment) (Turn, error) {
	if on != "" && on != Throw && on != Return {
		return Turn{}, fault.New(fault.BadRequest, "onErrorSegment must be throw or return")
	}
	collector := Collector{Limits: TurnLimits}
	for batch, err := range c.Batches(ctx, r) {
		if err != nil {
			return collector.Turn(), err
		}
		if slices.ContainsFunc(batch, func(s Segment) bool { return !collector.Add(s) }) {
			break
		}
	}
	collector.End()
	turn := collector.Turn()
	turn.Warnings = turn.warn(r)
	if on != Return {
		if f := RefusalOf(turn.Errors, turn); f != nil {
			return turn, f
		}
	}
	return turn, nil
}

// Format prints the host alone, whatever the verb: the token is secret.
func (c Client) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "brain at "+fault.Redact(c.URL))
}
