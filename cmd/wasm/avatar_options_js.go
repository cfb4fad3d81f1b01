//go:build js && wasm

package main

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
)

// avatarOptions are the options of session §A.1.1 in the form that
// js/src/session/avataroptions.ts produces: the token, the partner id and addresses as strings, a
// kickoff as an object.
type avatarOptions struct {
	avatar.Options
	page.SessionHooks
	OnBeforeSend  js.Value `json:"onBeforeSend"`
	OnAgentAction js.Value `json:"onAgentAction"`
	OnRelayNeeded js.Value `json:"onRelayNeeded"`
}

// session returns the options of the session, without its listener.
func (o *avatarOptions) session() avatar.Options {
	s := o.Options
	o.Into(&s.Options)
	s.BeforeSend = beforeSend(o.OnBeforeSend)
	s.OnAgentAction = onAgentAction(o.OnAgentAction)
	s.OnRelayNeeded = page.Asked[*appinit.TURNCredentials]("onRelayNeeded", o.OnRelayNeeded)
	return s
}
