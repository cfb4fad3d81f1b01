package agentruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// Options are the options of both kinds of sessions, under the names that they have in a page.
type Options struct {
	// WidgetID is the agent's widget; one of WidgetID and Token is required.
	WidgetID string `json:"widgetId"`
	// Token is a widget token, or the agent token of one visitor. Scripts get it from an
	// environment variable.
	Token string `json:"token"`
	// Region, AgenticURL, GenieURL and OVPURL are where the service is; the default is the US.
	Region     *string `json:"region"`
	AgenticURL *string `json:"agenticUrl"`
	GenieURL   *string `json:"genieUrl"`
	OVPURL     *string `json:"ovpUrl"`
	// AllowInsecureTransport allows http: and ws: to public hosts.
	AllowInsecureTransport bool `json:"allowInsecureTransport"`

	// ThreadID continues a stored dialogue.
	ThreadID string `json:"threadId"`
	// Capabilities are what the agent may do.
	Capabilities map[string]string `json:"capabilities"`
	// RequestVars are the variables of the prompt.
	RequestVars map[string]any `json:"requestVars"`

	// TimeoutMs bounds connect(), interrupt() and each answer, in milliseconds; default 30,000.
	TimeoutMs *int64 `json:"timeoutMs"`
	// Tags are added to the samples of this session.
	Tags map[string]string `json:"tags"`
}

// AvatarOptions are the options of an AvatarSession.
type AvatarOptions struct {
	Options
	// AllowPrivateHosts allows media at private addresses, such as those of a local service.
	AllowPrivateHosts bool `json:"allowPrivateHosts"`
	// Microphone opens a microphone, which is silent except while say() plays a file.
	Microphone bool `json:"microphone"`
	// StatsIntervalMs is how often the connection is measured, in milliseconds; default
	// 5,000, and 0 turns it off.
	StatsIntervalMs *int64 `json:"statsIntervalMs"`
}

const (
	defaultTimeout = 30 * time.Second
	defaultStats   = 5 * time.Second
)

// readOptions reads the object of a script into o; a name, a type or a number that is not allowed is a
// bad_request.
func readOptions(object sobek.Value, o interface{ check() error }) error {
	if common.IsNullish(object) {
		return fault.New(fault.BadRequest, "the options of the session are required")
	}
	text, err := json.Marshal(object)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(o)
	}
	if err != nil {
		return fault.New(fault.BadRequest, "the options of the session can't be read").Wrap(err)
	}
	return o.check()
}

func (o *Options) check() error {
	if o.TimeoutMs != nil && *o.TimeoutMs <= 0 {
		return fault.New(fault.BadRequest, "timeoutMs must be positive")
	}
	return nil
}

func (o *AvatarOptions) check() error {
	if o.StatsIntervalMs != nil && *o.StatsIntervalMs < 0 {
		return fault.New(fault.BadRequest, "statsIntervalMs must not be negative")
	}
	return o.Options.check()
}

func (o *Options) timeout() time.Duration {
	if o.TimeoutMs == nil {
		return defaultTimeout
	}
	return time.Duration(*o.TimeoutMs) * time.Millisecond
}

// bound limits a call to the time that o allows.
func (o *Options) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, o.timeout())
}

// access gets a token and the addresses of the service, as a page does.
func (o *Options) access(ctx context.Context) (*appinit.Result, error) {
	config := appinit.Config{Region: o.Region, AgenticURL: o.AgenticURL, GenieURL: o.GenieURL, OVPURL: o.OVPURL}
	config.AllowInsecureTransport = o.AllowInsecureTransport
	return appinit.Init(ctx, appinit.Options{WidgetID: o.WidgetID, Token: o.Token, Config: config})
}

// apply sets what sessions of both kinds have.
func (o *Options) apply(s *session.Options) {
	s.ThreadID, s.Capabilities, s.RequestVars = o.ThreadID, o.Capabilities, o.RequestVars
	s.AllowInsecureTransport = o.AllowInsecureTransport
}

func (o *AvatarOptions) stats() time.Duration {
	if o.StatsIntervalMs == nil {
		return defaultStats
	}
	return time.Duration(*o.StatsIntervalMs) * time.Millisecond
}
