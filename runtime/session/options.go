package session

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/options"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// Options are what sessions of every kind can be told (session-api A.1.1).
//
// The zero value of every field but Token means its default. internal/options
// describes the tags, from which the TypeScript types, their checks and
// docs/options.md are written too; a duration is a number of milliseconds there.
type Options struct {
	// Token is the conversation token. Required.
	Token string `json:"token" ts:"-"`
	// Kind is what the token was minted as, from `appInit`. An admin's is refused with
	// `wrong_token_scope`.
	Kind appinit.TokenKind `json:"kind"`

	// OnTokenNeeded returns a new conversation token. It is called when the service refuses
	// the present one, with `unauthorized` otherwise, and ahead of its end with TokenLife. It
	// has 10 s.
	OnTokenNeeded func(ctx context.Context) (string, error) `json:"-" js:"onTokenNeeded" ts:"() => Promised<string>"`
	// TokenLife is how long each token is valid, from when the session gets it; 0 is not
	// known. OnTokenNeeded is called when a fifth of it is left.
	TokenLife time.Duration `json:"tokenLifeMs"`

	// Region picks the default of GenieURL: nvp1 (US, the default) or frp2 (EU).
	Region *string `json:"region" ts:"Region"`
	// GenieURL is the brain's host, from `appInit`.
	GenieURL *string `json:"genieUrl" ts:"string | URL" check:"address"`
	// AllowInsecureTransport allows http: and ws: to public hosts. For tests only.
	AllowInsecureTransport bool `json:"allowInsecureTransport"`

	// PartnerID is the account's id. Default: read from the token.
	PartnerID string `json:"partnerId" ts:"string | number" check:"id"`
	// SubjectID is an opaque id of the visitor for audit events; nothing personal.
	SubjectID string `json:"subjectId"`

	// ThreadID continues a stored dialogue.
	ThreadID string `json:"threadId"`
	// Capabilities are what the agent may do. With an avatar they are merged over avatar
	// and generate_followup_questions on; in text they go with every turn as given.
	Capabilities map[string]string `json:"capabilities" ts:"Capabilities"`
	// RequestVars are the variables of the prompt: strings, numbers, booleans and null.
	RequestVars map[string]any `json:"requestVars" ts:"RequestVars"`
	// Kickoff is the first user turn, which the session sends by itself, once. With
	// `echo` it is shown as a transcript.
	Kickoff *event.Kickoff `json:"kickoff" ts:"string | (Pick<Kickoff, 'text'> & Partial<Pick<Kickoff, 'echo'>>) | null"`

	// BrainStall is the period of `brainStalled`; 0 is off.
	BrainStall *time.Duration `json:"brainStallMs" default:"12s"`
	// ToolSpiralLimit is the number of tool calls in a turn before `toolSpiralDetected`;
	// 0 is off.
	ToolSpiralLimit *int `json:"toolSpiralLimit" default:"10"`

	sessionend.Settings

	// OnAuditEvent receives redacted security events.
	OnAuditEvent func(event.Audit) `json:"-" js:"onAuditEvent" ts:"(event: AuditEvent) => void"`
	// Log receives diagnostics; nothing in them is secret.
	Log func(level, message string, data map[string]any) `json:"-" js:"logger" ts:"(level: string, message: string, data?: Record<string, unknown>) => void"`
	// OnEvent receives every event, in order, on one goroutine.
	OnEvent func(event.Event) `json:"-"`
	// OnEvents receives the events in place of OnEvent, each time all those that happened
	// before it was called.
	OnEvents func([]event.Event) `json:"-"`
}

// Complete gives every option its default, in the options of a kind of session that
// all points to and that embed o. The error is the bad_request or
// insecure_transport of the first option that is not allowed.
func (o *Options) Complete(all any) error {
	if o.Token == "" {
		return fault.New(fault.BadRequest, "token is required")
	}
	if err := o.Kind.Talking(); err != nil {
		return err
	}
	if err := options.Complete(all); err != nil {
		return err
	}
	switch {
	case o.Kickoff == nil:
	case strings.TrimSpace(o.Kickoff.Text) == "":
		o.Kickoff = nil // blank means none (wire-protocol §7.6)
	default:
		kickoff := *o.Kickoff // the caller's may change
		o.Kickoff = &kickoff
	}
	genie, err := appinit.Config{Region: o.Region, GenieURL: o.GenieURL, Policy: o.Policy()}.GenieBase()
	o.GenieURL = &genie
	return err
}

// Policy judges the addresses of o, and logs those without encryption.
func (o *Options) Policy() appinit.Policy {
	log := Logger(o.Log)
	return appinit.Policy{AllowInsecureTransport: o.AllowInsecureTransport, Warn: func(e *fault.Error) {
		log("warn", e.Error(), nil)
	}}
}

// Format prints nothing of the options, whatever the verb: the token, the login and
// the variables are private.
func (Options) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "session options") }
