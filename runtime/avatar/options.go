package avatar

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// Options are what a live session can be told (session-api A.1.1).
type Options struct {
	session.Options

	// ConversationURL is the host of the control socket, from `appInit`. Its default is
	// the same in every region (wire-protocol §1.2).
	ConversationURL string `json:"conversationManagerUrl" ts:"string | URL" check:"socket" default:"https://conversation.avatar.us.kaltura.ai"`
	// SRSBaseURL is the media host, from `appInit`.
	SRSBaseURL string `json:"srsBaseUrl" ts:"string | URL" check:"address,empty"`
	// TURNServerURL is the relay, from `appInit`: a host, which stands for its addresses
	// over UDP, TCP and TLS (wire-protocol §6.2), or an address with a port or a
	// transport, which is used as it is.
	TURNServerURL string `json:"turnServerUrl" check:"-"`
	// TURNCredentials are the login to the relay.
	TURNCredentials *media.Credentials `json:"turnCredentials" ts:"TurnCredentials" check:"object"`
	// OnRelayNeeded returns a new login to the relay, because that of the connect may have
	// expired. It is called before the session is rebuilt or resumed, and before a repair of
	// the picture when the login's expiry has passed. It has 5 s.
	OnRelayNeeded func(ctx context.Context) (*media.Credentials, error) `json:"-" js:"onRelayNeeded" ts:"() => Promised<TurnCredentials | null | undefined>"`
	// ICEServers are used in place of what TURNServerURL gives.
	ICEServers []media.ICEServer `json:"iceServers" ts:"RTCIceServer[]"`
	// ICETransportPolicy is for the avatar's media. Default relay, in Firefox all
	// (wire-protocol §6.3).
	ICETransportPolicy string `json:"iceTransportPolicy" enum:"relay,all"`
	// VideoCodec is the only codec to offer, such as VP8.
	VideoCodec string `json:"preferredVideoCodec"`
	// Firefox applies Firefox's rules. Default: from the user agent.
	Firefox *bool `json:"isFirefox"`
	// AllowPrivateHosts allows media at private addresses (wire-protocol §6.7), for
	// development against a local service.
	AllowPrivateHosts bool `json:"allowPrivateHosts"`
	// StickyID keeps a session on one server over a page reload: 16 characters of a-z
	// and 0-9. Default random.
	StickyID string `json:"stickyId"`

	// EntryID is the media item that the session is about.
	EntryID string `json:"entryId"`
	// ContextID is the scope of the session (sys__context_id).
	ContextID string `json:"contextId"`
	// ContextType is the kind of that scope (sys__context_type).
	ContextType string `json:"contextType"`
	// DisclosureText is the notice of the `disclosure` event.
	DisclosureText string `json:"disclosureText" default:"You are talking to an AI avatar."`
	// RequireDisclosureAck holds the start until `acknowledgeDisclosure()`.
	RequireDisclosureAck bool `json:"requireDisclosureAck"`

	media.Platform

	// MicStart says when the microphone is asked for: immediate, beside connecting, or
	// deferred, with `startMic()`.
	MicStart MicStart `json:"micStartMode" enum:"immediate,deferred" default:"immediate"`
	// LocalVADThreshold is the level at which `localSpeakingChanged` turns true, 0 to 4080.
	LocalVADThreshold *float64 `json:"localVadThreshold" default:"300"`
	// MaxASRBitrate caps the microphone's sender, in kbit/s; 0 is no cap.
	MaxASRBitrate int `json:"maxAsrBitrateKbps"`

	// BeforeSend changes a typed text or blocks it, with an error, in a page with false
	// or a throw: the text is refused with `guardrail_blocked`.
	BeforeSend func(ctx context.Context, text string, about SendInfo) (string, error) `json:"-" js:"onBeforeSend" ts:"(text: string, about: SendInfo) => Promised<string | false | void>"`
	// OnAgentAction may veto what the agent starts, with an error, in a page with false
	// or a throw.
	OnAgentAction func(ctx context.Context, a AgentAction) error `json:"-" js:"onAgentAction" ts:"(action: AgentAction) => Promised<boolean | void>"`
	// AgentActions is the policy that is asked before OnAgentAction.
	AgentActions ActionPolicy `json:"agentActions" ts:"AgentActions" check:"object"`
	// MaxTurnsPerMinute bounds the typed turns in any 60 s; 0 is any number.
	MaxTurnsPerMinute int `json:"maxTurnsPerMinute"`
	// IdleTimeout ends the session when nothing happens for that long; 0 is never.
	IdleTimeout *time.Duration `json:"idleTimeoutMs" default:"15m"`

	// MaxReconnectAttempts bounds the tries to reconnect the socket (wire-protocol §1.6).
	// With 0 the session ends with its socket. A negative number, the default, leaves the
	// bound to ReconnectWindow; events then have 0 for it.
	MaxReconnectAttempts *int `json:"maxReconnectAttempts" default:"-1" check:"integer"`
	// ReconnectionDelay is the wait before the first try to reconnect, on average.
	ReconnectionDelay time.Duration `json:"reconnectionDelay" default:"250ms"`
	// ReconnectionDelayMax is the longest wait between tries.
	ReconnectionDelayMax time.Duration `json:"reconnectionDelayMax" default:"2s"`
	// ReconnectWindow bounds the time without a connection.
	ReconnectWindow time.Duration `json:"reconnectWindowMs" default:"22s"`
	// Limits are single time limits.
	Limits control.Limits `json:"timeouts" ts:"Timeouts" check:"limits"`
	// NetworkAware reacts to the browser's online and offline.
	NetworkAware *bool `json:"networkAware" default:"true"`
	// StatsInterval is the period of `connectionQuality`; 0 is off.
	StatsInterval time.Duration `json:"statsIntervalMs"`
	// Debug mirrors typed texts to the service's debug event.
	Debug bool `json:"debug"`

	// HardToolSpiralLimit is the number of tool calls with nothing to hear or see before
	// a rebuild. Default three times ToolSpiralLimit; 0 is off.
	HardToolSpiralLimit *int `json:"hardToolSpiralLimit"`
	// RecoverFromSpiral asks the lost question again after that.
	RecoverFromSpiral *bool `json:"recoverFromSpiral" default:"true"`
	// CompleteOnServerEnd tells the service of the end although it ended the
	// conversation.
	CompleteOnServerEnd bool `json:"completeOnServerEnd"`
}

// OptionsFor returns the options with which the visitor that r knows meets the agent.
func OptionsFor(r *appinit.Result) Options {
	o := Options{
		Options:         session.Options{Token: r.KS, Kind: r.Kind, PartnerID: r.PartnerID, GenieURL: &r.GenieURL},
		ConversationURL: r.ConversationURL, SRSBaseURL: r.SRSBaseURL, TURNServerURL: r.TURNServerURL,
	}
	if c := r.TURNCredentials; c != nil {
		login := media.Credentials(*c)
		o.TURNCredentials = &login
	}
	return o
}

// Format prints nothing, whatever the verb: the token, the login and the variables
// are private.
func (Options) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "avatar options")
}

// MicStart is when the microphone is requested (service.md, "Browser session
// options").
type MicStart string

// The microphone's start modes.
const (
	MicImmediate MicStart = "immediate" // beside the handshake; never blocks or fails it
	MicDeferred  MicStart = "deferred"  // with StartMic
)

// SendInfo tells BeforeSend what a text is.
type SendInfo struct {
	Kind     string `json:"kind" ts:"'speak' | 'spiralRecovery'"`
	ThreadID string `json:"threadId,omitempty"`
}

// ActionPolicy says what the agent may start by itself (session-api A.1.1,
// option 39); what is not given is allowed.
type ActionPolicy struct {
	Navigate           *bool `json:"navigate" ts:"'off' | boolean"`
	GenUI              *bool `json:"genui" ts:"'off' | boolean"`
	StructuredDataForm *bool `json:"structuredDataForm" ts:"'off' | boolean"`
	// ToolCalls allows tools; a list, Tools, is of the only ones that are allowed.
	ToolCalls *bool `json:"toolCall" ts:"'off' | boolean | string[]"`
	// Tools, when not nil, are the only tools allowed.
	Tools []string `json:"tools" ts:"-"`
}

// idleWarningLead is how long before the end of an idle session it is warned of.
const idleWarningLead = time.Minute

// withDefaults returns o with every default filled in, or the first thing wrong
// with it.
func (o Options) withDefaults() (Options, error) {
	if err := o.Complete(&o); err != nil {
		return o, err
	}
	policy := o.Policy()
	var err error
	if o.ConversationURL, err = policy.Socket("conversationManagerUrl", o.ConversationURL); err != nil {
		return o, err
	}
	if o.SRSBaseURL != "" {
		if o.SRSBaseURL, err = policy.HTTP("srsBaseUrl", o.SRSBaseURL); err != nil {
			return o, err
		}
	}
	if o.HardToolSpiralLimit == nil {
		hard := 3 * *o.ToolSpiralLimit
		o.HardToolSpiralLimit = &hard
	}
	return o, nil
}
