package avatar

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Options are the options of a live session (session §A.1.1).
type Options struct {
	session.Options

	// ConversationURL is the host of the control socket, from `appInit`. Its default is
	// the same in every region (protocol §1.2).
	ConversationURL string `json:"conversationManagerUrl" ts:"string | URL" check:"socket" default:"https://conversation.avatar.us.kaltura.ai"`
	// SRSBaseURL is the media host, from `appInit`.
	SRSBaseURL string `json:"srsBaseUrl" ts:"string | URL" check:"address,empty"`
	// TURNServerURL is the relay, from `appInit`: a host, which is tried over UDP, TCP and
	// TLS (protocol §6.2), or an address with a port or a transport, which is used
	// unchanged.
	TURNServerURL string `json:"turnServerUrl" check:"-"`
	// TURNCredentials are the login to the relay.
	TURNCredentials *appinit.TURNCredentials `json:"turnCredentials" ts:"TurnCredentials" check:"object"`
	// OnRelayNeeded returns a new login to the relay within 5 s. It is called before the
	// session is rebuilt, or is resumed after an expired pause, because the login may have
	// expired, and before a connect or a repair of the picture if it has expired.
	OnRelayNeeded func(ctx context.Context) (*appinit.TURNCredentials, error) `json:"-" js:"onRelayNeeded" ts:"() => Promised<TurnCredentials | null | undefined>"`
	// ICEServers are used in place of TURNServerURL and TURNCredentials.
	ICEServers []media.ICEServer `json:"iceServers" ts:"RTCIceServer[]"`
	// ICETransportPolicy is the policy for the avatar's media. Default: relay; all in
	// Firefox or without ICE servers (protocol §6.3).
	ICETransportPolicy string `json:"iceTransportPolicy" enum:"relay,all"`
	// VideoCodec is the only codec to offer, such as VP8.
	VideoCodec string `json:"preferredVideoCodec"`
	// AudioCodec is the only codec to offer for the voice, such as opus, G722 or PCMU. One
	// that is not supported is ignored, with a warning in the log.
	AudioCodec string `json:"preferredAudioCodec"`
	// Firefox applies Firefox's rules. Default: from the user agent.
	Firefox *bool `json:"isFirefox"`
	// AllowPrivateHosts allows media at private addresses (protocol §6.7), for
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
	// RequireDisclosureAck delays the start of the conversation until
	// `acknowledgeDisclosure()` is called.
	RequireDisclosureAck bool `json:"requireDisclosureAck"`

	media.Platform
	// Media returns what the session uses in place of the media engine, or around it.
	Media func(*media.Engine) Media `json:"-"`

	// MicStart is when the microphone is requested: immediate, while connecting, or
	// deferred, by `startMic()`.
	MicStart MicStart `json:"micStartMode" enum:"immediate,deferred" default:"immediate"`
	// LocalVADThreshold is the level at which `localSpeakingChanged` turns true.
	LocalVADThreshold *float64 `json:"localVadThreshold" default:"300" max:"4080"`
	// MaxASRBitrate limits the bitrate of the microphone, in kbit/s; 0 means no limit.
	MaxASRBitrate int `json:"maxAsrBitrateKbps"`

	// BeforeSend may change a typed text, or block it with an error (in a page by returning
	// false or by throwing). A blocked text is refused with `guardrail_blocked`. There is no
	// time limit, so that it can ask the visitor: the text waits until then, or until its call
	// is aborted.
	BeforeSend func(ctx context.Context, text string, about SendInfo) (string, error) `json:"-" js:"onBeforeSend" ts:"(text: string, about: SendInfo) => Promised<string | false | void>"`
	// OnAgentAction may refuse an action of the agent with an error (in a page by returning
	// false or by throwing). There is no time limit, so that it can ask the visitor: the rest
	// of the answer waits until then.
	OnAgentAction func(ctx context.Context, a AgentAction) error `json:"-" js:"onAgentAction" ts:"(action: AgentAction) => Promised<boolean | void>"`
	// AgentActions is the policy that is applied before OnAgentAction is called.
	AgentActions ActionPolicy `json:"agentActions" ts:"AgentActions" check:"object"`
	// MaxTurnsPerMinute bounds the typed turns in any 60 s; 0 means no limit.
	MaxTurnsPerMinute int `json:"maxTurnsPerMinute"`
	// IdleTimeout ends the session when nothing happens for that long; 0 means never.
	IdleTimeout *time.Duration `json:"idleTimeoutMs" default:"15m"`

	// MaxReconnectAttempts bounds the attempts to reconnect the socket (protocol §1.6).
	// With 0 the session ends when its socket is lost. With a negative number, the default,
	// only ReconnectWindow bounds them, and events report how many it has time for.
	MaxReconnectAttempts *int `json:"maxReconnectAttempts" default:"-1" check:"integer"`
	// ReconnectionDelay is the average wait before the first attempt to reconnect.
	ReconnectionDelay time.Duration `json:"reconnectionDelay" default:"250ms"`
	// ReconnectionDelayMax is the longest wait between attempts.
	ReconnectionDelayMax time.Duration `json:"reconnectionDelayMax" default:"2s"`
	// ReconnectWindow bounds the time without a connection.
	ReconnectWindow time.Duration `json:"reconnectWindowMs" default:"22s"`
	// Limits are the time limits to replace.
	Limits signaling.Limits `json:"timeouts" ts:"Timeouts" check:"limits"`
	// NetworkAware reacts to the browser's events online and offline.
	NetworkAware *bool `json:"networkAware" default:"true"`
	// StatsInterval is the interval of `connectionQuality`; 0 turns it off.
	StatsInterval time.Duration `json:"statsIntervalMs"`
	// Debug also sends typed texts to the service as debug events.
	Debug bool `json:"debug"`

	// HardToolSpiralLimit is the number of tool calls in a row, with nothing to hear or see
	// in between, that causes a rebuild. Default three times ToolSpiralLimit; 0 turns it off.
	HardToolSpiralLimit *int `json:"hardToolSpiralLimit"`
	// RecoverFromSpiral sends the unanswered question again after a rebuild that
	// HardToolSpiralLimit caused.
	RecoverFromSpiral *bool `json:"recoverFromSpiral" default:"true"`
	// CompleteOnServerEnd reports the end to the service even if the service itself ended
	// the conversation.
	CompleteOnServerEnd bool `json:"completeOnServerEnd"`
}

// OptionsFor returns the options of a session with the token and the addresses of r.
func OptionsFor(r *appinit.Result) Options {
	return Options{
		Options:         session.OptionsFor(r),
		ConversationURL: r.ConversationURL, SRSBaseURL: r.SRSBaseURL, TURNServerURL: r.TURNServerURL, TURNCredentials: r.TURNCredentials,
	}
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
	MicImmediate MicStart = "immediate" // during the handshake; never blocks or fails it
	MicDeferred  MicStart = "deferred"  // by StartMic
)

// SendInfo describes the text that `onBeforeSend` is called with.
type SendInfo struct {
	Kind     string `json:"kind" ts:"'speak' | 'spiralRecovery'"`
	ThreadID string `json:"threadId,omitempty"`
}

// ActionPolicy is what the agent may start by itself (session §A.1.1,
// agentActions); what is not set is allowed.
type ActionPolicy struct {
	Navigate           *bool `json:"navigate" ts:"'off' | boolean"`
	GenUI              *bool `json:"genui" ts:"'off' | boolean"`
	StructuredDataForm *bool `json:"structuredDataForm" ts:"'off' | boolean"`
	// ToolCalls allows tool calls; a list names the only tools that are allowed.
	ToolCalls *bool `json:"toolCall" ts:"'off' | boolean | string[]"`
	// Tools, when not nil, are the only tools allowed.
	Tools []string `json:"tools" ts:"-"`
}

// withDefaults returns o with every default filled in, or the error of its first invalid
// option.
func (o Options) withDefaults() (Options, error) {
	if err := o.Complete(&o); err != nil {
		return o, err
	}
	o.StickyID = cmp.Or(o.StickyID, session.RandomID(stickyIDLength))
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
