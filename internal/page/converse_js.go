//go:build js && wasm

package page

import (
	"context"
	"iter"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// access is who calls the service without a session, and where it is.
type access struct {
	visitor.Options
	OnResponse js.Value `json:"onResponse"`
}

// options returns what a visitor's client takes of it.
func (a *access) options() visitor.Options {
	o := a.Options
	o.Warn, o.Fetch, o.OnResponse = warn, fetch.New(), Hook[fetch.Report](a.OnResponse)
	return o
}

// warned are the warnings that the console has: the hosts of a page are few, its
// calls may be many.
var warned = map[string]bool{}

// warn warns on the console, once in a page: a single call has no logger.
func warn(w *fault.Error) {
	if text := w.Message(); !warned[text] {
		warned[text] = true
		jsbridge.Log("warn", "agentruntime: "+text)
	}
}

// talking returns the error of a kind of token that must not talk.
func talking(kind appinit.TokenKind) error {
	switch {
	case !kind.Known():
		return fault.New(fault.BadRequest, "kind must be widget, conversation, agent or admin, or left out")
	case kind == appinit.AdminToken:
		return fault.New(fault.WrongTokenScope, "an admin token is not for talking; use a conversation or agent token")
	}
	return nil
}

// turnOptions are the options of converse and converseOnce in js/src/converse.ts.
type turnOptions struct {
	access
	UserMessage     string                  `json:"userMessage"`
	SSE             bool                    `json:"sse"`
	ThreadID        string                  `json:"threadId"`
	ModelType       string                  `json:"modelType"`
	ForceExperience string                  `json:"forceExperience"`
	RequestVars     map[string]any          `json:"requestVars"`
	Capabilities    map[string]string       `json:"capabilities"`
	OnErrorSegment  converse.OnErrorSegment `json:"onErrorSegment"`
}

func (o *turnOptions) request() converse.Request {
	return converse.Request{
		UserMessage: o.UserMessage, SSE: o.SSE, ThreadID: o.ThreadID, ModelType: o.ModelType,
		ForceExperience: o.ForceExperience, RequestVars: o.RequestVars, Capabilities: o.Capabilities,
	}
}

// brainOf reads the arguments of a turn without a session.
func brainOf(c Call) (b converse.Brain, o turnOptions, err error) {
	if err = c.Into("options", 0, &o); err != nil {
		return b, o, err
	}
	if o.Token == "" {
		return b, o, fault.New(fault.BadRequest, "token is required")
	}
	if err = talking(o.Kind); err != nil {
		return b, o, err
	}
	who := o.options()
	base, err := appinit.Config{Region: who.Region, GenieURL: who.GenieURL, Policy: who.Policy}.GenieBase()
	return converse.Brain{Fetch: who.Fetch, URL: base, Token: who.Token, OnResponse: who.OnResponse}, o, err
}

func converseStream(ctx context.Context, c Call) (iter.Seq2[converse.Segment, error], error) {
	brain, o, err := brainOf(c)
	if err != nil {
		return nil, err
	}
	return brain.Stream(ctx, o.request()), nil
}

func converseOnce(ctx context.Context, c Call) (any, error) {
	brain, o, err := brainOf(c)
	if err != nil {
		return nil, err
	}
	return brain.Once(ctx, o.request(), o.OnErrorSegment)
}

// visiting makes an export of a call of a visitor: its arguments are the access
// and what args reads.
func visiting[A any](call func(context.Context, *visitor.Client, A) (any, error)) Later {
	return func(ctx context.Context, c Call) (any, error) {
		client, args, err := visitorOf[A](c)
		if err != nil {
			return nil, err
		}
		return call(ctx, client, args)
	}
}

// listing makes an export that streams a list of a visitor.
func listing[A, T any](call func(context.Context, *visitor.Client, A) iter.Seq2[T, error]) Streaming {
	return Stream(func(ctx context.Context, c Call) (iter.Seq2[T, error], error) {
		client, args, err := visitorOf[A](c)
		if err != nil {
			return nil, err
		}
		return call(ctx, client, args), nil
	})
}

// visitorOf reads the two arguments of every call of a visitor.
func visitorOf[A any](c Call) (client *visitor.Client, args A, err error) {
	var a access
	if err = c.Into("access", 0, &a); err != nil {
		return nil, args, err
	}
	if err = c.Into("arguments", 1, &args); err != nil {
		return nil, args, err
	}
	client, err = visitor.New(a.options())
	return client, args, err
}
