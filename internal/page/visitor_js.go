//go:build js && wasm

package page

import (
	"context"
	"iter"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// This file contains the exports of every program that need no session: appInit, turns in
// text, and the calls of js/src/session/visitor.ts (service.md "Threads", "Messages, feedback,
// followups" and "Converse and status").

// byID is the argument of calls about one thread or message.
type byID struct {
	ID string `json:"id"`
}

func visitorMethods() Methods {
	type client = *visitor.Client
	return Methods{
		Async: map[string]Async{
			"appInit":      appInit,
			"converseOnce": converseOnce,

			"threadList":       visiting(client.Threads),
			"threadGet":        visiting(func(c client, ctx context.Context, a byID) (any, error) { return c.Thread(ctx, a.ID) }),
			"threadRename":     visiting(titled("title", client.RenameThread)),
			"threadTranscript": visiting(func(c client, ctx context.Context, a byID) (any, error) { return c.Transcript(ctx, a.ID) }),
			"threadDelete": visiting(func(c client, ctx context.Context, a struct {
				IDs []string `json:"ids"`
			},
			) (any, error) {
				return c.DeleteThreads(ctx, a.IDs...)
			}),
			"threadSetAnalysis": visiting(func(c client, ctx context.Context, a struct {
				ID     string         `json:"id"`
				Values map[string]any `json:"values"`
			},
			) (any, error) {
				return c.SetAnalysis(ctx, a.ID, a.Values)
			}),
			"threadClearAnalysis": visiting(func(c client, ctx context.Context, a byID) (any, error) { return c.ClearAnalysis(ctx, a.ID) }),

			"messageList":  visiting(client.Messages),
			"messageGet":   visiting(func(c client, ctx context.Context, a byID) (any, error) { return c.Message(ctx, a.ID) }),
			"messageShare": visiting(titled("newTitle", client.ShareMessage)),
			"feedbackAdd": visiting(func(c client, ctx context.Context, a struct {
				MessageID string `json:"messageId"`
				Positive  *bool  `json:"positive"`
				Comment   string `json:"comment"`
			},
			) (any, error) {
				if a.Positive == nil { // false would be a bad rating
					return nil, missing("positive")
				}
				return nil, c.AddFeedback(ctx, a.MessageID, *a.Positive, a.Comment)
			}),

			"followupsSuggested": visiting(func(c client, ctx context.Context, _ struct{}) (any, error) { return c.Followups(ctx) }),
			"assistantStatus":    visiting(func(c client, ctx context.Context, _ struct{}) (any, error) { return c.Status(ctx) }),
		},
		Streams: map[string]Streaming{
			"converse":   Segments(converseStream),
			"threadAll":  listing(client.AllThreads),
			"messageAll": listing(client.AllMessages),
		},
	}
}

// visiting makes an export from a call of [visitor.Client]. The export's arguments are the
// access and the call's arguments.
func visiting[A, R any](call func(*visitor.Client, context.Context, A) (R, error)) Async {
	return func(ctx context.Context, a Args) (any, error) {
		client, about, err := visitorOf[A](a)
		if err != nil {
			return nil, err
		}
		return call(client, ctx, about)
	}
}

// listing makes an export that streams a list of [visitor.Client].
func listing[A, T any](call func(*visitor.Client, context.Context, A) iter.Seq2[T, error]) Streaming {
	return func(ctx context.Context, a Args) (iter.Seq2[any, error], error) {
		client, about, err := visitorOf[A](a)
		if err != nil {
			return nil, err
		}
		return func(yield func(any, error) bool) {
			for item, err := range call(client, ctx, about) {
				if !yield([]any{item}, err) {
					return
				}
			}
		}, nil
	}
}

// aboutTitle are the arguments of a call that sets a title.
type aboutTitle struct {
	ID    string  `json:"id"`
	Title *string `json:"title"`
}

// titled adapts a call that sets a title; name is the title's name in messages.
func titled[R any](name string, call func(c *visitor.Client, ctx context.Context, id, title string) (R, error)) func(*visitor.Client, context.Context, aboutTitle) (any, error) {
	return func(c *visitor.Client, ctx context.Context, a aboutTitle) (any, error) {
		if a.Title == nil {
			return nil, missing(name)
		}
		return call(c, ctx, a.ID, *a.Title)
	}
}

// visitorOf makes the client from the first argument of an export, and reads the second.
func visitorOf[A any](a Args) (client *visitor.Client, about A, err error) {
	var from access
	if err = a.Into("access", 0, &from); err != nil {
		return nil, about, err
	}
	if err = a.Into("arguments", 1, &about); err != nil {
		return nil, about, err
	}
	client, err = visitor.New(from.options())
	return client, about, err
}

// access are the token and the addresses for calls without a session.
type access struct {
	visitor.Options
	OnResponse js.Value `json:"onResponse" ts:"-"`
}

// options returns the options of the visitor's client.
func (a *access) options() visitor.Options {
	o := a.Options
	o.Warn, o.OnResponse = warn, Hook[httpclient.Response](a.OnResponse)
	return o
}

// warned contains the warnings that were written to the console. It stays small, because
// warnings are about hosts, of which a page uses few.
var warned = map[string]bool{}

// warn writes each warning to the console once, because calls without a session have no
// logger.
func warn(w *fault.Error) {
	if text := w.Message(); !warned[text] {
		warned[text] = true
		jsbridge.Log("warn", "agentruntime: "+text)
	}
}

func appInit(ctx context.Context, a Args) (any, error) {
	var given struct {
		appinit.Options
		TraceContext js.Value `json:"traceContext"`
	}
	if err := a.Into("options", 0, &given); err != nil {
		return nil, err
	}
	options := given.Options
	options.TraceContext = Trace(given.TraceContext)
	options.Warn = warn
	if begun := a.At(1); begun.Type() == js.TypeFunction { // js/src/session/early.ts has begun the requests
		options.HTTPClient = fetch.As(fetch.Using(begun))
	}
	return appinit.Init(ctx, options)
}

// turnOptions are the settings of a turn without a session (service.md "Converse
// request").
type turnOptions struct {
	access
	chat.TurnOptions
	// UserMessage is the user's text.
	UserMessage string `json:"userMessage" check:"-"`
	// ThreadID is the stored dialogue to continue. Default: a new one.
	ThreadID string `json:"threadId,omitempty"`
	// SSE requests server-sent events instead of lines of JSON; the segments are the same.
	SSE bool `json:"sse,omitempty"`
	// RequestVars are the prompt variables of this turn.
	RequestVars map[string]any `json:"requestVars,omitempty" ts:"RequestVars"`
	// Capabilities are overrides for this turn.
	Capabilities map[string]string `json:"capabilities,omitempty" ts:"Capabilities"`
	TraceContext js.Value          `json:"traceContext" ts:"-"`
	// OnErrorSegment is an option of converseOnce only.
	OnErrorSegment converse.OnErrorSegment `json:"onErrorSegment" ts:"-"`
}

func (o *turnOptions) request() converse.Request {
	return converse.Request{
		UserMessage: o.UserMessage, SSE: o.SSE, ThreadID: o.ThreadID, ModelType: o.ModelType,
		ForceExperience: o.ForceExperience, RequestVars: o.RequestVars, Capabilities: o.Capabilities,
	}
}

// clientOf reads the arguments of a turn without a session.
func clientOf(a Args) (c converse.Client, o turnOptions, err error) {
	if err = a.Into("options", 0, &o); err != nil {
		return c, o, err
	}
	if o.Token == "" {
		return c, o, fault.New(fault.BadRequest, "token is required")
	}
	if err = o.Kind.Talking(); err != nil {
		return c, o, err
	}
	v := o.options()
	base, err := appinit.Config{Region: v.Region, GenieURL: v.GenieURL, Policy: v.Policy}.GenieBase()
	c = converse.Client{URL: base, Token: v.Token, OnResponse: v.OnResponse}
	if trace := Trace(o.TraceContext); trace != nil {
		c.TraceContext = trace()
	}
	return c, o, err
}

func converseStream(ctx context.Context, a Args) (iter.Seq2[[]converse.Segment, error], error) {
	client, o, err := clientOf(a)
	if err != nil {
		return nil, err
	}
	return client.Batches(ctx, o.request()), nil
}

func converseOnce(ctx context.Context, a Args) (any, error) {
	client, o, err := clientOf(a)
	if err != nil {
		return nil, err
	}
	return client.Turn(ctx, o.request(), o.OnErrorSegment)
}
