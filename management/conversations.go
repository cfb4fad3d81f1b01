package management

import (
	"context"
	"iter"
	"strings"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// Conversations has turns in text from a server (service.md, "Converse and status"). The
// context of each call must have a token of the user who speaks ([WithToken]): an admin's
// own token has no agent.
type Conversations struct{ c *Client }

// The types of a turn in text.
type (
	// ConverseRequest is one turn of a user.
	ConverseRequest = converse.Request
	// ConverseSegment is one piece of an answer.
	ConverseSegment = converse.Segment
	// AssistantStatus says whether the agent has an avatar and the token a user.
	AssistantStatus = visitor.Status
)

// SendOptions changes [Conversations.Send].
type SendOptions struct {
	// ReturnErrors returns error segments in the turn's Errors instead of failing.
	ReturnErrors bool
	// RecoverFromSpiral asks once more, in the same thread, when the agent has called tools
	// again and again and said nothing. The second message has [SpiralRecoveryPrefix] in
	// front of the first one.
	RecoverFromSpiral bool
}

// SpiralRecoveryPrefix is what the agent is told when it is asked again.
const SpiralRecoveryPrefix = "Answer this in words only, and call no tool: "

// Reply is an answer as a whole.
type Reply struct {
	converse.Turn
	// SpiralRecovered reports that this is the answer to the second question, after which
	// FirstAttempt is set.
	SpiralRecovered bool           `json:"spiralRecovered,omitempty"`
	FirstAttempt    *converse.Turn `json:"firstAttempt,omitempty"`
}

const (
	conversePath = "/assistant/converse"
	statusPath   = "/assistant/status"
)

// client returns what sends turns with the token of ctx. It has no time limit; ctx ends it.
func (v Conversations) client(ctx context.Context) (converse.Client, error) {
	token, err := talker(ctx, conversePath)
	if err != nil {
		return converse.Client{}, err
	}
	base, err := v.c.addresses.Base(appinit.Genie)
	return converse.Client{HTTPClient: fetch.As(v.c.fetch), URL: base, Token: token.KS(), OnResponse: v.c.onResponse}, err
}

// talker returns the token of ctx, which must be able to speak.
func talker(ctx context.Context, path string) (Token, error) {
	token, given := ctx.Value(tokenKey{}).(Token)
	switch {
	case !given:
		return token, badRequest("this call needs the token of the user who speaks; pass it with WithToken")
	case token.Kind == AdminToken:
		return token, fault.New(fault.WrongTokenScope, "this call needs a conversation or agent token; it has an admin token").At(path)
	}
	return token, nil
}

// Stream sends a message and yields every segment of the answer as it arrives, error
// segments too. Nothing is sent before the loop begins; leaving the loop ends the turn. It
// is not repeated after a failure. Errors: bad_request without a token in ctx or for a
// blank message, validation_error for a bad force_experience or variable,
// client_variables_disabled, wrong_token_scope for an admin token.
func (v Conversations) Stream(ctx context.Context, r ConverseRequest) iter.Seq2[ConverseSegment, error] {
	return func(yield func(ConverseSegment, error) bool) {
		client, err := v.client(ctx)
		if err != nil {
			yield(ConverseSegment{}, err)
			return
		}
		for segment, err := range client.Stream(ctx, r) {
			if !yield(segment, err) {
				return
			}
		}
	}
}

// Send sends a message and returns the whole answer. Errors are those of Stream, and
// thread_access_denied or stream_error for an error segment; the reply then has what
// arrived before it.
func (v Conversations) Send(ctx context.Context, r ConverseRequest, o SendOptions) (Reply, error) {
	client, err := v.client(ctx)
	if err != nil {
		return Reply{}, err
	}
	on := converse.Throw
	if o.ReturnErrors {
		on = converse.Return
	}
	first, err := client.Turn(ctx, r, on)
	if err != nil || !o.RecoverFromSpiral || !first.SpiralStopped || strings.TrimSpace(first.Text) != "" {
		return Reply{Turn: first}, err
	}
	r.UserMessage = SpiralRecoveryPrefix + r.UserMessage
	if first.ThreadID != "" {
		r.ThreadID = first.ThreadID
	}
	second, err := client.Turn(ctx, r, on)
	return Reply{Turn: second, SpiralRecovered: err == nil, FirstAttempt: &first}, err
}

// Status returns what the service says of the token's agent and user. Errors: bad_request
// without a token in ctx, wrong_token_scope.
func (v Conversations) Status(ctx context.Context) (AssistantStatus, error) {
	var status AssistantStatus
	token, err := talker(ctx, statusPath)
	if err != nil {
		return status, err
	}
	base, err := v.c.addresses.Base(appinit.Genie)
	if err != nil {
		return status, err
	}
	err = v.c.call(ctx, &fetch.Request{
		Method: "GET", URL: base + statusPath, Header: fetch.Header{"authorization": "KS " + token.KS()},
	}, &status)
	return status, err
}

// Converse mints a token and yields the answer to one message (management-api.md, E.4). The
// token is an agent's if in has an AgentID, else a conversation's. Errors are those of
// [Tokens.Agent], [Tokens.Conversation] and [Conversations.Stream].
func (c *Client) Converse(ctx context.Context, in TokenInput, r ConverseRequest) iter.Seq2[ConverseSegment, error] {
	return func(yield func(ConverseSegment, error) bool) {
		ctx, err := c.speaking(ctx, in, r)
		if err != nil {
			yield(ConverseSegment{}, err)
			return
		}
		c.Conversations.Stream(ctx, r)(yield)
	}
}

// ConverseOnce is Converse for the whole answer, as [Conversations.Send] returns it.
func (c *Client) ConverseOnce(ctx context.Context, in TokenInput, r ConverseRequest, o SendOptions) (Reply, error) {
	ctx, err := c.speaking(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	return c.Conversations.Send(ctx, r, o)
}

// speaking returns a context with a token for the turn, which is checked first.
func (c *Client) speaking(ctx context.Context, in TokenInput, r ConverseRequest) (context.Context, error) {
	if err := r.Check(); err != nil {
		return ctx, err
	}
	mint := c.Tokens.Conversation
	if in.AgentID != "" {
		mint = c.Tokens.Agent
	}
	token, err := mint(ctx, in)
	return WithToken(ctx, token), err
}
