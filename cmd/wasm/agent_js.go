//go:build js && wasm

package main

import (
	"context"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/agent"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
)

// agentOptions are the options of session-api A.3.1 in the one form that
// js/src/agentoptions.ts brings them into: those of both transports complete, with
// what they share in each but for the variables.
type agentOptions struct {
	agent.Options

	Avatar avatarOptions    `json:"avatar"`
	Chat   page.ChatOptions `json:"chat"`
	Logger js.Value         `json:"logger"`
	// Take gets each transport before it connects; see [page.Handle.Inner].
	Take js.Value `json:"take"`
}

// openAgent makes an agent session of the options of js/src/agentsession.ts.
func (s *avatarSessions) openAgent(h *page.Handle, options js.Value) (page.Session, error) {
	var o agentOptions
	if err := jsbridge.FromJS("options", options, &o); err != nil {
		return nil, err
	}
	given := o.Options
	var err error
	if given.Chat, err = o.Chat.Session(); err != nil {
		return nil, err
	}
	given.Avatar = o.Avatar.session(nil)
	given.Log = page.Logger(o.Logger)
	given.OnEvent = h.Listen()
	session, err := agent.New(given, agent.Deps{
		Avatar: func(ao avatar.Options) (inner *avatar.Session, release func(), err error) {
			release, err = h.Inner(string(agent.Avatar), o.Take, func(ih *page.Handle) (page.Session, error) {
				ao.OnEvent = both(ih.Listen(), ao.OnEvent)
				a, err := s.make(ih, &o.Avatar, ao)
				if err != nil {
					return nil, err
				}
				inner = a.Session
				return a, nil
			})
			return inner, release, err
		},
		Chat: func(co chat.Options) (inner *chat.Session, release func(), err error) {
			release, err = h.Inner(string(agent.Chat), o.Take, func(ih *page.Handle) (page.Session, error) {
				co.OnEvent = both(ih.Listen(), co.OnEvent)
				if inner, err = chat.New(co, page.ChatDeps()); err != nil {
					return nil, err
				}
				return page.OfChat(ih, inner), nil
			})
			return inner, release, err
		},
	})
	if err != nil {
		return nil, err
	}
	return &agentSession{session, h}, nil
}

// both is a listener for two: the page's own at the transport hears first.
func both(page, session func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		page(e)
		session(e)
	}
}

// agentSession is one session as js/src/agentsession.ts holds it.
type agentSession struct {
	*agent.Session
	handle *page.Handle
}

// Methods lists what js/src/agentsession.ts calls (session-api A.3.2).
func (a *agentSession) Methods() page.Methods {
	return page.Methods{
		Now: map[string]page.Now{
			"properties":        page.Properties(a.Snapshot),
			"setToken":          page.Text("token", a.SetToken),
			"setDynamicPrompt":  page.Object("data", func(o map[string]any) error { return a.SetDynamicPrompt(o) }),
			"updateRequestVars": page.Object("requestVars", a.UpdateRequestVars),
			"addToolHandler":    page.ToolHandler(a.handle, a.OnToolCall),
			"addConsentHandler": page.ConsentHandler(a.handle, a.OnOAuthRequired),
			"disconnect": page.Disconnect(func(keep bool, reason string) {
				a.Disconnect(agent.DisconnectOptions{Keep: keep, Reason: reason})
			}),
		},
		Later: map[string]page.Later{
			"connect":        func(ctx context.Context, _ page.Call) (any, error) { return nil, a.Connect(ctx) },
			"switchMode":     a.switchMode,
			"sendText":       a.sendText,
			"respondToTool":  page.RespondToTool(a.RespondToTool),
			"completeThread": func(ctx context.Context, _ page.Call) (any, error) { return a.CompleteThread(ctx) },
		},
	}
}

func (a *agentSession) switchMode(ctx context.Context, c page.Call) (any, error) {
	var mode agent.Mode
	if err := c.Into("mode", 0, &mode); err != nil {
		return nil, err
	}
	return nil, a.SwitchMode(ctx, mode)
}

// sendText returns the answer in text, or whether the text has left.
func (a *agentSession) sendText(ctx context.Context, c page.Call) (any, error) {
	var text string
	if err := c.Into("text", 0, &text); err != nil {
		return nil, err
	}
	sent, err := a.SendText(ctx, text)
	if err != nil || sent.Turn == nil {
		return sent.Left, err
	}
	return sent.Turn, nil
}
