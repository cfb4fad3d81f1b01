//go:build js && wasm

package page

import (
	"context"
	"iter"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// ChatOptions are the options of session §A.2.1 in the form that
// js/src/session/chatoptions.ts produces.
type ChatOptions struct {
	chat.Options
	SessionHooks
	OnResponse js.Value `json:"onResponse"`
}

// Session returns the options of the session, without its listener.
func (o *ChatOptions) Session() chat.Options {
	s := o.Options
	o.Into(&s.Options)
	s.OnResponse = Hook[httpclient.Response](o.OnResponse)
	return s
}

// NewChat makes a chat session in a page.
func NewChat(o chat.Options) (*chat.Session, Methods, error) {
	o.Page = completion.BrowserPage()
	s, err := chat.New(o)
	if err != nil {
		return nil, Methods{}, err
	}
	return s, ChatMethods(s), nil
}

// OpenChat makes a chat session from the options that js/src/session/chatsession.ts passes.
func OpenChat(h *Handle, options js.Value) (Session, Methods, error) {
	var o ChatOptions
	if err := jsbridge.FromJS("options", options, &o); err != nil {
		return nil, Methods{}, err
	}
	given := o.Session()
	given.OnEvents = h.Listen
	s, methods, err := NewChat(given)
	if err != nil {
		return nil, Methods{}, err
	}
	return s, methods, nil
}

// ChatMethods returns the methods that js/src/session/chatsession.ts calls besides those of every
// session (session §A.2.2).
func ChatMethods(s *chat.Session) Methods {
	return Methods{
		Sync: map[string]Sync{
			"properties": Properties(s.Snapshot),
			"disconnect": Disconnect(s.Disconnect),
		},
		Async: map[string]Async{
			"connect": AsyncErr(s.Connect),
			"sendText": func(ctx context.Context, a Args) (any, error) {
				text, options, err := turnOf(a)
				if err != nil {
					return nil, err
				}
				return s.SendText(ctx, text, options)
			},
		},
		Streams: map[string]Streaming{
			"streamText": Segments(func(ctx context.Context, a Args) (iter.Seq2[[]converse.Segment, error], error) {
				text, options, err := turnOf(a)
				if err != nil {
					return nil, err
				}
				return s.Batches(ctx, text, options), nil
			}),
		},
	}
}

// turnOf reads the arguments of a turn: the text and its options.
func turnOf(a Args) (text string, o chat.TurnOptions, err error) {
	if err = a.Into("text", 0, &text); err == nil {
		err = a.Into("options", 1, &o)
	}
	return text, o, err
}
