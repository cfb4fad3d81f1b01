package chat

import (
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// Options configure a [Session] (session-api A.2.1). The zero value of every
// field but Token means its default. Names in comments are the JavaScript
// options; a duration there is a number of milliseconds.
type Options struct {
	// Token is the conversation token. Required.
	Token string `json:"token"`

	// Region picks the default GenieURL: "nvp1" (default) or "frp2".
	Region *string `json:"region"`
	// GenieURL is the brain's host.
	GenieURL *string `json:"genieUrl"`
	// AllowInsecureTransport lets http: reach public hosts.
	AllowInsecureTransport bool `json:"allowInsecureTransport"`

	// PartnerID is for audit events. Default: read from the token.
	PartnerID string `json:"partnerId"`
	// SubjectID is an opaque id of the visitor for audit events; nothing personal.
	SubjectID string `json:"subjectId"`

	// ThreadID continues a stored dialogue.
	ThreadID string `json:"threadId"`
	// RequestVars are the prompt's variables: strings, numbers, booleans, nil. All
	// of them go with every turn.
	RequestVars map[string]any `json:"requestVars"`
	// Capabilities go with every turn, as given; the service's veto wins.
	Capabilities map[string]string `json:"capabilities"`
	// Kickoff is the first turn, which Connect sends by itself once.
	Kickoff *event.Kickoff `json:"kickoff"`
	// OnErrorSegment says what an error inside a good reply does to its turn:
	// [converse.Throw] (default) fails it, [converse.Warn] emits a warning and keeps
	// the text (service.md, "Refusals with HTTP 200").
	OnErrorSegment converse.OnErrorSegment `json:"onErrorSegment"`

	// BrainStall is the period of brainStalled. Default 12 s; 0 is off.
	BrainStall *time.Duration `json:"brainStallMs"`
	// ToolSpiralLimit is the number of tool segments in one turn before
	// toolSpiralDetected. Default 10; 0 is off.
	ToolSpiralLimit *int `json:"toolSpiralLimit"`

	// Completion is the end-of-conversation signal.
	Completion sessionend.Settings `json:"-"`

	// OnResponse hears of every reply of the brain, in order with the events, before
	// those of its segments.
	OnResponse func(converse.Response) `json:"-"`
	// OnAuditEvent receives redacted security events.
	OnAuditEvent func(event.Audit) `json:"-"`
	// Log receives diagnostics, on any goroutine; nothing in it is secret.
	Log func(level, message string, data map[string]any) `json:"-"`
	// OnEvent receives every event, in order, on one goroutine.
	OnEvent func(event.Event) `json:"-"`
}

// Deps are the parts a session is built on. The zero value is a program's.
type Deps struct {
	// Fetch and Send do the requests; nil means a fetch.Transport of the session's
	// own, which Close closes.
	Fetch fetch.Client
	Send  fetch.Sender
	// Page reports what the browser does with the page; nil natively.
	Page sessionend.Page
}

const (
	defaultBrainStall = 12 * time.Second
	defaultToolSpiral = 10
)

// withDefaults returns o with every default filled in, or the first thing wrong
// with it.
func (o Options) withDefaults() (Options, error) {
	if o.Token == "" {
		return o, fault.New(fault.BadRequest, "token is required")
	}
	switch o.OnErrorSegment {
	case "":
		o.OnErrorSegment = converse.Throw
	case converse.Throw, converse.Warn:
	default:
		return o, fault.New(fault.BadRequest, "onErrorSegment must be throw or warn")
	}
	switch {
	case o.Kickoff == nil:
	case strings.TrimSpace(o.Kickoff.Text) == "":
		o.Kickoff = nil // blank means none (wire-protocol §7.6)
	default:
		kickoff := *o.Kickoff // the caller's may change
		o.Kickoff = &kickoff
	}
	log := session.Logger(o.Log)
	policy := appinit.Policy{AllowInsecureTransport: o.AllowInsecureTransport, Warn: func(e *fault.Error) {
		log("warn", e.Error(), nil)
	}}
	genie, err := appinit.Config{Region: o.Region, GenieURL: o.GenieURL, Policy: policy}.GenieBase()
	if err != nil {
		return o, err
	}
	o.GenieURL = &genie
	if o.BrainStall == nil {
		stall := defaultBrainStall
		o.BrainStall = &stall
	}
	if o.ToolSpiralLimit == nil {
		limit := defaultToolSpiral
		o.ToolSpiralLimit = &limit
	}
	return o, nil
}
