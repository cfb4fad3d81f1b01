// Package appinit prepares a conversation: regions and base addresses, the widget
// token, and appInit, which returns the conversation token and hosts (service.md
// "Regions and base addresses", protocol §1.1–1.4).
//
// It has the address rules, which sessions apply to their own hosts too. It must not
// depend on sessions, sockets or media, and never gets an admin secret.
package appinit

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// Options are the options of [Init]. One of WidgetID and Token is required.
type Options struct {
	Config
	// WidgetID is exchanged for a widget token with startWidgetSession.
	WidgetID string `json:"widgetId"`
	// Token is a widget token, or the agent token of one visitor. It is tried
	// first when there is a WidgetID as well.
	Token string `json:"token"`
	// TraceContext returns the W3C trace context of the request with the token; it is called
	// once. What is not valid is refused with bad_request before any request.
	TraceContext func() httpclient.TraceContext `json:"-"`
	// HTTPClient does the requests of a native program. Default: connections for this call.
	HTTPClient httpclient.Client `json:"-"`
}

// Result is what a session needs to connect (protocol §1.4), and the conversation
// host, which the reply of the service does not have (service.md "Application
// utilities"). In a page it can be spread into the options of a session. Flags that
// may change (service.md "Application utilities") are left out.
type Result struct {
	// PartnerID is the account's id.
	PartnerID string `json:"partnerId"`
	// KS is the conversation token.
	KS string `json:"ks"`
	// Kind is "widget" when the token was requested with the widget id: such a token
	// has no threads. It is absent when the given token was used.
	Kind TokenKind `json:"kind,omitempty" ts:"'widget'"`
	// ConversationURL is the origin of the control socket.
	ConversationURL string `json:"conversationManagerUrl"`
	// SRSBaseURL is the base address of the media service.
	SRSBaseURL string `json:"srsBaseUrl"`
	// TURNServerURL is the host of the TURN relay, or its full address.
	TURNServerURL   string           `json:"turnServerUrl"`
	TURNCredentials *TURNCredentials `json:"turnCredentials,omitempty" ts:"TurnCredentials"`
	Avatars         []Avatar         `json:"avatars"`
	// WidgetConfig has display settings, as the service sent them.
	WidgetConfig json.RawMessage `json:"widgetConfig,omitempty"`
	EmbedConfig  json.RawMessage `json:"embedConfig,omitempty"`
	// GenieURL is the address of the conversation service: the one given, or the
	// region's.
	GenieURL string `json:"genieUrl"`
}

// TURNCredentials are a short-lived login to the TURN relay (protocol §1.4).
type TURNCredentials struct {
	Username   string `json:"username"`
	Credential string `json:"credential"`
	// Expiry is in seconds since 1970, 0 if unknown. It may have a fraction.
	Expiry float64 `json:"expiry,omitempty"`
}

// Avatar is what a page can show until the avatar's picture arrives.
type Avatar struct {
	ID              string `json:"id"`
	PreviewImageURL string `json:"previewImageUrl"`
	LoadingVideoURL string `json:"loadingVideoUrl"`
}

// String keeps tokens out of logs.
func (r Result) String() string { return "appInit of partner " + r.PartnerID + " " + fault.Redacted }

// GoString keeps tokens out of logs.
func (r Result) GoString() string { return r.String() }

// String keeps the login out of logs.
func (c TURNCredentials) String() string { return fault.Redacted }

// GoString keeps the login out of logs.
func (c TURNCredentials) GoString() string { return c.String() }

// Init calls appInit with o's token, or with the token of o's widget. If the service
// replies with status 401 and there is a widget id, it calls appInit once more with a new
// widget token. Addresses are checked before any request; the error is always a
// *fault.Error, with api_exception for a token of the wrong kind and agent_not_found for an
// unknown widget.
func Init(ctx context.Context, o Options) (*Result, error) {
	if o.Token == "" && o.WidgetID == "" {
		return nil, fault.New(fault.BadRequest, "a widgetId or a token is required")
	}
	p, err := newPlace(o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	token, kind := o.Token, UnknownToken
	if token == "" {
		if token, err = p.startWidgetSession(ctx, o.WidgetID); err != nil {
			return nil, err
		}
		kind = WidgetToken
	}
	result, err := p.appInit(ctx, token, kind)
	if o.WidgetID == "" || !errors.Is(err, fault.Unauthorized) {
		return result, err
	}
	if token, err = p.startWidgetSession(ctx, o.WidgetID); err != nil {
		return nil, err
	}
	return p.appInit(ctx, token, WidgetToken)
}

// The paths of the two requests, after the address of the service.
const (
	StartWidgetSession = "/service/session/action/startWidgetSession" // of [OVP]
	InitPath           = "/application/appInit"                       // of [Agentic]
)

// place has the addresses for the calls of one Init.
type place struct {
	addresses Addresses
	client    fetch.Client
	close     func()
	trace     httpclient.TraceContext
}

func newPlace(o Options) (*place, error) {
	addresses, err := o.Resolve()
	if err != nil {
		return nil, err
	}
	p := &place{addresses: addresses}
	if o.TraceContext != nil {
		p.trace = o.TraceContext()
		if err := p.trace.Check(); err != nil {
			return nil, err
		}
	}
	p.client, p.close = fetch.Open(o.HTTPClient)
	return p, nil
}

// startWidgetSession returns a widget token: the same for every visitor, and good for
// appInit only.
func (p *place) startWidgetSession(ctx context.Context, widgetID string) (string, error) {
	base, err := p.addresses.Base(OVP)
	if err != nil {
		return "", err
	}
	var reply struct {
		KS string `json:"ks"`
	}
	err = fetch.Call(ctx, p.client, &fetch.Request{
		URL:  base + StartWidgetSession,
		Body: fetch.Form(map[string]string{"format": "1", "widgetId": widgetID}),
	}, &reply)
	if err == nil && reply.KS == "" {
		err = fault.New(fault.SessionFailed, "startWidgetSession returned no token")
	}
	return reply.KS, err
}

func (p *place) appInit(ctx context.Context, token string, kind TokenKind) (*Result, error) {
	base, err := p.addresses.Base(Agentic)
	if err != nil {
		return nil, err
	}
	genie, err := p.addresses.Base(Genie)
	if err != nil {
		return nil, err
	}
	// The fields whose JSON type varies are declared here too, because encoding/json
	// prefers the shallower field; so is Kind, which the service must not set.
	var reply struct {
		Kind      json.RawMessage `json:"kind"`
		PartnerID json.RawMessage `json:"partnerId"`
		Result
	}
	err = fetch.Call(ctx, p.client, &fetch.Request{
		URL:    base + InitPath,
		Header: fetch.Authorize(token, p.trace),
	}, &reply)
	if err != nil {
		return nil, err
	}
	result := reply.Result
	if result.KS == "" {
		return nil, fault.New(fault.InvalidResponse, "appInit returned no token")
	}
	result.PartnerID = idText(reply.PartnerID)
	result.Kind, result.GenieURL = kind, genie
	return &result, nil
}

// idText reads an id that is a number or a string in the reply.
func idText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}
