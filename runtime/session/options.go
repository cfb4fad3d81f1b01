package session

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/options"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// Options are the options that sessions of every kind have (session §A.1.1).
//
// The zero value of every field but Token means its default. internal/options
// describes the tags. The TypeScript types, their checks and docs/options.md, in which a
// duration is a number of milliseconds, are generated from them.
type Options struct {
	// Token is the conversation token. Required.
	Token string `json:"token" ts:"-"`
	// Kind is the kind of the token, from `appInit`. An admin token is refused with
	// `wrong_token_scope`.
	Kind appinit.TokenKind `json:"kind"`

	// OnTokenNeeded returns a new conversation token within 10 s. It is called when the
	// service refuses the present token and, with TokenLife, before that expires. Without
	// it a refused token fails with `unauthorized`.
	OnTokenNeeded func(ctx context.Context) (string, error) `json:"-" js:"onTokenNeeded" ts:"() => Promised<string>"`
	// TokenLife is how long each token is valid after the session got it; 0 means unknown.
	// OnTokenNeeded is called when a fifth of that time is left.
	TokenLife time.Duration `json:"tokenLifeMs"`
	// TokenAge is how long ago the application got Token, for TokenLife; 0 means now.
	TokenAge time.Duration `json:"-"`

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
	// Capabilities are what the agent may do. With an avatar they override the defaults
	// avatar and generate_followup_questions, both on; in text every turn sends them as given.
	Capabilities map[string]string `json:"capabilities" ts:"Capabilities"`
	// RequestVars are the variables of the prompt: strings, numbers, booleans and null.
	RequestVars map[string]any `json:"requestVars" ts:"RequestVars"`
	// Kickoff is the first user turn, which the session sends by itself, once. With
	// `echo` it is shown as a transcript.
	Kickoff *event.Kickoff `json:"kickoff" ts:"string | (Pick<Kickoff, 'text'> & Partial<Pick<Kickoff, 'echo'>>) | null"`

	// BrainStall is the interval of `brainStalled`; 0 turns it off.
	BrainStall *time.Duration `json:"brainStallMs" default:"12s"`
	// ToolSpiralLimit is the number of tool calls in a turn that causes `toolSpiralDetected`;
	// 0 turns it off.
	ToolSpiralLimit *int `json:"toolSpiralLimit" default:"10"`

	completion.Settings

	// HTTPClient does the requests of a native program, and opens the WebSocket of a live
	// session. Default: connections that Close closes.
	HTTPClient httpclient.Client `json:"-"`

	// TraceContext is the W3C trace context of requests with a token; a function must not wait.
	TraceContext func() httpclient.TraceContext `json:"-" js:"traceContext" ts:"TraceSource" check:"trace"`

	// OnAuditEvent receives redacted security events.
	OnAuditEvent func(event.Audit) `json:"-" js:"onAuditEvent" ts:"(event: AuditEvent) => void"`
	// Log receives diagnostics; nothing in them is secret. Natively [LogTo] makes it of a
	// *slog.Logger.
	Log func(level, message string, data map[string]any) `json:"-" js:"logger" ts:"(level: string, message: string, data?: Record<string, unknown>) => void"`
	// OnEvent receives every event, in order, on one goroutine.
	OnEvent func(event.Event) `json:"-"`
	// OnEvents is called in place of OnEvent, each time with all events that are waiting, and
	// with the times when they happened.
	OnEvents func([]event.Timed) `json:"-"`
}

// OptionsFor returns the options with the token and the address of r.
func OptionsFor(r *appinit.Result) Options {
	return Options{Token: r.KS, Kind: r.Kind, PartnerID: r.PartnerID, GenieURL: &r.GenieURL}
}

// Complete gives every option its default. all points to the options of one kind of
// session, in which o is embedded. The error is the bad_request or insecure_transport of
// the first option that is not allowed.
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
	if err := o.completeTrace(); err != nil {
		return err
	}
	switch {
	case o.Kickoff == nil:
	case strings.TrimSpace(o.Kickoff.Text) == "":
		o.Kickoff = nil // blank means none (protocol §7.6)
	default:
		kickoff := *o.Kickoff // the caller's may change
		o.Kickoff = &kickoff
	}
	genie, err := appinit.Config{Region: o.Region, GenieURL: o.GenieURL, Policy: o.Policy()}.GenieBase()
	o.GenieURL = &genie
	return err
}

// completeTrace makes TraceContext a function that never fails. It is called once now, and what it
// returns is refused with bad_request unless it is valid; later that is logged and not sent. It
// must not call the session, because it is asked while the session works.
func (o *Options) completeTrace() error {
	ask, log := o.TraceContext, Logger(o.Log)
	if ask == nil {
		o.TraceContext = func() httpclient.TraceContext { return httpclient.TraceContext{} }
		return nil
	}
	checked := func() (httpclient.TraceContext, error) {
		value, err := Guarded(func() (any, error) {
			c := ask()
			return c, c.Check()
		})
		if err != nil {
			return httpclient.TraceContext{}, err
		}
		return value.(httpclient.TraceContext), nil
	}
	o.TraceContext = func() httpclient.TraceContext {
		c, err := checked()
		if err != nil {
			log("warn", "the trace context is not sent: "+err.Error(), nil)
		}
		return c
	}
	_, err := checked()
	return err
}

// Policy returns the policy for the addresses of o, which logs those without encryption.
func (o *Options) Policy() appinit.Policy {
	log := Logger(o.Log)
	return appinit.Policy{AllowInsecureTransport: o.AllowInsecureTransport, Warn: func(e *fault.Error) {
		log("warn", e.Error(), nil)
	}}
}

// Observe makes observe receive every event, as OnEvents does, before the listeners that o has.
func (o *Options) Observe(observe func([]event.Timed)) {
	one, all := o.OnEvent, o.OnEvents
	o.OnEvents = func(events []event.Timed) {
		observe(events)
		if all != nil {
			all(events)
			return
		}
		for _, e := range events {
			if one != nil {
				one(e.Event)
			}
		}
	}
}

// Format prints nothing of the options, whatever the verb: the token, the login and
// the variables are private.
func (Options) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "session options") }
