//go:build js && wasm

package main

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// avatarOptions are the options of session-api A.1.1 in the one form that
// js/src/avataroptions.ts brings them into: the token and the partner id as strings,
// addresses as strings, a kickoff as an object.
type avatarOptions struct {
	avatar.Options

	VideoEl        js.Value `json:"videoEl"`
	AudioEl        js.Value `json:"audioEl"`
	MicConstraints js.Value `json:"micConstraints"`
	NoiseProcessor js.Value `json:"noiseProcessor"`

	OnBeforeSend  js.Value `json:"onBeforeSend"`
	OnAgentAction js.Value `json:"onAgentAction"`
	OnAuditEvent  js.Value `json:"onAuditEvent"`
	Logger        js.Value `json:"logger"`

	// Switches that are on by default in JavaScript, where Go's are off.
	NetworkAware      *bool `json:"networkAware"`
	RecoverFromSpiral *bool `json:"recoverFromSpiral"`

	AgentActions struct {
		Navigate           *bool    `json:"navigate"`
		GenUI              *bool    `json:"genui"`
		StructuredDataForm *bool    `json:"structuredDataForm"`
		ToolCall           *bool    `json:"toolCall"`
		Tools              []string `json:"tools"`
	} `json:"agentActions"`

	page.CompletionOptions
}

// session returns the options of the session.
func (o *avatarOptions) session(listen func(avatar.Event)) avatar.Options {
	s := o.Options
	s.OnEvent = listen
	s.IgnoreNetwork = page.Off(o.NetworkAware)
	s.NoSpiralRecovery = page.Off(o.RecoverFromSpiral)
	s.AgentActions = avatar.ActionPolicy{
		NoNavigate:           page.Off(o.AgentActions.Navigate),
		NoGenUI:              page.Off(o.AgentActions.GenUI),
		NoStructuredDataForm: page.Off(o.AgentActions.StructuredDataForm),
		NoToolCalls:          page.Off(o.AgentActions.ToolCall),
		ToolCalls:            o.AgentActions.Tools,
	}
	s.Completion = o.CompletionOptions.Settings()
	s.BeforeSend = beforeSend(o.OnBeforeSend)
	s.OnAgentAction = onAgentAction(o.OnAgentAction)
	s.OnAuditEvent = page.Hook[avatar.AuditEvent](o.OnAuditEvent)
	s.Log = page.Logger(o.Logger)
	return s
}

// platform returns the page's part in the session. The error is bad_request for what
// is no media element.
func (o *avatarOptions) platform(onPanic func(error)) (media.Platform, error) {
	p := media.Platform{
		VideoEl: o.VideoEl, AudioEl: o.AudioEl,
		MicConstraints: o.MicConstraints, NoiseProcessor: o.NoiseProcessor,
		OnPanic: onPanic,
	}
	if err := media.CheckElement("videoEl", o.VideoEl); err != nil {
		return p, err
	}
	return p, media.CheckElement("audioEl", o.AudioEl)
}
