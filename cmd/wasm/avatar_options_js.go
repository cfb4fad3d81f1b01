//go:build js && wasm

package main

import (
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// avatarOptions are the options of session-api A.1.1 in the one form that
// js/src/options.ts brings them into: the token and the partner id as strings,
// addresses as strings, a kickoff as an object.
type avatarOptions struct {
	avatar.Options

	VideoEl        js.Value `json:"videoEl"`
	AudioEl        js.Value `json:"audioEl"`
	MicConstraints js.Value `json:"micConstraints"`
	NoiseProcessor js.Value `json:"noiseProcessor"`
	VideoCodec     string   `json:"preferredVideoCodec"`
	Firefox        *bool    `json:"isFirefox"`

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

	completionOptions
}

// completionOptions are options 56 to 67.
type completionOptions struct {
	SessionCompleteOnEnd  *bool         `json:"sessionCompleteOnEnd"`
	SessionCompletePath   string        `json:"sessionCompletePath"`
	SessionCompleteLimit  time.Duration `json:"sessionCompleteTimeoutMs"`
	PageLifecycleAware    *bool         `json:"pageLifecycleAware"`
	HiddenGrace           time.Duration `json:"hiddenGraceMs"`
	CompleteOnHiddenGrace *bool         `json:"completeOnHiddenGrace"`
	CompleteOnBFCache     *bool         `json:"completeOnBfcache"`
	CrossTabPresence      *bool         `json:"crossTabPresence"`
	PresencePrefix        string        `json:"presenceChannelPrefix"`
	PresenceBeat          time.Duration `json:"presenceHeartbeatMs"`
	PresenceStale         time.Duration `json:"presenceStaleMs"`
}

// off reports whether a switch that is on by default was switched off.
func off(b *bool) bool { return b != nil && !*b }

// session returns the options of the session.
func (o *avatarOptions) session(listen func(avatar.Event)) avatar.Options {
	s := o.Options
	s.OnEvent = listen
	s.IgnoreNetwork = off(o.NetworkAware)
	s.NoSpiralRecovery = off(o.RecoverFromSpiral)
	s.AgentActions = avatar.ActionPolicy{
		NoNavigate:           off(o.AgentActions.Navigate),
		NoGenUI:              off(o.AgentActions.GenUI),
		NoStructuredDataForm: off(o.AgentActions.StructuredDataForm),
		NoToolCalls:          off(o.AgentActions.ToolCall),
		ToolCalls:            o.AgentActions.Tools,
	}
	s.Completion = o.completion()
	s.BeforeSend = beforeSend(o.OnBeforeSend)
	s.OnAgentAction = onAgentAction(o.OnAgentAction)
	s.OnAuditEvent = onAuditEvent(o.OnAuditEvent)
	s.Log = logger(o.Logger)
	return s
}

func (o *completionOptions) completion() completion.Settings {
	return completion.Settings{
		Off:            off(o.SessionCompleteOnEnd),
		Path:           o.SessionCompletePath,
		Timeout:        o.SessionCompleteLimit,
		IgnorePage:     off(o.PageLifecycleAware),
		HiddenGrace:    o.HiddenGrace,
		NoHiddenGrace:  off(o.CompleteOnHiddenGrace),
		NoBFCache:      off(o.CompleteOnBFCache),
		NoPresence:     off(o.CrossTabPresence),
		PresencePrefix: o.PresencePrefix,
		PresenceBeat:   o.PresenceBeat,
		PresenceStale:  o.PresenceStale,
	}
}

// media returns how the session's peers are made. The error is bad_request for
// what is no media element.
func (o *avatarOptions) media(onPanic func(error)) (media.Config, error) {
	c := media.Config{
		Limits:                 o.Limits,
		TURNServer:             o.TURNServerURL,
		TURNCredentials:        o.TURNCredentials,
		ICEServers:             o.ICEServers,
		ICEPolicy:              o.ICETransportPolicy,
		Firefox:                o.Firefox,
		AllowPrivateHosts:      o.AllowPrivateHosts,
		AllowInsecureTransport: o.AllowInsecureTransport,
		VideoCodec:             o.VideoCodec,
		MicBitrate:             o.MaxASRBitrate,
		Log:                    logger(o.Logger),
		Platform: media.Platform{
			VideoEl: o.VideoEl, AudioEl: o.AudioEl,
			MicConstraints: o.MicConstraints, NoiseProcessor: o.NoiseProcessor,
			OnPanic: onPanic,
		},
	}
	if err := media.CheckElement("videoEl", o.VideoEl); err != nil {
		return c, err
	}
	return c, media.CheckElement("audioEl", o.AudioEl)
}
