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
)

// agentOptions are the options of session §A.3.1 in the form that
// js/src/session/agentoptions.ts produces: the options of each transport contain the shared
// options too, except for the variables.
type agentOptions struct {
	agent.Options
	page.SessionHooks

	Avatar avatarOptions    `json:"avatar"`
	Chat   page.ChatOptions `json:"chat"`
	// Attach is called with each transport before it connects; see [page.Handle.OpenTransport].
	Attach js.Value `json:"attach"`
}

// openAgent makes an agent session from the options that js/src/session/agentsession.ts passes.
func (s *avatarSessions) openAgent(h *page.Handle, options js.Value) (page.Session, page.Methods, error) {
	var o agentOptions
	if err := jsbridge.FromJS("options", options, &o); err != nil {
		return nil, page.Methods{}, err
	}
	given := o.Options
	o.Into(&given.Options)
	given.Avatar, given.Chat = o.Avatar.session(), o.Chat.Session()
	given.OnEvents = h.Listen
	given.NewAvatar = func(ao avatar.Options) (inside *avatar.Session, release func(), err error) {
		release, err = h.OpenTransport(string(agent.Avatar), o.Attach, func(h *page.Handle) (_ page.Session, m page.Methods, err error) {
			ao.Observe(h.Listen)
			inside, m, err = s.make(h, ao)
			return inside, m, err
		})
		return inside, release, err
	}
	given.NewChat = func(co chat.Options) (inside *chat.Session, release func(), err error) {
		release, err = h.OpenTransport(string(agent.Chat), o.Attach, func(h *page.Handle) (_ page.Session, m page.Methods, err error) {
			co.Observe(h.Listen)
			inside, m, err = page.NewChat(co)
			return inside, m, err
		})
		return inside, release, err
	}
	session, err := agent.New(given)
	if err != nil {
		return nil, page.Methods{}, err
	}
	return session, agentMethods(session), nil
}

// agentMethods returns the methods that js/src/session/agentsession.ts calls besides those of
// every session (session §A.3.2).
func agentMethods(a *agent.Session) page.Methods {
	return page.Methods{
		Sync: map[string]page.Sync{
			"properties": page.Properties(a.Snapshot),
			"disconnect": page.Disconnect(a.Disconnect),
		},
		Async: map[string]page.Async{
			"connect":    page.AsyncErr(a.Connect),
			"switchMode": page.AsyncArg("mode", a.SwitchMode),
			// Returns the answer in text mode, otherwise whether the text was sent.
			"sendText": page.AsyncArgResult("text", func(ctx context.Context, text string) (any, error) {
				sent, err := a.SendText(ctx, text)
				if err != nil || sent.Turn == nil {
					return sent.Left, err
				}
				return sent.Turn, nil
			}),
		},
	}
}
