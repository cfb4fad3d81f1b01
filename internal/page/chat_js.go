//go:build js && wasm

package page

import (
	"context"
	"iter"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// ChatOptions are the options of session-api A.2.1 in the one form that
// js/src/chatoptions.ts brings them into.
type ChatOptions struct {
	chat.Options

	Kind         appinit.TokenKind `json:"kind"`
	OnResponse   js.Value          `json:"onResponse"`
	OnAuditEvent js.Value          `json:"onAuditEvent"`
	Logger       js.Value          `json:"logger"`

	CompletionOptions
}

// Session returns the options of the session; its listener is not among them. The
// error is about the kind of the token.
func (o *ChatOptions) Session() (chat.Options, error) {
	s := o.Options
	if err := talking(o.Kind); err != nil {
		return s, err
	}
	s.Completion = o.CompletionOptions.Settings()
	s.OnResponse = Hook[converse.Response](o.OnResponse)
	s.OnAuditEvent = Hook[event.Audit](o.OnAuditEvent)
	s.Log = Logger(o.Logger)
	return s, nil
}

// ChatDeps are the parts of a chat session in a page.
func ChatDeps() chat.Deps { return chat.Deps{Page: sessionend.BrowserPage()} }

// openChat makes a session of the options of js/src/chatsession.ts.
func openChat(h *Handle, options js.Value) (Session, error) {
	var o ChatOptions
	if err := jsbridge.FromJS("options", options, &o); err != nil {
		return nil, err
	}
	given, err := o.Session()
	if err != nil {
		return nil, err
	}
	given.OnEvent = h.Listen()
	s, err := chat.New(given, ChatDeps())
	if err != nil {
		return nil, err
	}
	return OfChat(h, s), nil
}

// OfChat is a chat session as js/src/chatsession.ts holds it.
func OfChat(h *Handle, s *chat.Session) Session { return &chatSession{s, h} }

type chatSession struct {
	*chat.Session
	handle *Handle
}

// Methods lists what js/src/chatsession.ts calls (session-api A.2.2).
func (s *chatSession) Methods() Methods {
	return Methods{
		Now: map[string]Now{
			"properties":        Properties(s.Snapshot),
			"setToken":          Text("token", s.SetToken),
			"setDynamicPrompt":  Object("data", func(o map[string]any) error { return s.SetDynamicPrompt(o) }),
			"updateRequestVars": Object("requestVars", s.UpdateRequestVars),
			"addToolHandler":    ToolHandler(s.handle, s.OnToolCall),
			"addConsentHandler": ConsentHandler(s.handle, s.OnOAuthRequired),
			"disconnect": Disconnect(func(keep bool, reason string) {
				s.Disconnect(chat.DisconnectOptions{Keep: keep, Reason: reason})
			}),
		},
		Later: map[string]Later{
			"connect":        func(context.Context, Call) (any, error) { return nil, s.Connect() },
			"sendText":       s.sendText,
			"respondToTool":  RespondToTool(s.RespondToTool),
			"completeThread": func(ctx context.Context, _ Call) (any, error) { return s.CompleteThread(ctx) },
		},
		Streams: map[string]Streaming{"streamText": Stream(s.streamText)},
	}
}

func (s *chatSession) sendText(ctx context.Context, c Call) (any, error) {
	text, options, err := turnOf(c)
	if err != nil {
		return nil, err
	}
	return s.SendText(ctx, text, options)
}

func (s *chatSession) streamText(ctx context.Context, c Call) (iter.Seq2[converse.Segment, error], error) {
	text, options, err := turnOf(c)
	if err != nil {
		return nil, err
	}
	return s.Stream(ctx, text, options), nil
}

// turnOf reads the arguments of a turn: the text and what it asks for.
func turnOf(c Call) (text string, o chat.TurnOptions, err error) {
	if err = c.Into("text", 0, &text); err == nil {
		err = c.Into("options", 1, &o)
	}
	return text, o, err
}
