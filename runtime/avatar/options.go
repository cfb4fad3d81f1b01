package avatar

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// DefaultDisclosure is the notice of the disclosure event.
const DefaultDisclosure = "You are talking to an AI avatar."

// Options configure a [Session] (session-api A.1.1). The zero value of every
// field but Token means its default. Names in comments are the JavaScript
// options; a duration there is a number of milliseconds.
type Options struct {
	// Token is the conversation token. Required.
	Token string `json:"token"`

	// ConversationURL is the control socket's host, from appInit. Default
	// [appinit.DefaultConversationURL], whatever the region (wire-protocol §1.2).
	ConversationURL string `json:"conversationManagerUrl"`
	// Region picks the default GenieURL: "nvp1" (default) or "frp2".
	Region *string `json:"region"`
	// GenieURL is the brain's host, for tool answers and the completion signal.
	GenieURL *string `json:"genieUrl"`
	// SRSBaseURL is the media host, from appInit.
	SRSBaseURL string `json:"srsBaseUrl"`
	// TURNServerURL is the relay's host, from appInit. A bare host expands to
	// the four URLs of wire-protocol §6.2; one that names a port or a transport
	// is used as it stands.
	TURNServerURL string `json:"turnServerUrl"`
	// TURNCredentials log in to the relay.
	TURNCredentials *media.Credentials `json:"turnCredentials"`
	// ICEServers replace what TURNServerURL would give.
	ICEServers []media.ICEServer `json:"iceServers"`
	// ICETransportPolicy is "relay" or "all" for the downlink. Default "relay",
	// in Firefox "all" (wire-protocol §6.3).
	ICETransportPolicy string `json:"iceTransportPolicy"`
	// VideoCodec, such as "H264" or "VP8", is the only one offered when set.
	VideoCodec string `json:"preferredVideoCodec"`
	// Firefox says that the browser is one. Default: what it says itself.
	Firefox *bool `json:"isFirefox"`
	// Platform is where the agent is seen and heard, and what hears the visitor:
	// elements of a page, functions of a program.
	Platform media.Platform `json:"-"`
	// AllowInsecureTransport lets http: and ws: reach public hosts.
	AllowInsecureTransport bool `json:"allowInsecureTransport"`
	// AllowPrivateHosts switches the guard of wire-protocol §6.7 off, for
	// development against a local service.
	AllowPrivateHosts bool `json:"allowPrivateHosts"`
	// PartnerID goes into the socket's query. Default: read from the token.
	PartnerID string `json:"partnerId"`
	// StickyID pins the session to one server instance: 16 characters of
	// [a-z0-9]. Default random; keep it over a page reload to land on the same
	// server.
	StickyID string `json:"stickyId"`
	// SubjectID is an opaque id of the visitor for audit events.
	SubjectID string `json:"subjectId"`

	// ThreadID continues a stored dialogue.
	ThreadID string `json:"threadId"`
	// EntryID is the media item that the session is about.
	EntryID string `json:"entryId"`
	// ContextID and ContextType scope the session (sys__context_id, …_type).
	ContextID   string `json:"contextId"`
	ContextType string `json:"contextType"`
	// Capabilities are merged over avatar:on and generate_followup_questions:on.
	Capabilities map[string]string `json:"capabilities"`
	// RequestVars are the prompt's variables: strings, numbers, booleans, nil.
	RequestVars map[string]any `json:"requestVars"`
	// Kickoff is the first user turn, which the session sends by itself once.
	Kickoff *Kickoff `json:"kickoff"`
	// DisclosureText is the notice of the disclosure event.
	// Default [DefaultDisclosure].
	DisclosureText string `json:"disclosureText"`
	// RequireDisclosureAck holds the start until AcknowledgeDisclosure.
	RequireDisclosureAck bool `json:"requireDisclosureAck"`

	// MicStart says when the microphone is asked for. Default [MicImmediate].
	MicStart MicStart `json:"micStartMode"`
	// MaxASRBitrate caps the microphone's sender, in kbit/s. 0 is no cap.
	MaxASRBitrate int `json:"maxAsrBitrateKbps"`
	// LocalVADThreshold is the level at which localSpeakingChanged turns true,
	// 0 to 4080. Default 300.
	LocalVADThreshold *float64 `json:"localVadThreshold"`

	// BeforeSend may change or refuse a typed text: an error refuses it with
	// guardrail_blocked.
	BeforeSend func(ctx context.Context, text string, about SendInfo) (string, error) `json:"-"`
	// OnAgentAction may veto what the agent starts: an error is the veto.
	OnAgentAction func(ctx context.Context, a AgentAction) error `json:"-"`
	// AgentActions is the policy checked before OnAgentAction.
	AgentActions ActionPolicy `json:"agentActions"`
	// MaxTurnsPerMinute bounds typed turns in any 60 s. 0 is no bound.
	MaxTurnsPerMinute int `json:"maxTurnsPerMinute"`
	// IdleTimeout ends the session after inactivity. Default 15 min; 0 is never.
	IdleTimeout *time.Duration `json:"idleTimeoutMs"`
	// OnAuditEvent receives redacted security events.
	OnAuditEvent func(AuditEvent) `json:"-"`

	// MaxReconnectAttempts, ReconnectionDelay and ReconnectionDelayMax are the
	// socket's (wire-protocol §1.6). Defaults 5, 250 ms, 2 s. With 0 attempts the
	// session ends with its socket; a negative number is no limit but
	// ReconnectWindow.
	MaxReconnectAttempts *int          `json:"maxReconnectAttempts"`
	ReconnectionDelay    time.Duration `json:"reconnectionDelay"`
	ReconnectionDelayMax time.Duration `json:"reconnectionDelayMax"`
	// ReconnectWindow bounds the time without a socket. Default 22 s.
	ReconnectWindow time.Duration `json:"reconnectWindowMs"`
	// Limits override single time limits; zero fields keep their default.
	Limits control.Limits `json:"timeouts"`
	// IgnoreNetwork stops reacting to the browser's online and offline.
	IgnoreNetwork bool `json:"-"`
	// StatsInterval turns connectionQuality on. Default off.
	StatsInterval time.Duration `json:"statsIntervalMs"`
	// Debug mirrors typed texts to the service's debug event.
	Debug bool `json:"debug"`

	// BrainStall is the period of brainStalled. Default 12 s; 0 is off.
	BrainStall *time.Duration `json:"brainStallMs"`
	// ToolSpiralLimit is the number of tool segments in one turn before
	// toolSpiralDetected. Default 10; 0 is off.
	ToolSpiralLimit *int `json:"toolSpiralLimit"`
	// HardToolSpiralLimit is the number of tool segments without perceivable
	// output before a rebuild. Default three times the soft limit; 0 is off.
	HardToolSpiralLimit *int `json:"hardToolSpiralLimit"`
	// NoSpiralRecovery keeps the session from asking the lost question again.
	NoSpiralRecovery bool `json:"-"`

	// Completion is the end-of-conversation signal.
	Completion sessionend.Settings `json:"-"`
	// CompleteOnServerEnd sends it although the service ended the conversation.
	CompleteOnServerEnd bool `json:"completeOnServerEnd"`

	// Log receives diagnostics; nothing in it is secret.
	Log func(level, message string, data map[string]any) `json:"-"`
	// OnEvent receives every event, in order, on one goroutine.
	OnEvent func(Event) `json:"-"`
}

// OptionsFor returns the options with which the visitor that r knows meets the agent.
func OptionsFor(r *appinit.Result) Options {
	o := Options{
		Token: r.KS, PartnerID: r.PartnerID,
		ConversationURL: r.ConversationURL, GenieURL: &r.GenieURL,
		SRSBaseURL: r.SRSBaseURL, TURNServerURL: r.TURNServerURL,
	}
	if c := r.TURNCredentials; c != nil {
		o.TURNCredentials = &media.Credentials{Username: c.Username, Credential: c.Credential}
	}
	return o
}

// Media returns how o wants the peers made: all of the configuration but the
// transport.
func (o *Options) Media() media.Config {
	return media.Config{
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
		Log:                    o.Log,
		Platform:               o.Platform,
	}
}

// Format prints nothing, whatever the verb: the token, the login and the variables are
// private.
func (Options) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "avatar options") // fmt has nobody to tell
}

// MicStart says when the microphone is asked for (service.md, "Browser session
// options").
type MicStart string

// The microphone's start modes.
const (
	MicImmediate MicStart = "immediate" // beside the handshake; never blocks or fails it
	MicDeferred  MicStart = "deferred"  // with StartMic
)

// SendInfo tells BeforeSend what a text is.
type SendInfo struct {
	Kind     string `json:"kind"` // "speak" or "spiralRecovery"
	ThreadID string `json:"threadId,omitempty"`
}

// ActionPolicy says what the agent may start by itself (session-api A.1.1,
// option 39). The zero value allows everything.
type ActionPolicy struct {
	NoNavigate           bool
	NoGenUI              bool
	NoStructuredDataForm bool
	NoToolCalls          bool
	ToolCalls            []string // when not nil, the only tools allowed
}

const (
	defaultReconnectAttempts = 5
	defaultReconnectWindow   = 22 * time.Second
	defaultIdleTimeout       = 15 * time.Minute
	defaultBrainStall        = 12 * time.Second
	defaultToolSpiral        = 10
	idleWarningLead          = time.Minute
	defaultVADThreshold      = 300
)

// withDefaults returns o with every default filled in, or the first thing wrong
// with it.
func (o Options) withDefaults() (Options, error) {
	if o.Token == "" {
		return o, fault.New(fault.BadRequest, "token is required")
	}
	switch o.MicStart {
	case "":
		o.MicStart = MicImmediate
	case MicImmediate, MicDeferred:
	default:
		return o, fault.New(fault.BadRequest, "micStartMode must be immediate or deferred")
	}
	switch o.ICETransportPolicy {
	case "", "relay", "all":
	default:
		return o, fault.New(fault.BadRequest, "iceTransportPolicy must be relay or all")
	}
	if err := o.resolve(); err != nil {
		return o, err
	}
	if o.Kickoff != nil && strings.TrimSpace(o.Kickoff.Text) == "" {
		o.Kickoff = nil // blank means none (wire-protocol §7.6)
	}
	o.DisclosureText = cmp.Or(o.DisclosureText, DefaultDisclosure)
	setPointer(&o.MaxReconnectAttempts, defaultReconnectAttempts)
	o.ReconnectWindow = cmp.Or(o.ReconnectWindow, defaultReconnectWindow)
	setPointer(&o.IdleTimeout, defaultIdleTimeout)
	setPointer(&o.BrainStall, defaultBrainStall)
	setPointer(&o.ToolSpiralLimit, defaultToolSpiral)
	setPointer(&o.HardToolSpiralLimit, 3**o.ToolSpiralLimit)
	setPointer(&o.LocalVADThreshold, defaultVADThreshold)
	o.Limits = o.Limits.WithDefaults()
	return o, nil
}

// resolve checks the hosts and fills in what the region gives (service.md,
// "Regions and base addresses"; wire-protocol §1.1).
func (o *Options) resolve() error {
	policy := appinit.Policy{AllowInsecureTransport: o.AllowInsecureTransport, Warn: func(e *fault.Error) {
		if o.Log != nil {
			o.Log("warn", e.Error(), nil)
		}
	}}
	genie, err := appinit.Config{Region: o.Region, GenieURL: o.GenieURL, Policy: policy}.GenieBase()
	if err != nil {
		return err
	}
	o.GenieURL = &genie
	o.ConversationURL = cmp.Or(o.ConversationURL, appinit.DefaultConversationURL)
	if o.ConversationURL, err = policy.Socket("conversationManagerUrl", o.ConversationURL); err != nil {
		return err
	}
	if o.SRSBaseURL != "" {
		o.SRSBaseURL, err = policy.HTTP("srsBaseUrl", o.SRSBaseURL)
	}
	return err
}

func setPointer[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}
